/// A hybrid logical clock (Kulkarni et al., 2014) that never runs further than `maxDrift` ahead of the wall
/// clock.
///
/// It reads no clock itself: the wall time is passed in, in milliseconds since 1970, and clamped to 48 bits.
/// The counter of a timestamp carries into its milliseconds.
package struct HybridClock: Sendable {
  /// How far a timestamp may lie ahead of the wall clock unless said otherwise: 5 minutes.
  package static let maxDriftMilliseconds: UInt64 = 300_000

  /// The last timestamp given out or observed.
  package var last: Timestamp
  /// How far a timestamp may lie ahead of the wall clock.
  package let maxDriftMilliseconds: UInt64

  /// Creates a clock that goes on after `last`.
  package init(last: Timestamp, maxDriftMilliseconds: UInt64 = Self.maxDriftMilliseconds) {
    self.last = last
    self.maxDriftMilliseconds = maxDriftMilliseconds
  }

  /// Returns the timestamp for a local transaction: after the last one and not before the wall clock.
  ///
  /// Only when the last one lies too far ahead of the wall clock, because that went back, is the result the
  /// wall clock's, and earlier. At the end of time the clock stands still.
  package mutating func tick(wallMilliseconds: Int64) -> Timestamp {
    let wall = Self.start(ofMillisecond: wallMilliseconds)
    let (following, isEndOfTime) = last.rawValue.addingReportingOverflow(1)
    let next = max(isEndOfTime ? last : Timestamp(rawValue: following), wall)
    let limit = Self.limit(wallMilliseconds: wallMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds)
    last = next > limit ? wall : next
    return last
  }

  /// Moves the clock up to another replica's timestamp, unless that is further ahead of the wall clock than
  /// `maxDriftMilliseconds`.
  package mutating func observe(_ remote: Timestamp, wallMilliseconds: Int64) {
    let limit = Self.limit(wallMilliseconds: wallMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds)
    if remote <= limit { last = max(last, remote) }
  }

  /// Returns the timestamp that counts in conflicts: at most `maxDriftMilliseconds` after the remote log
  /// received the transaction. Without a time of receipt, the timestamp itself.
  package static func effective(
    _ timestamp: Timestamp, receivedMilliseconds: Int64?,
    maxDriftMilliseconds: UInt64 = Self.maxDriftMilliseconds
  ) -> Timestamp {
    guard let receivedMilliseconds else { return timestamp }
    return min(
      timestamp, limit(wallMilliseconds: receivedMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds))
  }

  /// The first timestamp of a wall clock's millisecond.
  private static func start(ofMillisecond wallMilliseconds: Int64) -> Timestamp {
    let milliseconds = min(UInt64(max(wallMilliseconds, 0)), Timestamp.millisecondsMax)
    return Timestamp(milliseconds: milliseconds, counter: 0)
  }

  /// The last timestamp that is not too far ahead of the wall clock.
  private static func limit(wallMilliseconds: Int64, maxDriftMilliseconds: UInt64) -> Timestamp {
    let wall = start(ofMillisecond: wallMilliseconds).milliseconds
    let drift = min(maxDriftMilliseconds, Timestamp.millisecondsMax)
    return Timestamp(milliseconds: min(wall + drift, Timestamp.millisecondsMax), counter: .max)
  }
}
