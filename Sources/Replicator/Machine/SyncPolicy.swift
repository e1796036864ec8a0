/// When a replicator that runs goes to work. All times are in milliseconds.
public struct SyncPolicy: Hashable, Sendable {
  /// How long a local commit waits for others before it is shipped with them.
  public var commitDelayMilliseconds: Int64 = 250
  /// How long a word of the remote waits for others.
  public var pushDelayMilliseconds: Int64 = 50
  /// How long after a round the next one comes, if nothing calls for one before.
  public var pollMilliseconds: Int64 = 15_000
  /// The wait after the first failure. It doubles with each one in a row.
  public var retryMilliseconds: Int64 = 1_000
  /// The longest wait after a failure, unless the remote asks for a longer one.
  public var retryMillisecondsMax: Int64 = 300_000
  /// How many zones are synced at the same time.
  public var zonesAtOnceMax = 4
  /// How many chunks of assets, of 4 MiB, move in one zone before its log is looked at again. One that is moved by
  /// ``LogReplicator/syncOnce(_:)`` is moved to its end.
  public var assetChunksInRoundMax = 4

  /// The wait before the assets that an eager zone names and the remote did not have are asked for again. It doubles
  /// with each time in a row; one that a new segment names is asked for at once.
  public var assetRetryMilliseconds: Int64 = 30_000
  /// The longest wait for them.
  public var assetRetryMillisecondsMax: Int64 = 3_600_000

  public init() {}

  /// How long to wait after failures in a row: a range for the jitter to choose from, so that many replicas do not
  /// come back at one instant. Never before what the remote asked for.
  func delay(afterFailures count: Int, retryAfterMilliseconds: Int64?) -> ClosedRange<Int64> {
    let delay = Self.doubled(retryMilliseconds, count, max: retryMillisecondsMax)
    // A day is the longest that a remote can ask for: a wrong header must not end syncing for good.
    let least = min(max(retryAfterMilliseconds ?? 0, 0), 86_400_000)
    return max(delay / 2, least)...max(delay, least + least / 10)
  }

  /// How long to wait before assets are asked for again that the remote did not have, so many times in a row.
  func assetDelay(afterSearches count: Int) -> ClosedRange<Int64> {
    let delay = Self.doubled(assetRetryMilliseconds, count, max: assetRetryMillisecondsMax)
    return max(1, delay / 2)...delay
  }

  private static func doubled(_ first: Int64, _ count: Int, max most: Int64) -> Int64 {
    let doublings = min(Swift.max(count - 1, 0), 32)
    let (product, overflow) = first.multipliedReportingOverflow(by: 1 << doublings)
    return Swift.max(1, overflow ? most : min(product, most))
  }
}
