public import EventStore

/// The outcome of an append.
public enum AppendOutcome: Hashable, Sendable {
  /// The segment was appended.
  case appended(SegmentPlace)
  /// The log had it already, whole: same replica, epoch, sequences and content hash.
  case alreadyThere(SegmentPlace)
  /// The log has other content under the same replica, epoch and sequences.
  case fork(SegmentPlace)
  /// The log has a segment of the same replica and epoch with some of the same sequences, and not exactly
  /// these: an earlier cut. Nothing was appended. The remote compares no content: the writer reads the log up
  /// to that place, and compares.
  case overlaps(SegmentPlace)
  /// The zone's log is closed; nothing was appended.
  case gone(ZoneFate)
}

/// Where a segment is in its zone's log.
public struct SegmentPlace: Hashable, Sendable {
  public var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote keeps no such times.
  public var receivedMilliseconds: UInt64?
  /// The log's chain there; nil if the remote does not know it.
  public var chain: LogChain?

  public init(offset: UInt64, receivedMilliseconds: UInt64? = nil, chain: LogChain? = nil) {
    self.offset = offset
    self.receivedMilliseconds = receivedMilliseconds
    self.chain = chain
  }
}
