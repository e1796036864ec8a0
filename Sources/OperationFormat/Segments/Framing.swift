/// The shared parts of all frames: four bytes of magic at the start, and at the end a CRC-32C over all bytes
/// before it.
///
/// A decoder checks the checksum before version, flags and fields. So a flipped bit is reported as damage,
/// not as a later version or a defect of the writer.
enum Framing {
  static let magicBytes = 4
  static let checksumBytes = 4

  /// Returns the bytes before the checksum at the end of `bytes`, after checking it.
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

  /// Returns a reader of the frame that fills `bytes`. It starts after magic, version and flags, and ends
  /// before the checksum.
  @_lifetime(copy bytes)
  static func open(
    _ bytes: RawSpan, _ kind: FrameKind, versions: ClosedRange<UInt8>, flagsMask: UInt8 = 0,
    _ subject: StaticString
  ) throws(FormatError) -> ByteReader {
    var prefix = ByteReader(bytes)
    try prefix.readMagic(kind, subject)
    // Ensures that magic and checksum are different bytes: a frame also has version and flags.
    _ = try prefix.readBytes(2 + checksumBytes, subject)
    var reader = ByteReader(try checkedContent(of: bytes, subject), at: magicBytes)
    _ = try reader.readVersionAndFlags(subject, versions: versions, flagsMask: flagsMask)
    return reader
  }
}

extension ByteReader {
  /// Reads the four bytes that identify a kind of frame.
  mutating func readMagic(_ kind: FrameKind, _ subject: StaticString) throws(FormatError) {
    let range = try readBytes(Framing.magicBytes, subject)
    let isSame = kind.magic.withUTF8Buffer { equalBytes($0.span.bytes, bytes(in: range)) }
    guard isSame else {
      throw fail(
        .invalid, at: range.lowerBound, subject, expected: "the bytes \(kind.magic)", found: "others")
    }
  }

  /// Reads an offset in a log: 8 bytes, from 1 to ``Limits/placeMax``.
  mutating func readOffset(_ subject: StaticString) throws(FormatError) -> UInt64 {
    let start = position
    let offset = try readLittleEndian(subject, as: UInt64.self)
    guard (1...Limits.placeMax).contains(offset) else {
      throw fail(.invalid, at: start, subject, expected: "1 to \(Limits.placeMax)", found: "\(offset)")
    }
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
