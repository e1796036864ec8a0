/// A UUID (RFC 9562) as a value: 128 bits. Text form: groups of 8, 4, 4, 4 and 12 lower-case hexadecimal
/// digits with dashes between them.
public struct UniqueID: RawRepresentable, Hashable, Comparable, Sendable, LosslessStringConvertible,
  Identifier128
{
  @usableFromInline var bits: Bits128

  /// The 128 bits, which are encoded big-endian.
  @inlinable public var rawValue: UInt128 {
    get { bits.value }
    set { bits = Bits128(newValue) }
  }

  /// Creates an identifier from its 128 bits.
  @inlinable public init(rawValue: UInt128) { bits = Bits128(rawValue) }

  /// Parses the dashed form in lower or upper case; nil for anything else.
  public init?(_ text: String) {
    var scanner = TextScanner(text)
    var value: UInt128 = 0
    for (index, digits) in Self.groups.enumerated() {
      if index > 0 && !scanner.skip("-") { return nil }
      guard let group = scanner.hexadecimal(digits: digits, upperCaseToo: true) else { return nil }
      value = value << UInt128(4 * digits) | group
    }
    guard scanner.isAtEnd else { return nil }
    self.init(rawValue: value)
  }

  /// The dashed form in lower case.
  public var description: String {
    var digitsAfter = 32
    return Self.groups.map { digits in
      digitsAfter -= digits
      return hexadecimalText(rawValue >> UInt128(4 * digitsAfter), digits: digits)
    }
    .joined(separator: "-")
  }

  private static let groups = [8, 4, 4, 4, 12]
}
