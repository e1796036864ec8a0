/// How far a store has read a remote's list of zones. Apps treat it as opaque.
public struct DatabaseToken: Hashable, Sendable {
  /// The remote that has the list.
  public var remote: RemoteID
  /// The offset of the last event read; 0 before the first.
  public var offset: UInt64
  /// The hash of the event at ``offset``; ``ContentHash/zero`` if that is 0.
  public var hash: ContentHash

  public init(remote: RemoteID, offset: UInt64, hash: ContentHash) {
    self.remote = remote
    self.offset = offset
    self.hash = hash
  }

  /// The token before the first event of a remote.
  public static func start(of remote: RemoteID) -> DatabaseToken {
    DatabaseToken(remote: remote, offset: 0, hash: .zero)
  }
}

/// The bytes of a database token. Its text is the bytes as base64url without padding (RFC 4648, 5).
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | kind: 2 |
/// | 16 | remote, big-endian |
/// | 1–10 | offset: varint |
/// | 32 | hash of the event there; zeros exactly if the offset is 0 |
/// | 4 | CRC-32C of the bytes before, little-endian |
extension DatabaseToken {
  /// The most bytes of a token.
  static let bytesMax = 2 + 16 + 10 + 32 + 4

  /// Returns the token's bytes.
  ///
  /// - Throws: ``FormatError`` if exactly one of offset and hash is zero.
  public func encoded() throws(FormatError) -> [UInt8] {
    var writer = TokenKind.database.begin()
    writer.append(bigEndian: remote.rawValue)
    try TokenKind.append(offset: offset, hash: hash, to: &writer)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the token that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` for any other bytes: `damaged` if the checksum does not match, `newerFormat`
  ///   for a token of a later version.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = try TokenKind.database.open(bytes)
    let remote = try RemoteID.read(from: &reader, "token.remote")
    let place = try TokenKind.readPlace(from: &reader)
    try reader.finish("token")
    self.init(remote: remote, offset: place.offset, hash: place.hash)
  }

  /// Returns the token's text: letters, digits, `-` and `_`.
  ///
  /// - Throws: ``FormatError`` as ``encoded()`` does.
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
}
