public import OperationFormat

/// Heads of cells, and cells that have more than one.
extension RecordReading where Self: ~Copyable {
  /// The cells of a record that have losers: existence first, then by field name.
  /// ``WriteTransaction/restore(_:in:of:)`` ends a conflict.
  ///
  /// A record that is deleted by all heads of its existence has no conflicts in its fields.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func conflicts(of record: RecordID) throws -> [Conflict] {
    let reader = try reader
    return try reader.view.withRow(of: record) { row, state in
      try reader.conflicts(of: record, in: row, state)
    } ?? []
  }

  /// Calls a closure with each conflict of a zone, in the order of the records' names, until it returns
  /// false: those of ``conflicts(of:)`` for each record.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the zone's records.
  public func forEachConflict(in zone: ZoneID, _ body: (Conflict) throws -> Bool) throws {
    let reader = try reader
    try reader.view.forEachRow(in: zone) { name, row, state in
      for conflict in try reader.conflicts(of: RecordID(zone: zone, name: name), in: row, state) {
        guard try body(conflict) else { return false }
      }
      return true
    }
  }

  /// The conflicts of a zone, in the order of the records' names.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func conflicts(in zone: ZoneID) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    try forEachConflict(in: zone) { conflict in
      conflicts.append(conflict)
      return true
    }
    return conflicts
  }

  /// All heads of a field, greatest first. The record need not exist any more.
  ///
  /// The heads of a counter are its addends, those of contributions their payloads. The heads of a set or a
  /// map come element by element, in the order of the elements' encoded bytes or of the keys.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func heads(
    of field: Name, in record: RecordID, as kind: FieldKind = .register
  ) throws -> [CellHead] {
    try reader.heads(of: field, kind, record)
  }

  /// All heads of a record's existence, greatest first.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func existence(of record: RecordID) throws -> [CellHead] {
    try reader.heads(of: .existence, record)
  }

  /// The names of the fields of a record that are not empty, in the order of their bytes. The record need not
  /// exist any more.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func fields(of record: RecordID) throws -> [Name] {
    try reader.fields(of: record) { cell, row in
      guard let winner = try row.winner(of: cell) else { return false }
      return try cell.shows(winner, in: row)
    }
  }

  /// As ``fields(of:)``, with lists and texts from which everything was removed.
  package func fieldsWithEmptied(of record: RecordID) throws -> [Name] {
    try reader.fields(of: record) { _, _ in true }
  }
}
