package import OperationFormat

/// What tools ask that do not know the app's models.
extension RecordReading where Self: ~Copyable {
  /// The fields that apps have declared; none in a store that no app with a declaration has opened for
  /// writing.
  ///
  /// - Throws: ``StoreError`` `damaged`, `newerFormat`.
  package func declaredFields() throws -> DeclaredFields { try reader.view.meta.declaredFields() }

  /// What a record has in each cell that is not empty, of all kinds. The record need not exist any more.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func cells(of record: RecordID) throws -> [Name: [FieldKind: Value]] {
    let view = try reader.view
    return try view.withRow(of: record) { row, state in try view.cells(in: row, state) } ?? [:]
  }

  /// Whether the store has ever had a name, of a type or of a field.
  package func knows(_ name: Name) throws -> Bool { try reader.view.number(of: name) != nil }
}
