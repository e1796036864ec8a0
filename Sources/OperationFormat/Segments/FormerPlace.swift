/// Where a segment was before, if it was offered again: in a part of its log that the log has lost, or in an earlier
/// incarnation of it. It says what its writer stated there, beside what the segment states in the log as it is now.
///
/// The header's base is then the last offset that the lost part and the log have in common, or less. A transaction that
/// names a greater one as its base has seen the log up to there: that is its limit.
public struct FormerPlace: Hashable, Sendable {
  public var incarnation: IncarnationID
  /// Its offset in that log, from 1; 0 if it is not said.
  public var offset: UInt64
  /// The base that it had there: the greatest that its transactions name; 0 for none.
  public var base: UInt64
  /// The hash of that log's chain at ``base``; ``ContentHash/zero`` without one, or if it is not said.
  public var baseChain: ContentHash
  /// The content hash of its replica's segment before it in that log; ``ContentHash/zero`` for the first, or if
  /// it is not said.
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

  /// The place of what a log has lost, and that is offered again to it.
  package static func lost(_ incarnation: IncarnationID, base: UInt64) -> FormerPlace {
    FormerPlace(incarnation: incarnation, offset: 0, base: base, baseChain: .zero, previousHash: .zero)
  }
}

extension SegmentHeader {
  /// Up to where its transactions have seen the log that name a greater base; nil if none does.
  package var limit: UInt64? {
    guard let former, former.incarnation == incarnation, base < former.base else { return nil }
    return base
  }
}
