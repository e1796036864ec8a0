import EventStore
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
  /// Logs rounds at debug, and problems at warning.
  public var logger: Logger?

  public init() {}
}
