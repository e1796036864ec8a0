extension DecimalNumber {
  /// The next whole number towards 0, or the nearest that has 128 bits.
  package var wholePart: Int128 {
    guard exponent > 0 else { return coefficient / Self.power(-exponent) }
    let (product, isOver) = coefficient.multipliedReportingOverflow(by: Self.power(exponent))
    if isOver { return coefficient < 0 ? .min : .max }
    return product
  }

  /// The greatest whole number that is not greater, or the nearest that has 128 bits.
  package var roundedDown: Int128 {
    let hasFraction = exponent < 0 && coefficient % Self.power(-exponent) != 0
    return hasFraction && coefficient < 0 ? wholePart - 1 : wholePart
  }

  /// A power of ten; 10³⁸ is the greatest that an exponent may need.
  private static func power(_ exponent: Int) -> Int128 { (0..<exponent).reduce(1) { power, _ in power * 10 } }
}
