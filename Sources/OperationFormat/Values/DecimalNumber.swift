/// An exact decimal number: coefficient × 10^exponent, with an exponent from −38 to 38.
///
/// Each number has exactly one form: the coefficient has no trailing zero unless the exponent is 38, and zero
/// has the exponent 0.
public struct DecimalNumber: Hashable, Comparable, Sendable, LosslessStringConvertible {
  private let bits: Bits128
  /// The digits, as an integer.
  public var coefficient: Int128 { Int128(bitPattern: bits.value) }
  /// The power of ten, −38 to 38.
  public let exponent: Int

  /// Creates the number coefficient × 10^exponent, in its one form; nil if it cannot be represented exactly.
  public init?(coefficient: Int128, exponent: Int) {
    var digits = coefficient
    var power = exponent
    if digits == 0 { power = 0 }
    while digits != 0 && power < Limits.decimalExponents.upperBound {
      let (shorter, rest) = digits.quotientAndRemainder(dividingBy: 10)
      guard rest == 0 else { break }
      digits = shorter
      power += 1
    }
    while power > Limits.decimalExponents.upperBound {
      let (longer, overflow) = digits.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      digits = longer
      power -= 1
    }
    guard Limits.decimalExponents.contains(power) else { return nil }
    bits = Bits128(UInt128(bitPattern: digits))
    self.exponent = power
  }

  /// Orders by the exact numbers.
  public static func < (a: DecimalNumber, b: DecimalNumber) -> Bool {
    if a.coefficient.signum() != b.coefficient.signum() { return a.coefficient < b.coefficient }
    let isLess = a.hasSmallerMagnitude(than: b)
    return a.coefficient < 0 ? b.hasSmallerMagnitude(than: a) : isLess
  }

  /// Compares the magnitudes of two numbers with the same sign; both may be zero.
  private func hasSmallerMagnitude(than other: DecimalNumber) -> Bool {
    // Aligning the exponents makes the coefficient of the greater exponent grow. If it then does not fit into
    // 128 bits, it is greater than any coefficient that does.
    var mine = coefficient.magnitude
    var others = other.coefficient.magnitude
    var difference = exponent - other.exponent
    while difference > 0 {
      let (product, overflow) = mine.multipliedReportingOverflow(by: 10)
      if overflow { return false }
      mine = product
      difference -= 1
    }
    while difference < 0 {
      let (product, overflow) = others.multipliedReportingOverflow(by: 10)
      if overflow { return true }
      others = product
      difference += 1
    }
    return mine < others
  }
}
