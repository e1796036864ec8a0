/// Texts of hexadecimal digits, which a run writes as bytes.
enum Hexadecimal {
  /// Where the digits are in the text form of a UUID.
  static let groupsOfUUID = [0..<8, 9..<13, 14..<18, 19..<23, 24..<36]
  static let uuidTextBytes = 36
  /// The shortest text that is written as digits. A shorter one may be so by chance, like "added".
  private static let digitsMin = 16

  /// Whether the digits of a UUID in its text form are in upper case; nil for any other text.
  static func caseOfUUID(_ text: RawSpan) -> Bool? {
    guard text.byteCount == uuidTextBytes else { return nil }
    for offset in [8, 13, 18, 23] where byte(text, offset) != UInt8(ascii: "-") { return nil }
    if groupsOfUUID.allSatisfy({ areDigits(text.extracting($0), isUpperCase: false) }) { return false }
    if groupsOfUUID.allSatisfy({ areDigits(text.extracting($0), isUpperCase: true) }) { return true }
    return nil
  }

  /// Whether a text is an even number of digits in lower case.
  static func isWorthIt(_ text: RawSpan) -> Bool {
    text.byteCount >= digitsMin && text.byteCount & 1 == 0 && areDigits(text, isUpperCase: false)
  }

  /// The byte of the two digits at an offset.
  static func byte(of digits: RawSpan, at offset: Int) -> UInt8 {
    value(byte(digits, offset)) << 4 | value(byte(digits, offset + 1))
  }

  /// Appends the two digits of a byte.
  static func append(_ byte: UInt8, isUpperCase: Bool, to writer: inout ByteWriter) {
    writer.append(digit(byte >> 4, isUpperCase))
    writer.append(digit(byte & 15, isUpperCase))
  }

  private static func areDigits(_ text: RawSpan, isUpperCase: Bool) -> Bool {
    let first: UInt8 = isUpperCase ? UInt8(ascii: "A") : UInt8(ascii: "a")
    for offset in 0..<text.byteCount {
      let unit = byte(text, offset)
      guard unit &- UInt8(ascii: "0") < 10 || unit &- first < 6 else { return false }
    }
    return true
  }

  @inline(__always)
  private static func byte(_ text: RawSpan, _ offset: Int) -> UInt8 {
    text.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always)
  private static func value(_ digit: UInt8) -> UInt8 { (digit & 15) &+ (digit >> 6) &* 9 }

  @inline(__always)
  private static func digit(_ value: UInt8, _ isUpperCase: Bool) -> UInt8 {
    value < 10
      ? value &+ UInt8(ascii: "0") : value &+ (isUpperCase ? UInt8(ascii: "A") : UInt8(ascii: "a")) &- 10
  }
}

/// How many bytes two byte strings share from their start.
package func sharedPrefix(_ a: RawSpan, _ b: RawSpan) -> Int {
  let end = min(a.byteCount, b.byteCount)
  var count = 0
  while count < end,
    a.unsafeLoad(fromByteOffset: count, as: UInt8.self) == b.unsafeLoad(fromByteOffset: count, as: UInt8.self)
  {
    count &+= 1
  }
  return count
}
