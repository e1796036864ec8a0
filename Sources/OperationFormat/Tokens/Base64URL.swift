/// The text form of bytes in tokens: base64url without padding (RFC 4648, 5).
///
/// It is strict, so that each byte string has exactly one text: no padding, no white space, and the unused
/// bits of the last digit are 0.
enum Base64URL {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  static func text(of bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count * 4 + 2) / 3)
    var bits: UInt32 = 0
    var bitCount: UInt32 = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 6 {
        bitCount -= 6
        text.append(digits[Int(bits >> bitCount & 63)])
      }
    }
    if bitCount > 0 { text.append(digits[Int(bits << (6 - bitCount) & 63)]) }
    return String(decoding: text, as: UTF8.self)
  }

  /// Decodes a text.
  ///
  /// - Throws: ``FormatError``; its offset counts characters, which are bytes here.
  static func bytes(
    of text: String, bytesMax: Int, _ subject: StaticString
  ) throws(FormatError) -> [UInt8] {
    func fail(_ code: FormatError.Code, _ offset: Int, _ expected: String, _ found: String) -> FormatError {
      FormatError(code, at: offset, in: "\(subject)", expected: expected, found: found)
    }
    let digitsMax = (bytesMax * 4 + 2) / 3
    guard text.utf8.count <= digitsMax else {
      throw fail(.limitExceeded, 0, "at most \(digitsMax) characters", "\(text.utf8.count)")
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count * 3 / 4)
    var bits: UInt32 = 0
    var bitCount: UInt32 = 0
    for (offset, character) in text.utf8.enumerated() {
      guard let digit = value(of: character) else {
        throw fail(.invalid, offset, "a digit of base64url", "another character")
      }
      bits = bits << 6 | UInt32(digit)
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
      }
    }
    guard bitCount < 6 else {
      throw fail(.truncated, text.utf8.count, "another character", "the end")
    }
    guard bits & (1 << bitCount - 1) == 0 else {
      throw fail(.nonCanonical, text.utf8.count - 1, "a last character without spare bits", "another")
    }
    return bytes
  }

  private static func value(of character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}
