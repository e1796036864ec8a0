import OperationFormat

/// An index with what making its entries needs, looked up once.
final class PreparedIndex: Sendable {
  /// One object, since copying what it holds for each entry would count many references.
  final class Part: Sendable {
    let content: IndexPart.Content
    /// The cell, of a register and nothing else: a short text in it is taken from the row as it is.
    let cell: CellNumber?
    let isDescending: Bool
    let makesSeveral: Bool

    fileprivate init(_ part: IndexPart, _ source: some TableReading) throws {
      content = part.content
      isDescending = part.isDescending
      makesSeveral = part.makesSeveral
      if case .value(let field) = part.content, let name = field.plainName {
        cell = try source.names.number(of: name).map { CellNumber(register: $0) }
      } else {
        cell = nil
      }
    }
  }

  let stored: StoredIndex
  let parts: [Part]
  let types: [NameNumber]
  let fields: [NameNumber]

  init(_ stored: StoredIndex, _ source: some TableReading) throws {
    self.stored = stored
    parts = try stored.definition.parts.map { try Part($0, source) }
    types = try stored.definition.types.compactMap { try source.names.number(of: $0) }
    fields = try stored.definition.fieldNames.compactMap { try source.names.number(of: $0) }
  }
}
