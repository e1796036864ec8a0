import OperationFormat

extension WriteBatch {
  /// Makes a record alive that has a row, and changes none of its fields.
  ///
  /// Every change of a field says that the record is alive. This one takes out of a set an element that it does not have, and
  /// so replaces no head of a field anywhere: what the transaction has seen of that element is gone already, and what it has
  /// not seen stays.
  func revive(_ record: RawSpan, type: Name, in draft: Draft) throws {
    let type = try internName(type)
    let field = try fieldWithoutSet(of: record, in: draft)
    var operand = ByteWriter()
    try FieldChange.remove("deleted").encode(into: &operand)
    focus(draft)
    let operation = try nextOperation(draft)
    _ = try fold.find(record, in: draft.state)
    try folding { try fold.change(.remove, field, type: type, operand: operand.span, index: operation) }
    try log(field, of: record, type, .remove, operand: operand.span, in: draft)
  }

  /// A field under whose name the record has no set.
  private func fieldWithoutSet(of record: RawSpan, in draft: Draft) throws -> NameNumber {
    guard try fold.find(record, in: draft.state) else { preconditionFailure("a record without a row") }
    var count = 0
    while true {
      let field = try internName(count == 0 ? "existence" : Name("existence \(count)"))
      // The fields of a wide record are looked for: they are not in its row.
      if try fold.place(of: CellNumber(field, .set)).body.isEmpty { return field }
      count += 1
    }
  }
}
