import EventStore
public import Logging

/// What a replicator is made with besides its store and its remote.
public struct ReplicatorConfiguration: Sendable {
  /// When it goes to work.
  public var policy = SyncPolicy()
  /// A page of segments that is fetched at once ends before it exceeds this, in bytes; one segment is always taken.
  public var pageBytesMax = 8 << 20
  /// How often commits of other processes are looked for, in milliseconds.
  public var commitPollMilliseconds: Int64 = 500
  /// A source of random bits: for the incarnations of new zones, and for jitter.
  public var makeRandom: @Sendable () -> UInt64 = SystemEnvironment.makeRandom
  /// Waits so many milliseconds; throws where the task is cancelled.
  public var sleep: @Sendable (_ milliseconds: Int64) async throws -> Void = SystemTimer.sleep
  /// Called with how far each asset's transfer is, after each chunk of 4 MiB, from any thread: it must be quick.
  public var assetProgress: (@Sendable (AssetProgress) -> Void)?
  /// Where it tells what it does: rounds at debug, what needs someone's eye at warning.
  public var logger: Logger?

  public init() {}
}
