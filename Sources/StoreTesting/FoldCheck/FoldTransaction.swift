import OperationFormat

/// A generated transaction, equal at all replicas.
struct FoldTransaction {
  /// The part of it that decides conflicts.
  var made: OracleTransaction
  /// None of one that names a floor.
  var operations: [FoldOperation]
  /// The changes of fields by those operations that were applied so far; nil for operations without one.
  var changes: [FieldChange?] = []

  var lane: Int { made.lane }
  /// From 1.
  var sequence: Int { made.sequence }
  /// The offset up to which its maker had folded the log; 0 for nothing.
  var base: Int { made.base }
  var timestamp: Timestamp { made.timestamp }
}
