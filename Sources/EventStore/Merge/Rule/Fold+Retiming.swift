package import OperationFormat

/// Giving the heads of a transaction another effective timestamp, because its first receive time turned out
/// earlier.
extension Fold {
  /// Gives the heads that an operation made another effective timestamp.
  ///
  /// - Parameters:
  ///   - kind: what the operation does.
  ///   - field: the field that it works on, none of one on a record's existence.
  ///   - operand: what it says of the field.
  ///   - index: its place in its transaction.
  ///   - transaction: who made it.
  /// - Returns: whether the winner of one of its cells is another one now, or contributions may have another
  ///   order.
  package mutating func retime(
    _ kind: OperationKind, _ field: NameNumber, operand: RawSpan, index: UInt32, of record: RawSpan,
    in state: StateNumber, transaction: CausalContext, to timestamp: Timestamp
  ) throws -> Bool {
    guard try load(record, in: state) else { return false }
    // What is compacted keeps the time that it has.
    try compactBeforeChange()
    if loaded.bytes.isEmpty { return false }
    try willChange()
    let id = HeadID(
      replica: transaction.replica, epoch: transaction.epoch, sequence: transaction.sequence, index: index)
    let isAnotherRecord = try retimeShown(CellPath(.existence), by: id, to: timestamp)
    let isAnotherValue =
      try FieldKind(of: kind)?.with {
        try $0.retime(kind, operand, of: field, by: id, to: timestamp, in: &self)
      } ?? false
    return isAnotherRecord || isAnotherValue
  }

  /// Gives the heads that a transaction made in a cell another timestamp.
  ///
  /// - Parameter id: an operation of the transaction.
  /// - Returns: whether the cell has another winner now.
  mutating func retimeShown(_ path: CellPath, by id: HeadID, to timestamp: Timestamp) throws -> Bool {
    let before = try winner(of: path)
    try retimeHeads(of: path, by: id, to: timestamp)
    return try winner(of: path) != before
  }

  /// The same of a cell that shows nothing else by that.
  mutating func retimeHeads(of path: CellPath, by id: HeadID, to timestamp: Timestamp) throws {
    for owned in try heads(of: path, by: id) where owned.head.timestamp != timestamp {
      let moved = Head(timestamp: timestamp, id: owned.head.id)
      try replaceHeads(
        of: path, removing: .head(owned.head.id), adding: moved, payload: owned.payload.span.bytes)
    }
  }

  /// The greatest head of a cell.
  private mutating func winner(of path: CellPath) throws -> HeadID? {
    try withCell(path) { _, heads, _ in heads.count > 0 ? heads[0].head.id : nil }
  }

  /// The heads of a cell that one transaction made. It does not read the others.
  private mutating func heads(of path: CellPath, by id: HeadID) throws -> [OwnedHead] {
    try withCell(path) { fold, inline, row in
      var found: [OwnedHead] = []
      var inlineIDs: [HeadID] = []
      for index in 0..<inline.count {
        let head = inline[index].head
        inlineIDs.append(head.id)
        if head.id.isOfTransaction(id.replica, id.epoch, id.sequence) {
          found.append(
            OwnedHead(
              head: head,
              payload: try fold.storage.wholePayload(
                of: inline[index], in: path, row, record: fold.recordNumber, fold.state)))
        }
      }
      guard inline.total > inline.count else { return found }
      let cell = CellAddress(state: fold.state, record: try fold.recordNumber, path)
      let apart = try fold.storage.headsApart(of: HeadRun(transaction: id), cell)
      return found + apart.filter { !inlineIDs.contains($0.head.id) }
    } ?? []
  }
}
