public import OperationFormat

/// A reference from one record to another, as the index of holders tells it.
public struct Holder: Hashable, Sendable {
  /// The record that holds the reference.
  public let record: RecordID
  /// The field that shows it.
  public let field: Name
  /// What kind of field that is.
  public let kind: FieldKind
  /// What the reference does while its target is not there.
  public let rule: ReferenceRule
}

/// A record that is alive, and hidden by a cascade.
public struct HiddenRecord: Hashable, Sendable {
  /// The record as it would read.
  public let record: Record
  /// The record that is not alive, to which cascades lead: once it is alive, and nothing else hides this one, it shows again.
  public let missing: RecordID
}

extension ReadTransaction {
  /// The records that show a reference to a record, which need not be there itself: each place once, in the order of the
  /// holders' zones, names and fields.
  ///
  /// - Parameters:
  ///   - target: the record that is referred to.
  ///   - zone: only holders of this zone; nil for all zones of the store.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the holders, those that are not there included; logarithmic in all else, for each zone.
  public func holders(of target: RecordID, in zone: ZoneID? = nil) throws -> [Holder] {
    try (zone.map { [$0] } ?? zones()).flatMap { try readView.holders(of: target, in: $0) }
  }

  /// Calls a closure with each record of a zone that is alive and hidden by a cascade, in the order of their names, until it
  /// returns false.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the zone's records.
  public func forEachHiddenRecord(in zone: ZoneID, _ body: (HiddenRecord) throws -> Bool) throws {
    try readView.forEachRow(in: zone) { name, row, state in
      guard let missing = try readView.missingTarget(of: row, state),
        let (type, fields) = try readView.alive(row, state)
      else { return true }
      let record = try readView.record(
        RecordID(zone: zone, name: name), type, in: row, from: fields, state)
      let target = RecordID(zone: zone, name: try Name(interned: missing.span.bytes))
      return try body(HiddenRecord(record: record, missing: target))
    }
  }

  /// The records of a zone that are alive and hidden by cascades, in the order of their names.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func hiddenRecords(in zone: ZoneID) throws -> [HiddenRecord] {
    var hidden: [HiddenRecord] = []
    try forEachHiddenRecord(in: zone) { record in
      hidden.append(record)
      return true
    }
    return hidden
  }

  /// The record that is not alive to which cascades lead from a record that is alive; nil if nothing hides it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func missingTarget(of record: RecordID) throws -> RecordID? {
    try readView.withRow(of: record) { row, state in
      guard try readView.alive(row, state) != nil, let name = try readView.missingTarget(of: row, state)
      else { return nil }
      return RecordID(zone: record.zone, name: try Name(interned: name.span.bytes))
    }
  }
}

extension WriteTransaction {
  /// The records that show a reference to a record: see ``ReadTransaction/holders(of:in:)``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public mutating func holders(of target: RecordID, in zone: ZoneID) throws -> [Holder] {
    try readView().holders(of: target, in: zone)
  }
}
