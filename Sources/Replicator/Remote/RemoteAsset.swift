public import EventStore

/// An asset of one incarnation of a zone at a remote.
public struct RemoteAsset: Hashable, Sendable, CustomStringConvertible {
  public let zone: ZoneID
  public let incarnation: IncarnationID
  public let reference: AssetReference

  public init(_ reference: AssetReference, of zone: ZoneID, _ incarnation: IncarnationID) {
    self.zone = zone
    self.incarnation = incarnation
    self.reference = reference
  }

  public var description: String { "asset \(reference.hash) of zone “\(zone)”" }
}

/// How much of an asset a remote has.
public enum RemoteAssetState: Hashable, Sendable {
  /// The number of chunks that the remote has, from the first; 0 for none. The asset is not whole.
  case partial(chunks: UInt64)
  /// All of it.
  case whole(AssetManifest)
  /// The zone's log is closed.
  case gone(ZoneFate)
}
