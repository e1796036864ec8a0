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
    in state: StateNumber, transaction: CausalContext, to timestamp: Timestamp
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
    _ path: CellPath, _ transaction: CausalContext, to timestamp: Timestamp
  ) throws -> Bool {
    let before = try winner(of: path)
    for owned in try heads(of: path, by: transaction) where owned.head.timestamp != timestamp {
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
    return try winner(of: path) != before
  }

  /// The greatest head of a cell.
  private mutating func winner(of path: CellPath) throws -> HeadID? {
    try withCell(path) { _, heads, _ in heads.count > 0 ? heads[0].head.id : nil }
  }

  /// The heads of a cell that one transaction made. The others are not looked at.
  private mutating func heads(of path: CellPath, by transaction: CausalContext) throws -> [OwnedHead] {
    try withCell(path) { fold, inline, row in
      var found: [OwnedHead] = []
      var inlineIDs: [HeadID] = []
      for index in 0..<inline.count {
        let head = inline[index].head
        inlineIDs.append(head.id)
        if head.id.isOfTransaction(transaction.replica, transaction.epoch, transaction.sequence) {
          found.append(
            OwnedHead(head: head, payload: try fold.wholePayload(of: inline[index], in: path, row)))
        }
      }
      guard inline.total > inline.count else { return found }
      let key = ElementKey(
        state: fold.state, record: try fold.recordNumber, path, headsOf: transaction.replica,
        epoch: transaction.epoch, sequence: transaction.sequence)
      return try found + fold.headsApart(except: Set(inlineIDs), under: key)
    } ?? []
  }

  private mutating func withCell<R>(
    _ path: CellPath, _ body: (borrowing Fold, InlineHeads, RawSpan) throws -> R?
  ) throws -> R? {
    guard let element = path.element else {
      if path.cell.isFieldRegister { try joinRegisters() }
      let place = try place(of: path.cell)
      return try body(self, RecordLayout.heads(of: place.body, in: row.span.bytes), row.span.bytes)
    }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: element)
    guard let row = try storage.readElement(key) else { return nil }
    let heads = try RecordLayout.heads(of: ElementRow.heads(of: row.span.bytes), in: row.span.bytes)
    return try body(self, heads, row.span.bytes)
  }
}
