public import EventStore

/// When a running replicator makes rounds, and what it lets go of. All times are in milliseconds.
public struct SyncPolicy: Hashable, Sendable {
  /// How long a local commit waits for others before it is shipped with them.
  public var commitDelayMilliseconds: Int64 = 250
  /// How long a notification of the remote waits for others.
  public var pushDelayMilliseconds: Int64 = 50
  /// The time between two rounds, if nothing asks for one before.
  public var pollMilliseconds: Int64 = 15_000
  /// The longest time between two rounds that ask for every zone, whatever the remote's hints and heads say.
  /// It also bounds how long a hint that is late, lost or wrong can hide a change. A round that the app asks
  /// for always asks for every zone.
  public var everythingMilliseconds: Int64 = 3_600_000
  /// The shortest time between two calls of ``RemoteLog/announce()``.
  public var announceMilliseconds: Int64 = 1_000
  /// The wait after the first failure. It doubles with each one in a row.
  public var retryMilliseconds: Int64 = 1_000
  /// The longest wait after a failure, unless the remote asks for a longer one.
  public var retryMillisecondsMax: Int64 = 300_000
  /// How many zones are synced at the same time; less than 1 counts as 1.
  public var zonesAtOnceMax = 4
  /// How many chunks of assets, of 4 MiB, move in one zone before its log is read again.
  /// ``LogReplicator/syncOnce(_:zones:)`` moves all.
  public var assetChunksInRoundMax = 4

  /// The wait before the remote is asked again for assets that an eager zone names and that it did not have.
  /// It doubles each time in a row. An asset that a new segment names is asked for at once.
  public var assetRetryMilliseconds: Int64 = 30_000
  /// The longest wait before it is asked again.
  public var assetRetryMillisecondsMax: Int64 = 3_600_000

  /// A zone gets a snapshot at its remote once its log has so many bytes of transactions after the last one, and as many as
  /// that has: new stores begin with it. A store makes it after a round in which it has sent something. Where records were
  /// compacted since the last one, what counts are the bytes since the last one before which they were.
  public var snapshotBytesMin: UInt64 = 4 << 20

  /// How old the entries of a zone's log at the remote must be to go, for which its snapshots stand; nil to keep all. After a
  /// store has put a snapshot there, it lets the log begin with the one before, or an older one, so that nothing goes that is
  /// younger, nor anything that a writer has not seen that wrote since. The times are those that the entries state.
  ///
  /// A store that was away for longer begins with a snapshot when it comes back, and keeps what it has not sent. Programs of
  /// former versions cannot read a trimmed log: update them all before you set it. 90 days is a good value.
  public var trimMilliseconds: Int64?

  /// How much of each zone's history this store keeps. A round that asks for every zone lets go of the rest, of zones that
  /// are in sync, once that is as much as what stays. So a zone has at most about twice of what the policy says.
  public var history = HistoryPolicy.everything
  /// So many bytes of the log of a zone must go at least.
  public var historyBytesMin: UInt64 = 1 << 20

  /// How far records are compacted, in all stores that sync a zone; nil if this store lets no zone be. A round that asks for
  /// every zone names a floor once that rises by a quarter of the policy's age. Programs of former versions keep everything,
  /// and show the same: update them all before you set it.
  public var compaction: CompactionPolicy?

  /// The most logs of one call of ``RemoteLog/heads(of:list:)``.
  public static let headsMax = 4096

  public init() {}

  /// When to ask for every zone again. The jitter removes up to a quarter.
  var everythingDelay: ClosedRange<Int64> {
    let most = max(1, everythingMilliseconds)
    return max(1, most - most / 4)...most
  }

  /// How long to wait after failures in a row: a range for the jitter to choose from, so that many replicas
  /// do not come back at the same time. Never less than what the remote asked for. That doubles too: a remote
  /// may give all the same number, every time.
  func delay(afterFailures count: Int, retryAfterMilliseconds: Int64?) -> ClosedRange<Int64> {
    let delay = Self.doubled(retryMilliseconds, count, max: retryMillisecondsMax)
    // A remote can ask for a day at most: a wrong header must not stop syncing for good.
    let asked = min(max(retryAfterMilliseconds ?? 0, 0), 86_400_000)
    let grown = asked == 0 ? 0 : Self.doubled(asked, count, max: max(asked, retryMillisecondsMax))
    let least = max(delay / 2, grown)
    let (most, overflow) = least.addingReportingOverflow(least / 2)
    return least...max(delay, overflow ? .max : most)
  }

  /// How long to wait before the remote is asked again for assets that it did not have.
  ///
  /// - Parameter count: how often in a row it did not have them.
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
