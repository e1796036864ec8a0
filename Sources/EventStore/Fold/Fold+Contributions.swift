import OperationFormat

/// Contributions: heads that no other contribution removes, each with what its transaction had seen.
extension Fold {
  /// Folds `contribute`.
  ///
  /// - Parameter value: the encoded payload.
  mutating func contribute(_ value: RawSpan, to cell: CellNumber, index: UInt32) throws {
    var payload = ByteWriter()
    ContributionPayload.append(base: context.base, to: &payload)
    payload.append(value)
    try replace(cell, removing: .nothing, adding: head(at: index), payload: payload.span)
  }

  /// Gives a contribution another effective timestamp. The others are not looked at, unless it leaves the record's row.
  ///
  /// - Returns: whether it had another.
  mutating func retimeContribution(
    _ id: HeadID, of cell: CellNumber, to timestamp: Timestamp
  ) throws -> Bool {
    guard let owned = try contribution(id, of: cell), owned.head.timestamp != timestamp else { return false }
    try replace(
      cell, removing: .head(id), adding: Head(timestamp: timestamp, id: id),
      payload: owned.payload.span.bytes)
    try storage.noteRetiming(in: state)
    return true
  }

  /// A contribution with its whole payload; nil if it is no more.
  private mutating func contribution(_ id: HeadID, of cell: CellNumber) throws -> OwnedHead? {
    let place = try place(of: cell)
    let heads = try RecordLayout.heads(of: place.body, in: row.span.bytes)
    for index in 0..<heads.count where heads[index].head.id == id && !heads[index].isApart {
      return OwnedHead(head: heads[index].head, payload: Array(row[heads[index].payload]))
    }
    guard heads.total > 0 else { return nil }
    let key = ElementKey(state: state, record: try recordNumber, CellPath(cell), head: id)
    return try storage.readElement(key).map { try OwnedHead(apart: $0.span.bytes) }
  }
}
