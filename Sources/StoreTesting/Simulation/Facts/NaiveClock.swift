package import OperationFormat

/// A device's clock as it must be (DESIGN.md, 4), by a second implementation: the engine's own would share its faults.
package struct NaiveClock {
  /// Five minutes.
  private static let driftMilliseconds: UInt64 = 300_000
  /// Milliseconds, and a counter in the lower 16 bits.
  package private(set) var last: UInt64 = 0

  /// Creates a clock that has given out nothing.
  package init() {}

  /// Checks the timestamp of a local write: after everything that was given out or seen, unless that lies beyond the
  /// drift, and never beyond it itself.
  package mutating func check(_ timestamp: Timestamp, wallMilliseconds: Int64) throws {
    let wall = Self.milliseconds(wallMilliseconds) << 16
    let most = Self.most(wallMilliseconds)
    let next = max(last + 1, wall)
    let least = next > most ? wall : next
    let found = timestamp.rawValue
    guard found >= least, found <= most else {
      throw SimulationFailure(
        .clockIsBounded,
        "a write has the timestamp \(timestamp); expected \(Timestamp(rawValue: least)) to \(Timestamp(rawValue: most))"
      )
    }
    last = found
  }

  /// Takes in another's timestamp: one beyond the drift does not count.
  package mutating func observe(_ timestamp: Timestamp, wallMilliseconds: Int64) {
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
