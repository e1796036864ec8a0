/// The shared bytes of all tokens: a version, a kind that identifies the token, and a checksum.
///
/// | bytes | field |
/// |---|---|
/// | 1 | version |
/// | 1 | kind: 1 change token, 2 database token |
/// | | fields |
/// | 4 | CRC-32C of the bytes before, little-endian |
enum TokenKind: UInt8 {
  case change = 1
  case database = 2

  /// Returns a writer that has written the token up to its fields.
  func begin(version: UInt8 = 1) -> ByteWriter {
    var writer = ByteWriter()
    writer.append(version)
    writer.append(rawValue)
    return writer
  }

  /// Returns a reader of the fields of the token of this kind that fills `bytes`. It stands after version and
  /// kind; the version is 1 to `versionMax`, and is the first of `bytes`.
  @_lifetime(copy bytes)
  func open(_ bytes: RawSpan, versionMax: UInt8 = 1) throws(FormatError) -> ByteReader {
    var whole = ByteReader(bytes)
    _ = try whole.readBytes(2 + Framing.checksumBytes, "token")
    var reader = ByteReader(try Framing.checkedContent(of: bytes, "token"))
    let version = try reader.readUInt8("token.version")
    guard 1...versionMax ~= version else {
      throw reader.fail(
        version > versionMax ? .newerFormat : .invalid, at: 0, "token.version",
        expected: "version \(versionMax)", found: "\(version)")
    }
    let kind = try reader.readUInt8("token.kind")
    guard kind == rawValue else {
      throw reader.fail(
        Self(rawValue: kind) == nil ? .newerFormat : .invalid, at: 1, "token.kind",
        expected: "\(rawValue), a \(self) token", found: "\(kind)")
    }
    return reader
  }

  /// Reads offset and hash: both must be zero, or neither.
  static func readPlace(
    from reader: inout ByteReader
  ) throws(FormatError) -> (offset: UInt64, hash: ContentHash) {
    let offset = try reader.readVarint("token.offset")
    let start = reader.position
    let hash = try ContentHash.read(from: &reader, "token.hash")
    guard (offset == 0) == (hash == .zero) else {
      throw reader.fail(
        .invalid, at: start, "token.hash", expected: offset == 0 ? "none" : "a hash",
        found: offset == 0 ? "a hash" : "none")
    }
    return (offset, hash)
  }

  /// Appends what ``readPlace(from:)`` reads.
  static func append(
    offset: UInt64, hash: ContentHash, to writer: inout ByteWriter
  ) throws(FormatError) {
    guard (offset == 0) == (hash == .zero) else {
      throw FormatError(
        .invalid, at: 0, in: "token.hash", expected: offset == 0 ? "none" : "a hash",
        found: offset == 0 ? "a hash" : "none")
    }
    writer.append(varint: offset)
    hash.write(to: &writer)
  }
}
