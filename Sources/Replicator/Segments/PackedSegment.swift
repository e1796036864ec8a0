public import OperationFormat

/// A segment to send: its header, and all its bytes.
public struct PackedSegment: Hashable, Sendable {
  public var header: SegmentHeader
  /// The whole segment: header, packed body and hash. ``header`` repeats what it begins with.
  public var bytes: [UInt8]
  /// When an entry was received that the log has lost, or that was given up, and whose transactions are offered again, in
  /// milliseconds since 1970; nil for all others. The new entry states this time, unless it would state an earlier one: what
  /// is offered again must not count as later.
  public var formerReceivedMilliseconds: UInt64?

  public init(header: SegmentHeader, bytes: [UInt8], formerReceivedMilliseconds: UInt64? = nil) {
    self.header = header
    self.bytes = bytes
    self.formerReceivedMilliseconds = formerReceivedMilliseconds
  }
}
