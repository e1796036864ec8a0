import OperationFormat

/// The rows of a unit order, to be read.
package protocol RunReading: AnyObject, ReplicaReading {
  /// Calls a closure with a row; nil if there is none.
  func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R?
  /// Gives a closure the row with the greatest key that is at most `key` and has the same first `prefixBytes`
  /// bytes; nil if there is none.
  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R?
  /// Calls a closure with all rows whose key begins with `prefix`, in key order. The closure must not write.
  func forEachRun(under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void) throws
}

/// The rows of a unit order, to be changed.
package protocol RunStorage: RunReading {
  func writeRun(_ row: RawSpan, _ key: RawSpan) throws
  func deleteRun(_ key: RawSpan) throws
}

extension FormatError {
  /// Rows of a unit order that contradict each other.
  static func damagedRuns(_ subject: StaticString, expected: String, found: String) -> FormatError {
    FormatError(.damaged, at: 0, in: "runs.\(subject)", expected: expected, found: found)
  }
}
