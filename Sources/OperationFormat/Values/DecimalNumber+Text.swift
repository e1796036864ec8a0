extension DecimalNumber {
  /// Parses a decimal: `-12.50`, `.5`, `1e-3`; nil for anything else, or if the number cannot be represented
  /// exactly.
  ///
  /// There must be a digit before or after the point, and one after an `e` or `E`. Signs may be `+` and `-`.
  public init?(_ text: String) {
    var parser = DecimalParser(text)
    guard let (coefficient, exponent) = parser.parse() else { return nil }
    self.init(coefficient: coefficient, exponent: exponent)
  }

  /// The number in plain digits, without an exponent: `-12.5`, `0.001`, `1000`.
  public var description: String {
    let digits = String(coefficient.magnitude)
    let sign = coefficient < 0 ? "-" : ""
    if exponent >= 0 { return sign + digits + String(repeating: "0", count: exponent) }
    let padded = String(repeating: "0", count: max(0, 1 - exponent - digits.count)) + digits
    return "\(sign)\(padded.dropLast(-exponent)).\(padded.suffix(-exponent))"
  }
}

/// Parses a decimal's text into an exponent and a coefficient without trailing zeros.
private struct DecimalParser {
  private var rest: Substring.UTF8View
  // Negative, since the least Int128 has no positive counterpart.
  private var negated: Int128 = 0
  private var exponent = 0
  private var pendingZeros = 0
  private var hasDigits = false

  init(_ text: String) { rest = Substring(text).utf8 }

  mutating func parse() -> (coefficient: Int128, exponent: Int)? {
    let isNegative = skip("-")
    if !isNegative { _ = skip("+") }
    guard readDigits(afterPoint: false) else { return nil }
    if skip("."), !readDigits(afterPoint: true) { return nil }
    guard hasDigits else { return nil }
    exponent += pendingZeros
    if skip("e") || skip("E") {
      guard let power = readPower() else { return nil }
      let (sum, overflow) = exponent.addingReportingOverflow(power)
      if overflow { return nil }
      exponent = sum
    }
    guard rest.isEmpty else { return nil }
    if isNegative { return (negated, exponent) }
    let (coefficient, overflow) = (0 as Int128).subtractingReportingOverflow(negated)
    return overflow ? nil : (coefficient, exponent)
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: scalar) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func readDigit() -> Int128? {
    guard let byte = rest.first, UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte else { return nil }
    rest.removeFirst()
    return Int128(byte - UInt8(ascii: "0"))
  }

  /// Reads digits into the coefficient; false if they do not fit. Zeros are added only when another digit
  /// follows.
  private mutating func readDigits(afterPoint: Bool) -> Bool {
    while let digit = readDigit() {
      hasDigits = true
      if afterPoint { exponent -= 1 }
      if digit == 0 {
        if negated != 0 { pendingZeros += 1 }
        continue
      }
      for _ in 0..<(pendingZeros + 1) {
        let (product, overflow) = negated.multipliedReportingOverflow(by: 10)
        if overflow { return false }
        negated = product
      }
      pendingZeros = 0
      let (difference, overflow) = negated.subtractingReportingOverflow(digit)
      if overflow { return false }
      negated = difference
    }
    return true
  }

  /// Reads a power of ten of at most 18 digits.
  private mutating func readPower() -> Int? {
    let isNegative = skip("-")
    if !isNegative { _ = skip("+") }
    var power: Int128 = 0
    var digits = 0
    while let digit = readDigit() {
      power = power * 10 + digit
      digits += 1
      if digits > 18 { return nil }
    }
    return digits == 0 ? nil : Int(isNegative ? -power : power)
  }
}
