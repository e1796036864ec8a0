/// How far the remote's clock and this device's differ.
///
/// A clock that is wrong loses nothing: what a write has seen never depends on clocks. But of changes that were made at
/// once, those of a clock that is ahead win.
public struct ClockOffset: Hashable, Sendable, CustomStringConvertible {
  /// The remote's time less this device's, in milliseconds: less than 0 if this device is ahead. Two clocks cannot be
  /// compared more exactly than a call takes; where they may be equal it is 0.
  public let milliseconds: Int64

  /// So many milliseconds are worth telling the user: a minute.
  public static let notableMilliseconds: Int64 = 60_000

  /// Creates an offset.
  ///
  /// - Parameter milliseconds: the remote's time less this device's.
  public init(milliseconds: Int64) { self.milliseconds = milliseconds }

  /// The offset by a call in which the remote's clock was read.
  ///
  /// - Parameters:
  ///   - remote: what the remote's clock showed, in milliseconds since 1970.
  ///   - wall: this device's wall clock before and after the call.
  package init(remote: UInt64, between wall: (before: Int64, after: Int64)) {
    let remote = Int64(clamping: remote)
    // A wall clock that was set back meanwhile: any time between is possible.
    let (first, last) = (min(wall.before, wall.after), max(wall.before, wall.after))
    let nearest = min(max(remote, first), last)
    let (difference, isFar) = remote.subtractingReportingOverflow(nearest)
    milliseconds = isFar ? .max : difference
  }

  /// Whether the clocks differ by more than a minute.
  public var isNotable: Bool { milliseconds.magnitude > Self.notableMilliseconds.magnitude }

  /// Such as “this device's clock is 62 minutes ahead of the remote's”.
  public var description: String {
    let side = milliseconds < 0 ? "ahead of" : "behind"
    return "this device's clock is \(Self.text(milliseconds.magnitude)) \(side) the remote's"
  }

  /// What to do about it.
  public var hint: String {
    "set this device's clock, or that of the remote if it is the wrong one: of changes made at once, a clock that is "
      + "ahead lets its own win"
  }

  /// A time in the greatest unit of which there are at least two, rounded to the nearest.
  private static func text(_ milliseconds: UInt64) -> String {
    let units: [(String, UInt64)] = [
      ("years", 31_557_600_000), ("days", 86_400_000), ("hours", 3_600_000), ("minutes", 60_000),
      ("seconds", 1_000),
    ]
    for (name, size) in units where milliseconds >= 2 * size {
      return "\((milliseconds + size / 2) / size) \(name)"
    }
    return "\(milliseconds) milliseconds"
  }
}
