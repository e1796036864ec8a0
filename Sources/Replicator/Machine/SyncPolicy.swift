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

  public init() {}

  /// How long to wait after failures in a row: a range for the jitter to choose from, so that many replicas do not
  /// come back at one instant. Never before what the remote asked for.
  func delay(afterFailures count: Int, retryAfterMilliseconds: Int64?) -> ClosedRange<Int64> {
    #if PLANTED_BUGS
      if PlantedBug.noDelayAfterFailure.isPlanted { return 1...1 }
    #endif
    let doublings = min(max(count - 1, 0), 32)
    let (product, overflow) = retryMilliseconds.multipliedReportingOverflow(by: 1 << doublings)
    let delay = max(1, overflow ? retryMillisecondsMax : min(product, retryMillisecondsMax))
    // A day is the longest that a remote can ask for: a wrong header must not end syncing for good.
    let least = min(max(retryAfterMilliseconds ?? 0, 0), 86_400_000)
    return max(delay / 2, least)...max(delay, least + least / 10)
  }
}
