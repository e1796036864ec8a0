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

/// A change token in bytes; as text, they are base64url without padding (RFC 4648, 5).
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | kind: 1 |
/// | 1–130 | zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 16 | incarnation, big-endian |
/// | 1–10 | offset: varint |
/// | 32 | content hash of the segment there; zeros at offset 0 and only there |
/// | 4 | CRC-32C of the bytes before, little-endian |
extension ChangeToken {
  /// The most bytes of a token.
  package static let bytesMax = 2 + 130 + 130 + 16 + 10 + 32 + 4

  /// Returns the token's bytes.
  ///
  /// - Throws: ``FormatError`` for a zone's name that is empty or too long, or a hash where there is nothing, or none where
  ///   there is something.
  public func encoded() throws(FormatError) -> [UInt8] {
    try zone.check("token.zone")
    var writer = TokenKind.change.begin()
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    try TokenKind.append(offset: offset, hash: hash, to: &writer)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Reads a token that takes all of `bytes`.
  ///
  /// - Throws: ``FormatError`` for anything else: `damaged` if the checksum does not fit, `newerFormat` for a token
  ///   of a later version.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = try TokenKind.change.open(bytes)
    let zone = try ZoneID.read(from: &reader, owner: "token.zone.owner", name: "token.zone.name")
    let incarnation = try IncarnationID.read(from: &reader, "token.incarnation")
    let place = try TokenKind.readPlace(from: &reader)
    try reader.finish("token")
    self.init(zone: zone, incarnation: incarnation, offset: place.offset, hash: place.hash)
  }

  /// Returns the token's text: letters, digits, `-` and `_`.
  ///
  /// - Throws: ``FormatError`` for a zone's name that is empty or too long, or a hash where there is nothing, or none where
  ///   there is something.
  public func encodedText() throws(FormatError) -> String {
    Base64URL.text(of: try encoded())
  }

  /// Reads the text of a token.
  ///
  /// - Throws: ``FormatError`` for any text that is not a token's, as ``init(decoding:)`` does.
  public init(text: String) throws(FormatError) {
    let bytes = try Base64URL.bytes(of: text, bytesMax: Self.bytesMax, "token")
    try self.init(decoding: bytes.span.bytes)
  }

  /// Throws ``FormatError`` `invalid` if the token is another zone's.
  public func check(isOf zone: ZoneID) throws(FormatError) {
    try zone.checkIsSame(self.zone, at: 0, "token.zone")
  }
}
