/// A place in a zone's remote log: up to where a store has folded it. Opaque to apps.
public struct ChangeToken: Hashable, Sendable {
  public var zone: ZoneID
  /// Which life of the zone's remote log.
  public var incarnation: IncarnationID
  /// The offset of the last segment that was folded; 0 before the first.
  public var offset: UInt64
  /// The content hash of the segment at ``offset``; ``ContentHash/zero`` where that is 0.
  public var hash: ContentHash

  public init(zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash) {
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
  }

  /// Before the first segment of an incarnation.
  public static func start(of zone: ZoneID, _ incarnation: IncarnationID) -> ChangeToken {
    ChangeToken(zone: zone, incarnation: incarnation, offset: 0, hash: .zero)
  }
}

extension ContentHash {
  /// Stands where there is nothing to take the hash of.
  public static let zero = ContentHash(bytes: [UInt8](repeating: 0, count: byteCount).span.bytes)!
}
