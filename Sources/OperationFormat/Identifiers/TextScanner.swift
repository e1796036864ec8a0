/// Reads the text forms of identifiers, from start to end. Each method returns nil or false for any text but
/// the one allowed form.
struct TextScanner {
  private var rest: Substring.UTF8View

  init(_ text: some StringProtocol) { rest = Substring(text).utf8 }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard let first = rest.first, first == UInt8(ascii: scalar) else { return false }
    rest.removeFirst()
    return true
  }

  /// Reads a decimal number without sign or leading zeros.
  mutating func decimal(max: UInt64 = .max) -> UInt64? {
    var value: UInt64 = 0
    var digits = 0
    while let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte {
      guard digits == 0 || value != 0 else { return nil }
      let (product, tooGreat) = value.multipliedReportingOverflow(by: 10)
      let (sum, overflow) = product.addingReportingOverflow(UInt64(byte - UInt8(ascii: "0")))
      if tooGreat || overflow || sum > max { return nil }
      value = sum
      digits += 1
      rest.removeFirst()
    }
    return digits == 0 ? nil : value
  }

  /// Reads exactly `digits` hexadecimal digits, at most 32.
  mutating func hexadecimal(digits: Int, upperCaseToo: Bool = false) -> UInt128? {
    var value: UInt128 = 0
    for _ in 0..<digits {
      guard let byte = rest.popFirst(), let digit = hexDigitValue(byte, upperCaseToo: upperCaseToo) else {
        return nil
      }
      value = value << 4 | UInt128(digit)
    }
    return value
  }
}

/// The value of an ASCII hexadecimal digit.
func hexDigitValue(_ byte: UInt8, upperCaseToo: Bool) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F") where upperCaseToo: byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

/// Returns the lowest `digits` hexadecimal digits of `value`, in lower case, most significant first.
func hexadecimalText(_ value: UInt128, digits: Int = 32) -> String {
  String(unsafeUninitializedCapacity: digits) { buffer in
    var rest = value
    for index in stride(from: digits - 1, through: 0, by: -1) {
      let digit = UInt8(truncatingIfNeeded: rest & 0xf)
      buffer[index] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
      rest >>= 4
    }
    return digits
  }
}
