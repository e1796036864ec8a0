public import EventStore
public import Logging

/// What a replicator is made with besides its store and its remote.
public struct ReplicatorConfiguration: Sendable {
  /// When rounds are made.
  public var policy = SyncPolicy()
  /// The size of a page of segments, in bytes. A page has at least one segment, and ends before one that
  /// would exceed this.
  public var pageBytesMax = 8 << 20
  /// How often to look for commits of other processes, in milliseconds.
  public var commitPollMilliseconds: Int64 = 500
  /// A source of random bits: for the incarnations of new zones, and for jitter.
  public var makeRandom: @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  /// Waits the given number of milliseconds; throws if the task is cancelled.
  public var sleep: @Sendable (_ milliseconds: Int64) async throws -> Void = SystemTimer.sleep
  /// Called after each chunk of 4 MiB of an asset's transfer, from any thread: it must be quick.
  public var assetProgress: (@Sendable (AssetProgress) -> Void)?
  /// What becomes of a zone here, once its log at the remote has ended. A zone in which something was never sent is
  /// kept, whatever `remove` says. `makeAgain` makes a zone again for everybody that was deleted, purged or reset, and keeps any other.
  ///
  /// It is called in each round in which a zone's log has ended, from any thread: it must be quick, and give the same
  /// answer for the same zone until the app wants another.
  public var zoneEndAnswer: @Sendable (ZoneID, ZoneFate) -> ZoneEndAnswer = { $1.standardAnswer }
  /// In which order zones are synced: those with a greater number first. It is called for each zone in each round.
  public var zonePriority: @Sendable (ZoneID) -> Int = { _ in 0 }
  /// Logs rounds at debug, and problems at warning.
  public var logger: Logger?

  public init() {}
}

extension ReplicatorConfiguration {
  /// What the app decides about zones.
  var zoneRules: ZoneRules {
    var rules = ZoneRules()
    (rules.answer, rules.priority) = (zoneEndAnswer, zonePriority)
    return rules
  }
}
