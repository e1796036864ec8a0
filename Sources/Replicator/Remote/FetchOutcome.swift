/// What a fetch found in a zone's log after a token.
public enum FetchOutcome: Hashable, Sendable {
  /// Segments of consecutive offsets, the first right after the token; none if there is nothing new.
  case segments([StoredSegment], hasMore: Bool)
  /// The zone's log is closed, and everything before its end was read; of a deleted zone, everything before
  /// the first segment that cannot be read.
  case gone(ZoneFate)
}

/// A segment with its offset in a remote log.
public struct StoredSegment: Hashable, Sendable {
  public var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970, by the remote's own clock; nil if the
  /// remote has no clock.
  public var receivedMilliseconds: UInt64?
  /// The log's chain there, as the remote states it; nil if it states none. A store computes the chain from
  /// what it reads, and folds nothing that does not continue the log.
  public var chain: LogChain?
  public var bytes: [UInt8]

  public init(offset: UInt64, receivedMilliseconds: UInt64?, chain: LogChain? = nil, bytes: [UInt8]) {
    self.offset = offset
    self.receivedMilliseconds = receivedMilliseconds
    self.chain = chain
    self.bytes = bytes
  }
}
