/// The outcome of an append.
public enum AppendOutcome: Hashable, Sendable {
  /// The segment was appended.
  case appended(SegmentPlace)
  /// The log had it already, whole: same replica, epoch, sequences and content hash.
  case alreadyThere(SegmentPlace)
  /// The log has other content under the same replica and epoch and some of the same sequences.
  case fork(SegmentPlace)
  /// The zone's log is closed; nothing was appended.
  case gone(ZoneFate)
}

/// Where a segment is in its zone's log.
public struct SegmentPlace: Hashable, Sendable {
  public var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote keeps no such times.
  public var receivedMilliseconds: UInt64?

  public init(offset: UInt64, receivedMilliseconds: UInt64? = nil) {
    self.offset = offset
    self.receivedMilliseconds = receivedMilliseconds
  }
}
