/// Where a segment was in an earlier incarnation of its log, if it was offered again to a new one: what its
/// writer stated there, beside what the segment states in the new log.
public struct FormerPlace: Hashable, Sendable {
  public var incarnation: IncarnationID
  /// Its offset in that log, from 1.
  public var offset: UInt64
  /// The base that it had there; 0 for none.
  public var base: UInt64
  /// The hash of that log's chain at ``base``; ``ContentHash/zero`` without one.
  public var baseChain: ContentHash
  /// The content hash of its replica's segment before it in that log; ``ContentHash/zero`` for the first.
  public var previousHash: ContentHash
  public var keyID: UInt32
  /// The device that had signed it; nil if none had. The signature follows the body.
  public var device: DeviceID?

  public init(
    incarnation: IncarnationID, offset: UInt64, base: UInt64, baseChain: ContentHash,
    previousHash: ContentHash, keyID: UInt32 = 0, device: DeviceID? = nil
  ) {
    self.incarnation = incarnation
    self.offset = offset
    self.base = base
    self.baseChain = baseChain
    self.previousHash = previousHash
    self.keyID = keyID
    self.device = device
  }
}
