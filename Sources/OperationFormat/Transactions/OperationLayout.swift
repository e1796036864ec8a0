/// Where the parts of one operation lie in a transaction's body.
package struct OperationLayout: Hashable, Sendable {
  package var kind: OperationKind
  /// The index of the record's name in the table, −1 in an operation of an unknown kind.
  package var record = -1
  /// The index of the type's name in the table, −1 where there is none.
  package var type = -1
  /// The index of the field's name in the table, −1 where there is none.
  package var field = -1
  /// The bytes of the operand, which is what the operation says of the field: see ``FieldChange``; of a move the record's
  /// other place. Empty where there is none.
  package var operand = 0..<0
  /// The bytes of the payload.
  package var payload: Range<Int>
}
