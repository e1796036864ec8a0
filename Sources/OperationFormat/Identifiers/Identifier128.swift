/// The shared parts of the 128-bit identifiers: order, text form and bytes.
///
/// The bytes are big-endian, so that they sort as the identifiers do.
protocol Identifier128: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible
where RawValue == UInt128 {
  init(rawValue: UInt128)
}

extension Identifier128 {
  /// Orders by the bits as an unsigned number, as the bytes are ordered.
  public static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }

  /// 32 lower-case hexadecimal digits.
  public var description: String { hexadecimalText(rawValue) }

  /// Parses 32 lower-case hexadecimal digits; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    guard let value = scanner.hexadecimal(digits: 32), scanner.isAtEnd else { return nil }
    self.init(rawValue: value)
  }

  static func read(from reader: inout ByteReader, _ subject: StaticString) throws(FormatError) -> Self {
    Self(rawValue: try reader.readBigEndian(subject, as: UInt128.self))
  }
}
