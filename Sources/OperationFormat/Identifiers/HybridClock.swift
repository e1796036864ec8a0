/// A hybrid logical clock (Kulkarni et al., 2014) that is never more than `maxDrift` ahead of the wall clock.
///
/// It reads no clock itself: the caller passes the wall time, in milliseconds since 1970, which is clamped to
/// 48 bits. The counter of a timestamp carries over into its milliseconds.
package struct HybridClock: Sendable {
  /// How far a timestamp may be ahead of the wall clock by default: 5 minutes.
  package static let maxDriftMilliseconds: UInt64 = 300_000

  /// The last timestamp that was issued or observed.
  package var last: Timestamp
  /// How far a timestamp may be ahead of the wall clock.
  let maxDriftMilliseconds: UInt64

  /// Creates a clock that continues after `last`.
  package init(last: Timestamp, maxDriftMilliseconds: UInt64 = Self.maxDriftMilliseconds) {
    self.last = last
    self.maxDriftMilliseconds = maxDriftMilliseconds
  }

  /// Returns the timestamp for a local transaction: after the last one, and not before the wall clock.
  ///
  /// There is one exception. If the wall clock was set back, and the last timestamp is too far ahead of it,
  /// the result is the wall clock's time, which is earlier than the last. After the greatest timestamp, the
  /// clock stops.
  package mutating func tick(wallMilliseconds: Int64) -> Timestamp {
    let wall = Self.start(ofMillisecond: wallMilliseconds)
    let (following, isEndOfTime) = last.rawValue.addingReportingOverflow(1)
    let next = max(isEndOfTime ? last : Timestamp(rawValue: following), wall)
    let limit = Self.limit(wallMilliseconds: wallMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds)
    last = next > limit ? wall : next
    return last
  }

  /// Advances the clock to another replica's timestamp, unless that is more than `maxDriftMilliseconds` ahead
  /// of the wall clock.
  package mutating func observe(_ remote: Timestamp, wallMilliseconds: Int64) {
    let limit = Self.limit(wallMilliseconds: wallMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds)
    if remote <= limit { last = max(last, remote) }
  }

  /// Returns the timestamp that decides conflicts: the transaction's, but at most `maxDriftMilliseconds`
  /// after the remote log received it. Without a time of receipt, it is the transaction's.
  package static func effective(
    _ timestamp: Timestamp, receivedMilliseconds: Int64?,
    maxDriftMilliseconds: UInt64 = Self.maxDriftMilliseconds
  ) -> Timestamp {
    guard let receivedMilliseconds else { return timestamp }
    return min(
      timestamp, limit(wallMilliseconds: receivedMilliseconds, maxDriftMilliseconds: maxDriftMilliseconds))
  }

  /// The first timestamp of a millisecond of the wall clock.
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
