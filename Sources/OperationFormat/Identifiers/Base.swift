/// What a replica had seen of a zone when it made a transaction: everything up to this offset of a remote
/// log.
public struct Base: Hashable, Sendable {
  /// The incarnation that has the offset.
  public var incarnation: IncarnationID
  /// The offset of the last folded segment, from 1.
  public var offset: UInt64

  /// Creates a base. `offset` counts from 1; the encoder checks that.
  public init(incarnation: IncarnationID, offset: UInt64) {
    self.incarnation = incarnation
    self.offset = offset
  }
}
