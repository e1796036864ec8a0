/// A reading of a hybrid logical clock: milliseconds since 1970 in the upper 48 bits, a counter in the lower
/// 16.
///
/// Text form: `milliseconds.counter`, both decimal.
public struct Timestamp: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible {
  /// The greatest number of milliseconds: in the year 10889.
  public static let millisecondsMax: UInt64 = 1 << 48 - 1

  /// Milliseconds × 2^16 + counter.
  public var rawValue: UInt64

  /// Creates a timestamp from its 64 bits.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates a timestamp; `milliseconds` must not be over ``millisecondsMax``.
  public init(milliseconds: UInt64, counter: UInt16) {
    precondition(milliseconds <= Self.millisecondsMax, "\(milliseconds) ms do not fit into 48 bits")
    rawValue = milliseconds << 16 | UInt64(counter)
  }

  /// Parses the text form; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    guard let milliseconds = scanner.decimal(max: Self.millisecondsMax), scanner.skip("."),
      let counter = scanner.decimal(max: UInt64(UInt16.max)), scanner.isAtEnd
    else { return nil }
    self.init(milliseconds: milliseconds, counter: UInt16(counter))
  }

  /// Milliseconds since 1970-01-01T00:00:00Z.
  public var milliseconds: UInt64 { rawValue >> 16 }

  /// Orders the timestamps of one millisecond.
  public var counter: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

  /// `milliseconds.counter`
  public var description: String { "\(milliseconds).\(counter)" }

  /// Orders by milliseconds, then counter.
  public static func < (a: Timestamp, b: Timestamp) -> Bool { a.rawValue < b.rawValue }
}
