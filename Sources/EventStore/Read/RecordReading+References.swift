public import OperationFormat

/// A reference from one record to another, as the index of holders has it.
public struct Holder: Hashable, Sendable {
  /// The record that has the reference.
  public let record: RecordID
  /// The field that shows it.
  public let field: Name
  /// The kind of that field.
  public let kind: FieldKind
  /// What the reference does while its target does not exist.
  public let rule: ReferenceRule
  /// What the reference names: the record, or a place from which moves lead to it.
  public let target: RecordID

  package init(record: RecordID, field: Name, kind: FieldKind, rule: ReferenceRule, target: RecordID) {
    (self.record, self.field, self.kind) = (record, field, kind)
    (self.rule, self.target) = (rule, target)
  }
}

/// A record that a cascade hides.
public struct HiddenRecord: Hashable, Sendable {
  /// The record as it would read.
  public let record: Record
  /// The record that does not exist, and to which the cascades lead: in another zone if their target moved there.
  /// Once it exists, and nothing else hides this one, this one shows again.
  public let missing: RecordID
}

extension RecordReading where Self: ~Copyable {
  /// The records that refer to a record, which need not exist: each place once, in the order of the holders'
  /// zones, names and fields. A holder that a cascade hides is not listed: ``hiddenRecords(in:)`` lists those.
  ///
  /// If the record was moved to where it is, those that name a former place of it are among them.
  ///
  /// - Parameters:
  ///   - target: the record that is referred to.
  ///   - zone: only holders of this zone; nil for all zones of the store.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the holders, those that do not exist included; logarithmic in all else, for each
  ///   zone of the store.
  public func holders(of target: RecordID, in zone: ZoneID? = nil) throws -> [Holder] {
    let view = try reader.view
    let places = try ForwardingReader(view).placesLeading(to: target)
    let references = ReferenceReader(view)
    return try (zone.map { [$0] } ?? view.visibleZones()).flatMap {
      try references.holders(of: places, in: $0)
    }
  }

  /// Calls a closure with each record of a zone that a cascade hides, in the order of their names, until it
  /// returns false.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the zone's records.
  public func forEachHiddenRecord(in zone: ZoneID, _ body: (HiddenRecord) throws -> Bool) throws {
    let view = try reader.view
    let references = ReferenceReader(view)
    try view.forEachRow(in: zone) { name, row, state in
      guard let missing = try references.missingTarget(of: row, state),
        let (type, fields) = try view.alive(row, state)
      else { return true }
      let record = try view.record(RecordID(zone: zone, name: name), type, in: row, from: fields, state)
      return try body(HiddenRecord(record: record, missing: try references.record(missing)))
    }
  }

  /// The records of a zone that cascades hide, in the order of their names.
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

  /// What a record shows, or would show if it existed: it may be deleted, or hidden by a cascade. Nil if it
  /// never existed.
  package func recordOrHidden(_ id: RecordID) throws -> Record? { try reader.recordOrHidden(id) }

  /// The record that does not exist, and to which cascades lead from a record that was not deleted itself, in
  /// another zone if their target moved there; nil if nothing hides the record.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func missingTarget(of record: RecordID) throws -> RecordID? {
    let view = try reader.view
    let references = ReferenceReader(view)
    return try view.withRow(of: record) { row, state in
      guard try view.alive(row, state) != nil else { return nil }
      return try references.missingTarget(of: row, state).map { try references.record($0) }
    }
  }
}
