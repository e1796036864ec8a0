import OperationFormat

/// A head as the oracle finds it.
struct OracleHead: Hashable, Sendable {
  /// The number of the transaction that made it.
  var transaction: Int
  /// The effective timestamp.
  var timestamp: Timestamp
  var replica: ReplicaID
  var epoch: UInt32
  var sequence: Int
  /// The operation's place in its transaction.
  var index: Int
  /// The content that the operation left, by the caller's numbers.
  var content: Int
  /// Of a compacted contribution, the last place of those that were compacted with it.
  var lastPlace = 0

  /// Whether compaction wrote it: it stands at the last floor, and has no sequence.
  var isCompacted: Bool { sequence == 0 }

  /// What compaction writes in its place. The index tells several heads of a cell apart.
  func compacted(_ index: Int) -> OracleHead {
    var head = self
    (head.sequence, head.index) = (0, index)
    return head
  }

  /// The order of heads: effective timestamp, replica, epoch, sequence, index.
  static func isGreater(_ a: OracleHead, _ b: OracleHead) -> Bool {
    if a.timestamp.rawValue != b.timestamp.rawValue { return a.timestamp.rawValue > b.timestamp.rawValue }
    if a.replica.rawValue != b.replica.rawValue { return a.replica.rawValue > b.replica.rawValue }
    if a.epoch != b.epoch { return a.epoch > b.epoch }
    if a.sequence != b.sequence { return a.sequence > b.sequence }
    return a.index > b.index
  }
}

extension [OracleHead] {
  /// Merges the heads that one transaction added to a counter, since no transaction has seen only some of
  /// them.
  ///
  /// - Parameter sum: the content of both, the earlier first; nil if they make no one value.
  mutating func mergeContributions(_ sum: (Int, Int) -> Int?) {
    guard count > 1 else { return }
    var merged: [OracleHead] = []
    // The least first: of one transaction in the order of its operations.
    for head in reversed() {
      var head = head
      if let last = merged.last, last.transaction == head.transaction,
        let content = sum(last.content, head.content)
      {
        head.content = content
        merged.removeLast()
      }
      merged.append(head)
    }
    self = merged.reversed()
  }
}
