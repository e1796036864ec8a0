package import OperationFormat

/// The part of a transaction that decides conflicts.
package struct OracleTransaction: Hashable, Sendable {
  package var lane: Int
  /// From 1.
  package var sequence: Int
  /// The offset up to which its store had folded the log; 0 for nothing.
  package var base: Int
  package var timestamp: Timestamp

  package init(lane: Int, sequence: Int, base: Int, timestamp: Timestamp) {
    self.lane = lane
    self.sequence = sequence
    self.base = base
    self.timestamp = timestamp
  }
}
