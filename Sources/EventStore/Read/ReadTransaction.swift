public import OperationFormat

/// A snapshot of a store, while the closure of ``LocalStore/read(_:)`` runs.
public struct ReadTransaction: ~Copyable {
  package let identity: StoreIdentity
  let readView: ReadView

  init(
    _ transaction: consuming LMDBTransaction, tables: Tables, interned: Interned, identity: StoreIdentity
  ) {
    self.identity = identity
    readView = ReadView(transaction, tables: tables, interned: interned)
  }

  package var transaction: LMDBTransaction {
    _read { yield readView.transaction }
  }
  package var tables: Tables { readView.tables }
  var interned: Interned { readView.interned }

  // MARK: Records

  /// Whether a record is there.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func contains(_ record: RecordID) throws -> Bool {
    try readView.visibleType(of: record) != nil
  }

  /// The record, nil if it is not there.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func record(_ id: RecordID) throws -> Record? {
    try readView.record(id)
  }

  /// The value of a field, nil if the record is not there, or the field was never set or was cleared. Reading
  /// one field does not decode the others.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func value(of field: Name, in record: RecordID) throws -> Value? {
    try readView.value(of: field, in: record)
  }

  /// What a counter of a record reads, nil if the record is not there, or nothing was added to it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(log n) in the contributions.
  public func counter(_ field: Name, of record: RecordID) throws -> Counter? {
    try readView.counter(field, of: record)
  }

  /// The elements of a set of a record, nil if the record is not there, or the set is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the elements.
  public func elements(of field: Name, in record: RecordID) throws -> Set<Value>? {
    try readView.elements(of: field, in: record)
  }

  /// Whether a set of a record has an element. False if the record is not there.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `valueInvalid` for what cannot be an element.
  /// - Complexity: O(log n) in the elements.
  public func contains(_ element: Value, in field: Name, of record: RecordID) throws -> Bool {
    try readView.contains(element, in: field, of: record)
  }

  /// The values of a record's map by their keys, nil if the record is not there, or the map is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the keys.
  public func entries(of field: Name, in record: RecordID) throws -> [Name: Value]? {
    try readView.entries(of: field, in: record)
  }

  /// The value at a key of a record's map, nil if the record is not there, or nothing is at the key.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: O(log n) in the keys.
  public func value(at key: Name, of field: Name, in record: RecordID) throws -> Value? {
    try readView.value(at: key, of: field, in: record)
  }

  /// The values of a record's list in their order, nil if the record is not there, or the list is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what was ever inserted.
  public func list(_ field: Name, of record: RecordID) throws -> [Value]? {
    try readView.list(field, of: record)
  }

  /// The value at an index of a record's list, nil if the record is not there, or the list is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `indexInvalid`.
  /// - Complexity: O(log n) in what was ever inserted.
  public func element(at index: Int, of field: Name, in record: RecordID) throws -> Value? {
    try readView.element(at: index, of: field, in: record)
  }

  /// A text of a record, nil if the record is not there, or the text is empty.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the text, and in the runs that were ever inserted.
  public func text(of field: Name, in record: RecordID) throws -> String? {
    try readView.text(of: field, in: record)
  }

  /// A part of a text of a record, in Unicode scalars; nil as of ``text(of:in:)``.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`, `indexInvalid`.
  /// - Complexity: O(log n) in the text, and linear in the part.
  public func text(in range: Range<Int>, of field: Name, in record: RecordID) throws -> String? {
    try readView.text(in: range, of: field, in: record)
  }

  /// A text in its order, in runs that one operation each has inserted; also of a record that is not visible.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the text.
  public func textRuns(of field: Name, in record: RecordID) throws -> [TextRun] {
    try readView.withAnyCell(.text, of: field, in: record) { try TextKind.runs(of: $0) } ?? []
  }

  /// How many elements a set, a map or a list has, Unicode scalars a text, or contributions there are; 0 if the record is not
  /// there.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the fields.
  public func count(of field: Name, in record: RecordID, as kind: FieldKind) throws -> Int {
    try readView.count(of: field, in: record, as: kind)
  }

  /// Calls a closure with the records of a zone in the order of their names, until it returns false.
  ///
  /// - Parameters:
  ///   - zone: the records' zone.
  ///   - type: only records of this type; nil for all.
  ///   - name: only records after this name: to go on where an earlier call ended.
  ///   - body: gets each record; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the records passed over; hidden ones count.
  public func forEachRecord(
    in zone: ZoneID, type: Name? = nil, after name: Name? = nil, _ body: (Record) throws -> Bool
  ) throws {
    try scan(zone, type: type, after: name) { view in try body(try view.record()) }
  }

  /// Runs a closure on a record where it lies, without a copy.
  ///
  /// - Returns: what the closure returns, nil if the record is not there.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  public func withRecord<R>(_ id: RecordID, _ body: (borrowing RecordView) throws -> R) throws -> R? {
    let zone = try readView.zoneIndex(of: id.zone)
    return try readView.withRow(of: id) { row, state in
      try id.name.withBytes { name in
        guard let view = try RecordView(row, name: name, zone: zone, state, readView) else { return nil }
        return try body(view)
      }
    }
  }

  /// Calls a closure with the records of a zone where they lie, in the order of their names, until it returns false.
  /// It is ``forEachRecord(in:type:after:_:)`` without copies.
  ///
  /// - Parameters:
  ///   - zone: the records' zone.
  ///   - type: only records of this type; nil for all.
  ///   - name: only records after this name: to go on where an earlier call ended.
  ///   - body: gets each record; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the records passed over; hidden ones count.
  public func scan(
    _ zone: ZoneID, type: Name? = nil, after name: Name? = nil, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    let index = try readView.zoneIndex(of: zone)
    let state = readView.zone(at: index).state
    let only = try type.map { try readView.number(of: $0) ?? .none }
    try readView.forEachRow(in: state, after: name) { name, row in
      guard let view = try RecordView(row, name: name, zone: index, state, readView) else { return true }
      if let only, !view.isOf(only) { return true }
      return try body(view)
    }
  }

  /// The records of a zone, in the order of their names.
  ///
  /// - Throws: as ``forEachRecord(in:type:after:_:)``.
  public func records(in zone: ZoneID, type: Name? = nil) throws -> [Record] {
    var records: [Record] = []
    try forEachRecord(in: zone, type: type) { record in
      records.append(record)
      return true
    }
    return records
  }

  /// Calls a closure with the records of a type in all zones, in the order of zones and names, until it returns
  /// false.
  ///
  /// - Throws: ``StoreError`` `damaged`; what the closure throws.
  /// - Complexity: linear in all records of the store.
  public func forEachRecord(ofType type: Name, _ body: (Record) throws -> Bool) throws {
    var goesOn = true
    for zone in try zones() where goesOn {
      try forEachRecord(in: zone, type: type) { record in
        goesOn = try body(record)
        return goesOn
      }
    }
  }

  // MARK: Conflicts

  /// The cells of a record that have losers, by field name, existence first. ``WriteTransaction/restore(_:in:of:)`` ends each.
  ///
  /// A record that is deleted, and that nothing says is there, has no conflicts in its fields.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func conflicts(of record: RecordID) throws -> [Conflict] {
    try readView.withRow(of: record) { row, state in
      try readView.conflicts(of: record, in: row, state)
    } ?? []
  }

  /// Calls a closure with each conflict of a zone, in the order of the records' names, until it returns false: those of
  /// ``conflicts(of:)`` for each record.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  public func forEachConflict(in zone: ZoneID, _ body: (Conflict) throws -> Bool) throws {
    try readView.forEachRow(in: zone) { name, row, state in
      for conflict in try readView.conflicts(of: RecordID(zone: zone, name: name), in: row, state) {
        guard try body(conflict) else { return false }
      }
      return true
    }
  }

  /// The conflicts of a zone, in the order of the records' names.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func conflicts(in zone: ZoneID) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    try forEachConflict(in: zone) { conflict in
      conflicts.append(conflict)
      return true
    }
    return conflicts
  }

  /// All heads of a field, greatest first, whether or not the record is visible. Those of a counter are what was added, of
  /// contributions what was contributed;
  /// those of a set or a map are given element by element, in the order of the elements' encoded bytes or the keys'.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func heads(
    of field: Name, in record: RecordID, as kind: FieldKind = .register
  ) throws -> [CellHead] {
    try readView.heads(of: field, kind, record)
  }

  /// All heads of a record's existence, greatest first.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func existence(of record: RecordID) throws -> [CellHead] {
    try readView.heads(of: .existence, record)
  }

  /// The names of the fields that a record has anything in, whether or not it is visible, in the order of their bytes.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func fields(of record: RecordID) throws -> [Name] {
    try readView.fields(of: record) { cell, row in
      guard let winner = try RecordLayout.winner(of: cell, in: row) else { return false }
      return try cell.shows(winner, in: row)
    }
  }

  /// The same with lists and texts that all was removed from.
  package func fieldsWithEmptied(of record: RecordID) throws -> [Name] {
    try readView.fields(of: record) { _, _ in true }
  }

  /// What a record shows, or would show if it were there: it may be deleted, or hidden by a cascade. Nil if there was never one.
  package func recordOrHidden(_ id: RecordID) throws -> Record? { try readView.recordOrHidden(id) }

  // MARK: Zones

  /// The zones of the store, in order.
  public func zones() throws -> [ZoneID] {
    try readView.zones.allVisible().map(\.id).sorted()
  }

  /// Whether the store has a zone: whether ``zones()`` names it.
  ///
  /// - Complexity: a few look-ups, however many zones there are.
  package func hasZone(_ zone: ZoneID) throws -> Bool {
    try readView.zones.find(zone)?
      .row.status.isVisible ?? false
  }

  /// Whether a zone is synced.
  ///
  /// - Returns: `local` or `attached`; zones of the other kinds show in no query.
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func attachment(of zone: ZoneID) throws -> ZoneAttachment {
    try readView.zones.visible(zone).row.status == .attached ? .attached : .local
  }

  /// The digest of a zone's state: equal wherever the same transactions were folded at the same places.
  ///
  /// SHA-256 over the records' canonical bytes in the order of their names, all heads included: see
  /// `StateDigest`.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func digest(of zone: ZoneID) throws -> ContentHash {
    try StateDigest.digest(of: zone, readView)
  }

  /// How a type's records fare when they were deleted and updated concurrently.
  public func existencePolicy(of type: Name) throws -> ExistencePolicy {
    guard let number = try readView.number(of: type) else {
      return .latest
    }
    return try readView.meta.policies()[number] ?? .latest
  }
}
