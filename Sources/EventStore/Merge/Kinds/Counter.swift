public import OperationFormat

/// What a counter reads: the sum of what was added to it.
public struct Counter: Hashable, Sendable {
  /// An integer; a decimal, if a decimal was ever added.
  public let value: Value
  /// Whether the sum is no such value, so that this is the nearest one toward zero. What was added is all
  /// kept: the sum is right again when it comes back.
  public let isClamped: Bool
}

extension CounterSum {
  /// What the counter reads.
  package var counter: Counter {
    let (value, isClamped) = total
    return Counter(value: value, isClamped: isClamped)
  }
}
