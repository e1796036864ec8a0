public import OperationFormat

/// One payload that was contributed to a field which the app's own reducer reads.
public struct Contribution: Hashable, Sendable {
  /// The operation that contributed it.
  public let operation: OperationID
  /// Its timestamp, as it counts in comparisons.
  public let timestamp: Timestamp
  /// What was contributed.
  public let payload: Value
}
