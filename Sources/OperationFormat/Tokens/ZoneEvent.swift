/// An entry of a remote's list of zones, which is a log of its own.
public struct ZoneEvent: Hashable, Sendable {
  /// What became of a zone. Kinds of later versions are passed over.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The zone is there from now on, under the event's incarnation.
    public static let created = Kind(rawValue: 1)
    /// A user deleted it: the copies go too.
    public static let deleted = Kind(rawValue: 2)
    /// The remote has lost it or thrown it away: the copies stay.
    public static let purged = Kind(rawValue: 3)
    /// It was re-created: the event names the new incarnation.
    public static let reset = Kind(rawValue: 4)
  }

  public var kind: Kind
  public var zone: ZoneID
  public var incarnation: IncarnationID

  public init(kind: Kind, zone: ZoneID, incarnation: IncarnationID) {
    self.kind = kind
    self.zone = zone
    self.incarnation = incarnation
  }
}
