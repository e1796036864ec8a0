import OperationFormat

/// A generated transaction, as everybody has it.
struct FoldTransaction {
  var lane: Int
  /// From 1.
  var sequence: Int
  /// The offset up to which its maker had folded; 0 for nothing.
  var base: Int
  var timestamp: Timestamp
  var operations: [FoldOperation]
  /// Its first offset in the remote log; 0 while it has none.
  var place = 0
}
