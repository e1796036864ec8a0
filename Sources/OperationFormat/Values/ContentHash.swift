/// The SHA-256 of some content: 32 bytes. Text form: 64 lower-case hexadecimal digits.
public struct ContentHash: Hashable, Sendable, LosslessStringConvertible {
  /// The size of a hash in bytes.
  public static let byteCount = 32

  /// Used where there is no content to hash.
  public static let zero = ContentHash(bytes: [UInt8](repeating: 0, count: byteCount).span.bytes)!

  // The bytes 0..<16 and 16..<32, big-endian.
  private let high: Bits128
  private let low: Bits128

  /// Computes the hash of `bytes`.
  ///
  /// - Complexity: O(n)
  public init(of bytes: RawSpan) {
    var hasher = ContentHasher()
    hasher.update(bytes)
    self = hasher.finish()
  }

  /// Creates a hash from its 32 bytes; nil for any other count.
  public init?(bytes: RawSpan) {
    guard bytes.byteCount == Self.byteCount else { return nil }
    high = Bits128(UInt128(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt128.self)))
    low = Bits128(UInt128(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 16, as: UInt128.self)))
  }

  /// Parses 64 lower-case hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    guard let high = scanner.hexadecimal(digits: 32), let low = scanner.hexadecimal(digits: 32),
      scanner.isAtEnd
    else { return nil }
    self.high = Bits128(high)
    self.low = Bits128(low)
  }

  /// The 32 bytes.
  public var bytes: [UInt8] {
    var writer = ByteWriter()
    write(to: &writer)
    return writer.bytes
  }

  /// 64 lower-case hexadecimal digits.
  public var description: String { hexadecimalText(high.value) + hexadecimalText(low.value) }

  package func write(to writer: inout ByteWriter) {
    writer.append(bigEndian: high.value)
    writer.append(bigEndian: low.value)
  }

  package static func read(
    from reader: inout ByteReader, _ subject: StaticString
  ) throws(FormatError) -> ContentHash {
    let range = try reader.readBytes(byteCount, subject)
    return ContentHash(bytes: reader.bytes(in: range))!
  }
}
