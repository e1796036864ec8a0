/// What the frames have in common: four bytes of magic in front, and a CRC-32C over all before it at the end.
///
/// The checksum is looked at before version, flags and fields, so a flipped bit is damage, and never a later version
/// or a writer's fault.
enum Framing {
  static let magicBytes = 4
  static let checksumBytes = 4

  /// Returns the bytes before the checksum at the end of `bytes`, which must fit them.
  @_lifetime(copy bytes)
  static func checkedContent(
    of bytes: RawSpan, origin: Int = 0, _ subject: StaticString
  ) throws(FormatError) -> RawSpan {
    guard bytes.byteCount >= checksumBytes else {
      throw FormatError(
        .truncated, at: origin + bytes.byteCount, in: "\(subject)", expected: "a checksum of 4 bytes",
        found: "\(bytes.byteCount)")
    }
    let end = bytes.byteCount - checksumBytes
    let content = bytes.extracting(0..<end)
    let stored = UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self))
    guard stored == crc32c(content) else {
      throw FormatError(
        .damaged, at: origin + end, in: "\(subject)", expected: "the checksum of the bytes before it",
        found: "another")
    }
    return content
  }

  /// Returns a reader of a frame that takes all of `bytes`, after its magic, version and flags; it ends before the
  /// checksum.
  @_lifetime(copy bytes)
  static func open(
    _ bytes: RawSpan, _ kind: FrameKind, version: UInt8, _ subject: StaticString
  ) throws(FormatError) -> ByteReader {
    var prefix = ByteReader(bytes)
    try prefix.readMagic(kind, subject)
    // Version, flags and checksum: four bytes are not magic and checksum at once.
    _ = try prefix.readBytes(2 + checksumBytes, subject)
    var reader = ByteReader(try checkedContent(of: bytes, subject), at: magicBytes)
    _ = try reader.readVersionAndFlags(subject, version: version, flagsMask: 0)
    return reader
  }
}

extension ByteReader {
  /// Reads the four bytes that tell one kind of frame from another.
  mutating func readMagic(_ kind: FrameKind, _ subject: StaticString) throws(FormatError) {
    let range = try readBytes(Framing.magicBytes, subject)
    let isSame = kind.magic.withUTF8Buffer { equalBytes($0.span.bytes, bytes(in: range)) }
    guard isSame else {
      throw fail(
        .invalid, at: range.lowerBound, subject, expected: "the bytes \(kind.magic)", found: "others")
    }
  }

  /// Reads a place in a log: 8 bytes, from 1.
  mutating func readOffset(_ subject: StaticString) throws(FormatError) -> UInt64 {
    let start = position
    let offset = try readLittleEndian(subject, as: UInt64.self)
    guard offset > 0 else { throw fail(.invalid, at: start, subject, expected: "1 or more", found: "0") }
    return offset
  }
}

extension ByteWriter {
  mutating func append(magic: StaticString) {
    precondition(magic.utf8CodeUnitCount == Framing.magicBytes, "a magic of four bytes")
    magic.withUTF8Buffer { append($0.span.bytes) }
  }

  /// Appends the checksum of the bytes from `start` on.
  mutating func appendChecksum(from start: Int = 0) {
    let checksum = crc32c(span.extracting(start..<count))
    append(littleEndian: checksum)
  }
}
