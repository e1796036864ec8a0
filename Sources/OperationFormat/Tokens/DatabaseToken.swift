/// A place in a remote's list of zones: up to where a store has read it. Opaque to apps.
public struct DatabaseToken: Hashable, Sendable {
  /// Whose list it is.
  public var remote: RemoteID
  /// The offset of the last event that was read; 0 before the first.
  public var offset: UInt64
  /// The hash of the event at ``offset``; ``ContentHash/zero`` where that is 0.
  public var hash: ContentHash

  public init(remote: RemoteID, offset: UInt64, hash: ContentHash) {
    self.remote = remote
    self.offset = offset
    self.hash = hash
  }

  /// Before the first event of a remote.
  public static func start(of remote: RemoteID) -> DatabaseToken {
    DatabaseToken(remote: remote, offset: 0, hash: .zero)
  }
}

/// A database token in bytes; as text, they are base64url without padding (RFC 4648, 5).
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | kind: 2 |
/// | 16 | remote, big-endian |
/// | 1–10 | offset: varint |
/// | 32 | hash of the event there; zeros at offset 0 and only there |
/// | 4 | CRC-32C of the bytes before, little-endian |
extension DatabaseToken {
  /// The most bytes of a token.
  package static let bytesMax = 2 + 16 + 10 + 32 + 4

  /// Returns the token's bytes.
  ///
  /// - Throws: ``FormatError`` for a hash where there is nothing, or none where there is something.
  public func encoded() throws(FormatError) -> [UInt8] {
    var writer = TokenKind.database.begin()
    writer.append(bigEndian: remote.rawValue)
    try TokenKind.append(offset: offset, hash: hash, to: &writer)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Reads a token that takes all of `bytes`.
  ///
  /// - Throws: ``FormatError`` for anything else: `damaged` if the checksum does not fit, `newerFormat` for a token
  ///   of a later version.
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

  /// Reads the text of a token.
  ///
  /// - Throws: ``FormatError`` for any text that is not a token's, as ``init(decoding:)`` does.
  public init(text: String) throws(FormatError) {
    let bytes = try Base64URL.bytes(of: text, bytesMax: Self.bytesMax, "token")
    try self.init(decoding: bytes.span.bytes)
  }
}
