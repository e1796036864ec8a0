import OperationFormat

/// A second implementation of a store's clock. A check with the engine's own clock would not
/// find the clock's bugs.
struct NaiveClock {
  /// Five minutes.
  private static let driftMilliseconds: UInt64 = 300_000
  /// Milliseconds, and a counter in the lower 16 bits.
  private(set) var last: UInt64 = 0

  /// Creates a clock that has given out nothing.
  init() {}

  /// Checks the timestamp of a local write. It must follow every timestamp that was given out or seen, except
  /// those beyond the drift, and must not be beyond the drift itself.
  ///
  /// - Throws: ``OracleMismatch`` with the range that is allowed.
  mutating func check(_ timestamp: Timestamp, wallMilliseconds: Int64) throws(OracleMismatch) {
    let wall = Self.milliseconds(wallMilliseconds) << 16
    let most = Self.most(wallMilliseconds)
    let next = max(last + 1, wall)
    let least = next > most ? wall : next
    let found = timestamp.rawValue
    guard found >= least, found <= most else {
      throw OracleMismatch(
        "timestamp of a write", expected: "\(Timestamp(rawValue: least)) to \(Timestamp(rawValue: most))",
        found: "\(timestamp)")
    }
    last = found
  }

  /// Records a timestamp of another store. One beyond the drift is ignored.
  mutating func observe(_ timestamp: Timestamp, wallMilliseconds: Int64) {
    if timestamp.rawValue <= Self.most(wallMilliseconds) { last = max(last, timestamp.rawValue) }
  }

  private static func most(_ wallMilliseconds: Int64) -> UInt64 {
    min(milliseconds(wallMilliseconds) + driftMilliseconds, millisecondsMax) << 16 | 0xffff
  }

  private static func milliseconds(_ wallMilliseconds: Int64) -> UInt64 {
    min(UInt64(max(wallMilliseconds, 0)), millisecondsMax)
  }

  private static let millisecondsMax: UInt64 = (1 << 48) - 1
}
