import OperationFormat

/// A generated transaction, as everybody has it.
struct FoldTransaction {
  /// What of it counts in conflicts.
  var made: OracleTransaction
  var operations: [FoldOperation]
  /// What those that were applied so far say of their fields; nil for those that say nothing.
  var changes: [FieldChange?] = []

  var lane: Int { made.lane }
  /// From 1.
  var sequence: Int { made.sequence }
  /// The offset up to which its maker had folded; 0 for nothing.
  var base: Int { made.base }
  var timestamp: Timestamp { made.timestamp }
}
