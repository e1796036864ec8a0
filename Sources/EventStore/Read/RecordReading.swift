public import OperationFormat

/// The verbs that read records, in a ``ReadTransaction`` and in a ``WriteTransaction``.
///
/// A read sees one commit. A write sees the last commit and what it has done itself so far. No verb changes
/// anything.
///
/// ```swift
/// func isDone(_ task: RecordID, _ tx: borrowing some RecordReading & ~Copyable) throws -> Bool {
///   try tx.value(of: "done", in: task) == true
/// }
/// ```
///
/// Every verb that names a zone throws ``StoreError`` `zoneUnknown` if the store has no such zone, and
/// `damaged` if a row cannot be read.
public protocol RecordReading: ~Copyable {
  /// What the verbs read from. An app calls the verbs; this has none. It cannot outlive the transaction, nor a
  /// write's next mutation.
  var reader: RecordReader { @_lifetime(borrow self) get throws }
}

// What apps call most is inlinable, so that it costs no look-up of the protocol's witness.
extension RecordReading where Self: ~Copyable {
  // MARK: One record

  /// Whether a record exists.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  @inlinable
  public func contains(_ record: RecordID) throws -> Bool { try reader.contains(record) }

  /// A copy of a record; nil if it does not exist.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  @inlinable
  public func record(_ id: RecordID) throws -> Record? { try reader.record(id) }

  /// The value of a field; nil if the record does not exist, or the field was never set or was cleared. The
  /// other fields are not decoded.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  @inlinable
  public func value(of field: Name, in record: RecordID) throws -> Value? {
    try reader.value(of: field, in: record)
  }

  /// Runs a closure on a record in the memory map, without a copy.
  ///
  /// - Returns: what the closure returns; nil if the record does not exist.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  @inlinable
  public func withRecord<R>(_ id: RecordID, _ body: (borrowing RecordView) throws -> R) throws -> R? {
    try reader.withRecord(id, body)
  }

  // MARK: Many records

  /// Calls a closure with the records of a zone in the memory map, in the order of their names, until it
  /// returns false. It is ``forEachRecord(in:type:after:_:)`` without copies.
  ///
  /// - Parameters:
  ///   - zone: the records' zone.
  ///   - type: only records of this type; nil for all.
  ///   - name: only records after this name: to continue where an earlier call ended.
  ///   - body: gets each record; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the records that are passed, hidden ones included.
  @inlinable
  public func scan(
    _ zone: ZoneID, type: Name? = nil, after name: Name? = nil, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    try reader.scan(zone, type: type, after: name, body)
  }

  /// Calls a closure with a copy of each record of a zone, in the order of their names, until it returns
  /// false.
  ///
  /// - Parameters:
  ///   - zone: the records' zone.
  ///   - type: only records of this type; nil for all.
  ///   - name: only records after this name: to continue where an earlier call ended.
  ///   - body: gets each record; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the records that are passed, hidden ones included.
  public func forEachRecord(
    in zone: ZoneID, type: Name? = nil, after name: Name? = nil, _ body: (Record) throws -> Bool
  ) throws {
    try reader.scan(zone, type: type, after: name) { view in try body(try view.record()) }
  }

  /// Copies of the records of a zone, in the order of their names.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func records(in zone: ZoneID, type: Name? = nil) throws -> [Record] {
    var records: [Record] = []
    try forEachRecord(in: zone, type: type) { record in
      records.append(record)
      return true
    }
    return records
  }

  /// Calls a closure with a copy of each record of a type in all zones, in the order of zones and names,
  /// until it returns false.
  ///
  /// - Throws: ``StoreError`` `damaged`; what the closure throws.
  /// - Complexity: linear in all records of the store.
  public func forEachRecord(ofType type: Name, _ body: (Record) throws -> Bool) throws {
    var wantsMore = true
    for zone in try zones() where wantsMore {
      try forEachRecord(in: zone, type: type) { record in
        wantsMore = try body(record)
        return wantsMore
      }
    }
  }
}
