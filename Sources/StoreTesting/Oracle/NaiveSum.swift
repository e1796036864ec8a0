import OperationFormat

/// The sum of two addends of a counter, as the oracle finds it: exact, or nothing.
enum NaiveSum {
  /// Nil if the sum does not fit into a value.
  static func sum(_ a: Value, _ b: Value) -> Value? {
    if case .int(let a) = a, case .int(let b) = b {
      let (sum, overflow) = a.addingReportingOverflow(b)
      return overflow ? nil : .int(sum)
    }
    guard let a = decimal(a), let b = decimal(b) else { return nil }
    let exponent = min(a.exponent, b.exponent)
    guard let left = aligned(a, to: exponent), let right = aligned(b, to: exponent) else { return nil }
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? nil : DecimalNumber(coefficient: sum, exponent: exponent).map { .decimal($0) }
  }

  private static func decimal(_ value: Value) -> DecimalNumber? {
    switch value {
    case .int(let number): DecimalNumber(coefficient: Int128(number), exponent: 0)
    case .decimal(let number): number
    default: nil
    }
  }

  private static func aligned(_ number: DecimalNumber, to exponent: Int) -> Int128? {
    var coefficient = number.coefficient
    for _ in exponent..<number.exponent {
      let (longer, overflow) = coefficient.multipliedReportingOverflow(by: 10)
      if overflow { return nil }
      coefficient = longer
    }
    return coefficient
  }
}
