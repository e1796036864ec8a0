/// What a replica had seen of a zone when it made a transaction: everything up to an offset of a remote log.
public struct Base: Hashable, Sendable {
  /// The life of the remote log that the offset counts in.
  public var incarnation: IncarnationID
  /// The last segment folded, from 1.
  public var offset: UInt64

  /// Creates a base; `offset` counts from 1, which is checked where it is encoded.
  public init(incarnation: IncarnationID, offset: UInt64) {
    self.incarnation = incarnation
    self.offset = offset
  }
}
