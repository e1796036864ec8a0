/// How far a store has folded a zone's remote log. Apps treat it as opaque.
public struct ChangeToken: Hashable, Sendable {
  public var zone: ZoneID
  /// The incarnation of the zone's remote log.
  public var incarnation: IncarnationID
  /// The offset of the last folded segment; 0 before the first.
  public var offset: UInt64
  /// The content hash of the segment at ``offset``; ``ContentHash/zero`` if that is 0.
  public var hash: ContentHash
  /// The log's chain at ``offset``; nil if it is not known, as in a token of an earlier version. Then a remote
  /// compares the hash only.
  public var chain: LogChain?

  public init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash, chain: LogChain? = nil
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.chain = offset == 0 ? .start(of: incarnation) : chain
  }

  /// The token before the first segment of an incarnation.
  public static func start(of zone: ZoneID, _ incarnation: IncarnationID) -> ChangeToken {
    ChangeToken(zone: zone, incarnation: incarnation, offset: 0, hash: .zero)
  }
}

/// The bytes of a change token. Its text is the bytes as base64url without padding (RFC 4648, 5).
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 2; 1 for a token whose chain is not known |
/// | 1 | kind: 1 |
/// | 1–130 | zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 16 | incarnation, big-endian |
/// | 1–10 | offset: varint |
/// | 32 | content hash of the segment there; zeros exactly if the offset is 0 |
/// | 32 | with version 2 and an offset from 1: the log's chain there |
/// | 4 | CRC-32C of the bytes before, little-endian |
extension ChangeToken {
  private static let version: UInt8 = 2
  /// The most bytes of a token.
  static let bytesMax = 2 + 130 + 130 + 16 + 10 + 2 * ContentHash.byteCount + 4

  /// Returns the token's bytes.
  ///
  /// - Throws: ``FormatError`` if the zone's name is empty or too long, or if exactly one of offset and hash
  ///   is zero.
  public func encoded() throws(FormatError) -> [UInt8] {
    try zone.check("token.zone")
    var writer = TokenKind.change.begin(version: chain == nil ? 1 : Self.version)
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    try TokenKind.append(offset: offset, hash: hash, to: &writer)
    if offset > 0 { chain?.hash.write(to: &writer) }
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the token that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` for any other bytes: `damaged` if the checksum does not match, `newerFormat`
  ///   for a token of a later version.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = try TokenKind.change.open(bytes, versionMax: Self.version)
    let version = bytes.unsafeLoad(as: UInt8.self)
    let zone = try ZoneID.read(from: &reader, owner: "token.zone.owner", name: "token.zone.name")
    let incarnation = try IncarnationID.read(from: &reader, "token.incarnation")
    let place = try TokenKind.readPlace(from: &reader)
    let chain: LogChain? =
      version == 1 || place.offset == 0
      ? nil : LogChain(hash: try ContentHash.read(from: &reader, "token.chain"))
    try reader.finish("token")
    self.init(zone: zone, incarnation: incarnation, offset: place.offset, hash: place.hash, chain: chain)
  }

  /// Returns the token's text: letters, digits, `-` and `_`.
  ///
  /// - Throws: ``FormatError`` if the zone's name is empty or too long, or if exactly one of offset and hash
  ///   is zero.
  public func encodedText() throws(FormatError) -> String {
    Base64URL.text(of: try encoded())
  }

  /// Decodes the text of a token.
  ///
  /// - Throws: ``FormatError`` for any other text, as ``init(decoding:)`` does.
  public init(text: String) throws(FormatError) {
    let bytes = try Base64URL.bytes(of: text, bytesMax: Self.bytesMax, "token")
    try self.init(decoding: bytes.span.bytes)
  }

  /// Throws ``FormatError`` `invalid` if the token belongs to another zone.
  public func check(isOf zone: ZoneID) throws(FormatError) {
    try zone.checkIsSame(self.zone, at: 0, "token.zone")
  }
}
