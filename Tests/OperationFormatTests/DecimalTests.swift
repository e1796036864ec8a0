import OperationFormat
import Testing

@Suite("Exact decimals")
struct DecimalTests {
  @Test("Every small coefficient and exponent has one form, and equal numbers have the same form")
  func forms() throws {
    for coefficient in -1200...1200 {
      for exponent in [-42, -39, -38, -37, -3, -1, 0, 1, 2, 35, 36, 37, 38, 39, 40, 75, 76, 77] {
        let number = DecimalNumber(coefficient: Int128(coefficient), exponent: exponent)
        // The oracle: divide as often as possible, and bring the exponent into its range.
        var (digits, power) = (coefficient, exponent)
        while digits != 0 && digits % 10 == 0 { (digits, power) = (digits / 10, power + 1) }
        if digits == 0 { power = 0 }
        // Up to 38 zeros fit after a small coefficient.
        let zeros = max(0, power - 38)
        var wide: Int128? = Int128(digits)
        for _ in 0..<zeros {
          let product = wide?.multipliedReportingOverflow(by: 10)
          wide = product?.overflow == false ? product?.partialValue : nil
        }
        guard let wide, power >= -38 else {
          #expect(number == nil)
          continue
        }
        #expect(number?.coefficient == wide && number?.exponent == power - zeros)
      }
    }
  }

  @Test("Extreme coefficients and exponents")
  func extremes() {
    #expect(DecimalNumber(coefficient: .max, exponent: 38)?.coefficient == .max)
    #expect(DecimalNumber(coefficient: .min, exponent: -38)?.coefficient == .min)
    #expect(DecimalNumber(coefficient: .max, exponent: 39) == nil)
    #expect(DecimalNumber(coefficient: 1, exponent: 76)?.exponent == 38)
    #expect(DecimalNumber(coefficient: 1, exponent: 77) == nil)
    #expect(DecimalNumber(coefficient: 1, exponent: .max) == nil)
    #expect(DecimalNumber(coefficient: 1, exponent: .min) == nil)
    #expect(DecimalNumber(coefficient: 0, exponent: .max)?.exponent == 0)
    #expect(DecimalNumber(coefficient: 0, exponent: .min)?.exponent == 0)
    #expect(DecimalNumber(coefficient: 100, exponent: -40) == DecimalNumber(coefficient: 1, exponent: -38))
    #expect(DecimalNumber(coefficient: 10, exponent: -40) == nil)
  }

  @Test(
    "Texts and their numbers",
    arguments: [
      ("12.50", 125, -1, "12.5"), ("1e-3", 1, -3, "0.001"), ("-0", 0, 0, "0"), ("+7", 7, 0, "7"),
      (".5", 5, -1, "0.5"), ("5.", 5, 0, "5"), ("1200", 12, 2, "1200"), ("1E3", 1, 3, "1000"),
      ("-0.00120e+2", -12, -2, "-0.12"), ("0e99", 0, 0, "0"), ("000100.00", 1, 2, "100"),
      ("0.0000000000000000000000000000000000000000001e43", 1, 0, "1"),
    ] as [(String, Int128, Int, String)])
  func texts(text: String, coefficient: Int128, exponent: Int, plain: String) {
    let number = DecimalNumber(text)
    #expect(number == DecimalNumber(coefficient: coefficient, exponent: exponent))
    #expect(number?.coefficient == coefficient && number?.exponent == exponent)
    #expect(number?.description == plain)
  }

  @Test(
    "Texts that are not decimals",
    arguments: [
      "", "-", ".", "e1", "1e", "1e+", "1e1.5", "1.2.3", "--1", "1 ", " 1", "0x1", "1_000", "NaN", "inf",
      "1e1e1", "١",
      "1e9999999999999999999999", "1e-9999999999999999999", "1e77", "1e-39",
      "170141183460469231731687303715884105728", "123456789012345678901234567890123456789.5",
    ])
  func noDecimals(text: String) {
    #expect(DecimalNumber(text) == nil)
  }

  @Test("The widest numbers as text")
  func widest() {
    let min = "-170141183460469231731687303715884105728"
    #expect(DecimalNumber(min)?.coefficient == .min)
    #expect(DecimalNumber(min)?.description == min)
    let max = "170141183460469231731687303715884105727"
    #expect(DecimalNumber(max + "e38")?.description == max + String(repeating: "0", count: 38))
    #expect(DecimalNumber(max + "e-38")?.description == "1." + max.dropFirst())
    #expect(
      DecimalNumber("1" + String(repeating: "0", count: 76))?.coefficient
        == Int128("1" + String(repeating: "0", count: 38)))
    #expect(
      DecimalNumber(String(repeating: "0", count: 100_000) + "1")
        == DecimalNumber(coefficient: 1, exponent: 0))
    #expect(DecimalNumber("1" + String(repeating: "0", count: 100_000)) == nil)
    #expect(DecimalNumber("0." + String(repeating: "0", count: 100_000) + "1") == nil)
  }

  @Test("Random decimals as text, and their order compared with that of their digits")
  func order() {
    var random = SeededGenerator(51)
    /// Digits before and after the point, padded to one width.
    func digits(_ number: DecimalNumber) -> String {
      let parts = "\(number)".split(separator: ".").map(String.init)
      let whole = parts[0].drop { $0 == "-" }
      let fraction = parts.count > 1 ? parts[1] : ""
      return String(repeating: "0", count: 80 - whole.count) + whole + fraction
        + String(repeating: "0", count: 40 - fraction.count)
    }
    var faults: [String] = []
    for round in 0..<20_000 {
      let a = random.decimal()
      // Also close numbers, which differ only in the last digit or in the exponent.
      let near = DecimalNumber(
        coefficient: a.coefficient &+ Int128(random.below(3) - 1), exponent: a.exponent + random.below(3) - 1)
      let b = round % 2 == 0 ? random.decimal() : near ?? a
      let isNegative = (a.coefficient < 0, b.coefficient < 0)
      let expected =
        switch isNegative {
        case (true, false): true
        case (false, true): false
        case (false, false): digits(a) < digits(b)
        case (true, true): digits(b) < digits(a)
        }
      if (a < b) != expected || (a == b) != (isNegative.0 == isNegative.1 && digits(a) == digits(b)) {
        faults.append("\(a) against \(b)")
      }
      if DecimalNumber(a.description) != a { faults.append("\(a) as text") }
      let exponential = "\(a.coefficient)e\(a.exponent)"
      if DecimalNumber(exponential) != a { faults.append(exponential) }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }

  @Test("Random texts give nothing, or a decimal that is written and read again")
  func fuzz() {
    var random = SeededGenerator(52)
    let alphabet = Array("0123456789000.e-+E ")
    var faults: [String] = []
    for _ in 0..<100_000 {
      let text = String((0..<random.below(12)).map { _ in alphabet[random.below(alphabet.count)] })
      guard let number = DecimalNumber(text) else { continue }
      if DecimalNumber(number.description) != number { faults.append(text) }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }
}
