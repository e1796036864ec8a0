import OperationFormat

extension RawSpan {
  /// A copy.
  package var bytes: [UInt8] { withUnsafeBytes { Array($0) } }

  /// Reads a big-endian number of a key.
  func bigEndian32(at offset: Int) throws(FormatError) -> UInt32 {
    guard byteCount >= offset + 4 else {
      throw FormatError(
        .truncated, at: byteCount, in: "key", expected: "4 bytes at \(offset)", found: "\(byteCount) bytes")
    }
    return UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
  }

  /// Reads a big-endian number of a key.
  func bigEndian64(at offset: Int) throws(FormatError) -> UInt64 {
    guard byteCount >= offset + 8 else {
      throw FormatError(
        .truncated, at: byteCount, in: "key", expected: "8 bytes at \(offset)", found: "\(byteCount) bytes")
    }
    return UInt64(bigEndian: unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  /// Whether the first bytes are those of a prefix.
  func hasPrefix(_ prefix: [UInt8]) -> Bool {
    guard byteCount >= prefix.count else { return false }
    for (offset, byte) in prefix.enumerated()
    where unsafeLoad(fromByteOffset: offset, as: UInt8.self) != byte {
      return false
    }
    return true
  }
}

extension ByteReader {
  /// Reads the version byte of a row; there is only version 1.
  @_lifetime(self: copy self)
  mutating func expectVersion(_ subject: StaticString) throws(FormatError) {
    _ = try readVersion(upTo: 1, subject)
  }

  /// Reads a version from 1 on.
  @_lifetime(self: copy self)
  mutating func readVersion(upTo last: UInt8, _ subject: StaticString) throws(FormatError) -> UInt8 {
    let start = position
    let version = try readUInt8(subject)
    guard 1...last ~= version else {
      throw fail(.newerFormat, at: start, subject, expected: "version \(last)", found: "\(version)")
    }
    return version
  }
}

extension Name {
  /// A name from its UTF-8.
  init(utf8 bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    self.init(reader.string(in: try reader.readBytes(reader.remaining, "name")))
  }
}
