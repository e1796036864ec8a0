/// One change in a transaction.
public enum LogOperation: Hashable, Sendable {
  /// The record of this name exists from here on, with this type, and without the field values seen so far.
  case create(record: Name, type: Name)
  /// The record of this name exists no longer.
  case delete(record: Name)
  /// The field of a record has this value from here on; null clears it. Record names take 1 to 255 bytes,
  /// types and fields 1 to 128.
  case set(record: Name, type: Name, field: Name, value: Value)
  /// A counter of a record has this more from here on: an integer or a decimal, which may be negative.
  case add(record: Name, type: Name, field: Name, value: Value)
  /// An operation of a kind that this version does not know: kept byte for byte, not folded.
  case unknown(kind: UInt64, payload: [UInt8])
}
