public import OperationFormat

/// A segment to send: its header, and all its bytes.
public struct PackedSegment: Hashable, Sendable {
  public var header: SegmentHeader
  /// The whole segment: header, packed body and hash. ``header`` repeats what it begins with.
  public var bytes: [UInt8]

  public init(header: SegmentHeader, bytes: [UInt8]) {
    self.header = header
    self.bytes = bytes
  }
}
