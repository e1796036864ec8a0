import EventStore

/// Names a list or a text of a record in a history.
struct FoldSequence: Hashable {
  var record: Int
  var field: Int
  var kind: FieldKind
  /// Whether it is a list, whose items may be moved.
  var hasItems: Bool

  /// The list or text that an operation edits; nil for other operations.
  init?(_ operation: FoldOperation) {
    guard case .edit(let edit) = operation.action, let kind = operation.kind.row.field else { return nil }
    record = Int(operation.record)
    field = Int(operation.field)
    self.kind = kind
    hasItems = edit.hasItems
  }
}
