import OperationFormat

/// Keeps what is derived from records, such as indexes: it looks at a record before the fold changes it, and
/// again when the fold has written it.
package protocol RecordUpkeep: AnyObject {
  /// Whether a change of a field matters.
  func has(_ field: NameNumber) -> Bool
  /// Whether nothing has changed that it has not written.
  var isEmpty: Bool { get }
  /// Whether it is time to write.
  var isFull: Bool { get }
  /// Looks at a record before it changes.
  ///
  /// - Parameters:
  ///   - key: that of its row.
  ///   - field: the field that changes; nil if all may change.
  ///   - type: the type that it gets; nil if it keeps its own, or gets that of any other head.
  /// - Returns: how much it has that may change.
  func willChange(_ key: RawSpan, field: NameNumber?, type: NameNumber?) throws -> Int
  /// Writes what has changed. The rows of the records are written.
  func flush() throws
  /// Drops what reads, before the transaction becomes another one.
  func dropViews()
}
