import OperationFormat

/// The part of a transaction that decides conflicts.
struct OracleTransaction: Hashable, Sendable {
  var lane: Int
  /// From 1.
  var sequence: Int
  /// The offset up to which its store had folded the log; 0 for nothing.
  var base: Int
  var timestamp: Timestamp
  /// The floor that it names, which is all that it does; nil for none.
  var floor: Int?
}
