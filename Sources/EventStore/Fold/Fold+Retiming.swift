package import OperationFormat

/// Giving the heads of a transaction another effective timestamp, since its first receive time turned out earlier.
extension Fold {
  /// Gives the heads that an operation made another effective timestamp.
  ///
  /// - Parameters:
  ///   - kind: what the operation does.
  ///   - field: the field that it works on, none of one on a record's existence.
  ///   - operand: what it says of the field.
  ///   - index: its place in its transaction.
  ///   - transaction: who made it.
  /// - Returns: whether the winner of one of its cells is another one now, or contributions may have another order.
  package mutating func retime(
    _ kind: OperationKind, _ field: NameNumber, operand: RawSpan, index: UInt32, of record: RawSpan,
    in state: StateNumber, transaction: Viewpoint, to timestamp: Timestamp
  ) throws -> Bool {
    guard try find(record, in: state) else { return false }
    var hasChanged = try retime(CellPath(.existence), transaction, to: timestamp)
    let operation = HeadID(
      replica: transaction.replica, epoch: transaction.epoch, sequence: transaction.sequence, index: index)
    var path: CellPath?
    switch kind {
    case .set: path = CellPath(CellNumber(register: field))
    case .add: path = CellPath(CellNumber(field, .counter))
    case .contribute:
      if try retimeContribution(operation, of: CellNumber(field, .contributions), to: timestamp) {
        hasChanged = true
      }
    case .insert, .put:
      let element = try ElementChange(kind, operand)
      path = CellPath(CellNumber(field, element.kind), ElementName(element.identity))
    case .insertElements, .moveElement, .replaceElement:
      if try retimeItems(kind, CellNumber(field, .list), operand, operation, to: timestamp) {
        hasChanged = true
      }
    // What is removed leaves no head, and the units of a text have no time.
    default: break
    }
    if let path, try retime(path, transaction, to: timestamp) { hasChanged = true }
    return hasChanged
  }

  private mutating func retime(
    _ path: CellPath, _ transaction: Viewpoint, to timestamp: Timestamp
  ) throws -> Bool {
    let before = try heads(of: path)
    for owned in before
    where owned.head.id.isOfTransaction(transaction.replica, transaction.epoch, transaction.sequence)
      && owned.head.timestamp != timestamp
    {
      let moved = Head(timestamp: timestamp, id: owned.head.id)
      let (removal, payload) = (Removal.head(owned.head.id), owned.payload.span.bytes)
      if path.element == nil {
        try replace(path.cell, removing: removal, adding: moved, payload: payload)
      } else {
        try replaceElement(path, RawSpan(), removal, moved, payload)
      }
    }
    // What a counter or a set reads does not depend on the order of its heads.
    guard path.cell.isRegister || path.cell.kind == .map else { return false }
    return try heads(of: path).first?.head.id != before.first?.head.id
  }
}
