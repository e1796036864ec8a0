package import OperationFormat

extension ReadTransaction {
  /// The parts of a list or a text in their order, hidden ones too, whether or not the record is visible.
  package func parts(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [UnitOrderPart] {
    try readView.withAnyCell(kind, of: field, in: record) { cell in
      var parts: [UnitOrderPart] = []
      let items = try cell.cell.hasScalars ? [:] : cell.itemsByUnit()
      try cell.forEachPart(items: items) { parts.append($0) }
      return parts
    } ?? []
  }
}
