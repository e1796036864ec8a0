import OperationFormat

/// A head as the oracle finds it.
struct OracleHead: Hashable {
  /// The effective timestamp: milliseconds × 2^16 + counter.
  var timestamp: UInt64
  var replica: ReplicaID
  var epoch: UInt32
  var sequence: Int
  var index: Int
  /// A register's: the number of its value. An existence's: the number of the type, or `dead`.
  var content: Int

  static let dead = -1

  /// The order of heads: effective timestamp, replica, epoch, sequence, index.
  static func isGreater(_ a: OracleHead, _ b: OracleHead) -> Bool {
    if a.timestamp != b.timestamp { return a.timestamp > b.timestamp }
    if a.replica != b.replica { return a.replica.rawValue > b.replica.rawValue }
    if a.epoch != b.epoch { return a.epoch > b.epoch }
    if a.sequence != b.sequence { return a.sequence > b.sequence }
    return a.index > b.index
  }
}
