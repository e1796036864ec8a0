package import OperationFormat

extension Snapshot {
  /// What a record shows, as the changes that make each cell of an empty record show it; nil if it is not there. Values are
  /// those that are stored.
  func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try withRow(of: record) { row, state in
      guard try visible(row, state) != nil else { return nil }
      let index = try CellIndex(row)
      return try index.entries.filter { $0.cell != .existence }.map { entry in
        let field = try name(entry.cell.field)
        return try index.withRow(of: entry, in: row) {
          (field, try changes(showing: entry.cell, field, in: $0, state))
        }
      }
    }
  }
}

extension ReadTransaction {
  /// What a record shows, cell by cell: see `Snapshot`.
  package func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try snapshot.changes(showing: record)
  }
}

extension WriteTransaction {
  /// What a record shows, cell by cell: see `Snapshot`.
  package mutating func changes(showing record: RecordID) throws -> [(field: Name, changes: [FieldChange])]? {
    try snapshot().changes(showing: record)
  }
}
