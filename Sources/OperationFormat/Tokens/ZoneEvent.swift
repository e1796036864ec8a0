/// An entry of a remote's list of zones, which is a log too.
public struct ZoneEvent: Hashable, Sendable {
  /// What happened to a zone. Readers skip the kinds of later versions.
  public struct Kind: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The zone exists from now on, under the event's incarnation.
    public static let created = Kind(rawValue: 1)
    /// A user deleted the zone: replicas delete their copies too.
    public static let deleted = Kind(rawValue: 2)
    /// The remote lost or discarded the zone: replicas keep their copies.
    public static let purged = Kind(rawValue: 3)
    /// The remote discarded all that it had of the zone, and asks replicas to send everything again.
    public static let reset = Kind(rawValue: 4)
    /// The account of the list may not read the zone any more: replicas delete their copies, unless they have
    /// unsent work. If it may read the zone again, an event ``created`` of the same incarnation follows.
    public static let revoked = Kind(rawValue: 5)
    /// The zone exists again: its log, which was deleted, purged or reset, continues. A store that has the zone keeps it, and
    /// others get it.
    public static let reopened = Kind(rawValue: 6)
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

/// The bytes of an event. They contain its offset in the list, and the hash of the event before it.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRZE` |
/// | 1 | version: 1 |
/// | 1 | flags: 0 |
/// | 8 | offset in the list, from 1, little-endian |
/// | 32 | SHA-256 of all bytes of the event before it; zeros for the first |
/// | 1 | kind, from 1 (``ZoneEvent/Kind``); those of later versions have the same fields |
/// | 1–130 | zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 16 | incarnation, big-endian |
/// | 4 | CRC-32C of the bytes before, little-endian |
extension ZoneEvent {
  /// The most bytes of an event.
  package static let bytesMax = 4 + 2 + 8 + 32 + 1 + 130 + 130 + 16 + 4

  /// Returns the event's bytes for an offset of the list.
  ///
  /// - Parameters:
  ///   - offset: its offset, from 1.
  ///   - previous: the hash of the event before it; ``ContentHash/zero`` for the first.
  /// - Throws: ``FormatError`` if the zone's name is empty or too long, or the kind is 0.
  package func encode(at offset: UInt64, after previous: ContentHash) throws(FormatError) -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    precondition((offset == 1) == (previous == .zero), "only the first event has none before it")
    try zone.check("zoneEvent.zone")
    guard kind.rawValue > 0 else {
      throw FormatError(.invalid, at: 0, in: "zoneEvent.kind", expected: "1 or more", found: "0")
    }
    var writer = ByteWriter()
    writer.append(magic: FrameKind.zoneEvent.magic)
    writer.append(Self.version)
    writer.append(0)
    writer.append(littleEndian: offset)
    previous.write(to: &writer)
    writer.append(kind.rawValue)
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the event that fills `bytes`.
  ///
  /// - Returns: the event, its offset, the hash of the event before it, and its own hash, which the next
  ///   event contains.
  /// - Throws: ``FormatError`` for any other bytes; `damaged` if the checksum does not match.
  package static func read(
    _ bytes: RawSpan
  ) throws(FormatError) -> (
    event: ZoneEvent, offset: UInt64, previous: ContentHash, hash: ContentHash
  ) {
    var reader = try Framing.open(bytes, .zoneEvent, versions: version...version, "zoneEvent")
    let offset = try reader.readOffset("zoneEvent.offset")
    let previousStart = reader.position
    let previous = try ContentHash.read(from: &reader, "zoneEvent.previous")
    guard (offset == 1) == (previous == .zero) else {
      throw reader.fail(
        .invalid, at: previousStart, "zoneEvent.previous",
        expected: offset == 1 ? "none" : "a hash", found: offset == 1 ? "a hash" : "none")
    }
    let kindStart = reader.position
    let kind = Kind(rawValue: try reader.readUInt8("zoneEvent.kind"))
    guard kind.rawValue > 0 else {
      throw reader.fail(.invalid, at: kindStart, "zoneEvent.kind", expected: "1 or more", found: "0")
    }
    let zone = try ZoneID.read(from: &reader, owner: "zoneEvent.zone.owner", name: "zoneEvent.zone.name")
    let incarnation = try IncarnationID.read(from: &reader, "zoneEvent.incarnation")
    try reader.finish("zoneEvent")
    let event = ZoneEvent(kind: kind, zone: zone, incarnation: incarnation)
    return (event, offset, previous, ContentHash(of: bytes))
  }

  private static let version: UInt8 = 1
}
