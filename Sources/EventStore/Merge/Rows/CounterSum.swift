package import OperationFormat

/// The sum of contributions to a counter, exact however many there are: a part for the integers and one for
/// each power of ten that decimals have, each of 192 bits.
///
/// In bytes, as the row of the contributions that are kept apart: the count of parts (varint), and for each,
/// ascending:
///
/// | bytes | what |
/// |---|---|
/// | 1 | 0 for the integers, else the power of ten + 39 |
/// | varint | how many contributions, from 1 |
/// | 24 | their sum, two's complement, little-endian |
package struct CounterSum: Hashable, Sendable {
  private struct Part: Hashable, Sendable {
    /// As in the row.
    var power: UInt8
    var count: UInt64 = 0
    var low: UInt128 = 0
    var high: Int64 = 0

    /// The power of ten that the sum counts in.
    var exponent: Int { power == 0 ? 0 : Int(power) - 39 }

    mutating func add(_ number: Int128) {
      let (sum, carry) = low.addingReportingOverflow(UInt128(bitPattern: number))
      low = sum
      high &+= (number < 0 ? -1 : 0) + (carry ? 1 : 0)
    }

    /// Addends of this sum, as few as values can hold.
    var addends: [Value] {
      let numbers = power == 0 ? Int128(Int64.min)...Int128(Int64.max) : -Int128.max...Int128.max
      var rest = self
      var found: [Value] = []
      while true {
        let number = Int128(bitPattern: rest.low)
        let isLast = rest.high == (number < 0 ? -1 : 0) && numbers.contains(number)
        let next = isLast ? number : rest.high < 0 ? numbers.lowerBound : numbers.upperBound
        if power == 0 {
          found.append(.int(Int64(next)))
        } else if let decimal = DecimalNumber(coefficient: next, exponent: exponent) {
          found.append(.decimal(decimal))
        }
        if isLast { return found }
        rest.subtract(next)
      }
    }

    mutating func subtract(_ number: Int128) {
      let (difference, borrow) = low.subtractingReportingOverflow(UInt128(bitPattern: number))
      low = difference
      high &-= (number < 0 ? -1 : 0) + (borrow ? 1 : 0)
    }
  }

  /// Ascending by power, none with a count of 0.
  private var parts: [Part] = []

  init() {}

  /// Whether it is that of no contribution.
  var isEmpty: Bool { parts.isEmpty }

  // MARK: Contributions

  /// - Parameter contribution: an encoded integer or decimal.
  mutating func add(_ contribution: RawSpan) throws(FormatError) {
    let (power, number) = try Self.parse(contribution)
    let index = index(of: power)
    parts[index].count += 1
    parts[index].add(number)
  }

  /// Takes back what was added.
  mutating func remove(_ contribution: RawSpan) throws(FormatError) {
    let (power, number) = try Self.parse(contribution)
    guard let index = parts.firstIndex(where: { $0.power == power }) else {
      throw FormatError(
        .damaged, at: 0, in: "counter", expected: "a contribution that was counted", found: "another")
    }
    parts[index].count -= 1
    parts[index].subtract(number)
    if parts[index].count == 0 { parts.remove(at: index) }
  }

  mutating func add(_ other: CounterSum) {
    for part in other.parts {
      let index = index(of: part.power)
      let (sum, carry) = parts[index].low.addingReportingOverflow(part.low)
      parts[index].low = sum
      parts[index].high &+= part.high &+ (carry ? 1 : 0)
      parts[index].count += part.count
    }
  }

  private mutating func index(of power: UInt8) -> Int {
    let index = parts.firstIndex { $0.power >= power } ?? parts.count
    if index == parts.count || parts[index].power != power { parts.insert(Part(power: power), at: index) }
    return index
  }

  private static func parse(_ contribution: RawSpan) throws(FormatError) -> (power: UInt8, number: Int128) {
    switch try Value(decoding: contribution) {
    case .int(let number): return (0, Int128(number))
    case .decimal(let number): return (UInt8(number.exponent + 39), number.coefficient)
    default:
      throw FormatError(
        .damaged, at: 0, in: "counter", expected: "an integer or a decimal", found: "another value")
    }
  }

  // MARK: Its value

  /// The sum as a value.
  ///
  /// An integer, if no decimal was contributed. Where the sum is no ``Value`` it is the nearest one toward
  /// zero, and clamped.
  var total: (value: Value, isClamped: Bool) {
    guard let greatest = parts.last else { return (value: .int(0), isClamped: false) }
    if greatest.power == 0 {
      let (low, high) = (greatest.low, greatest.high)
      let fits = high == (Int128(bitPattern: low) < 0 ? -1 : 0)
      if fits, let number = Int64(exactly: Int128(bitPattern: low)) {
        return (value: .int(number), isClamped: false)
      }
      return (value: .int(high < 0 ? .min : .max), isClamped: true)
    }
    var exponent = parts.map(\.exponent).min() ?? 0
    var positive = WideNumber()
    var negative = WideNumber()
    for part in parts {
      var number = WideNumber(low: part.low, high: part.high)
      for _ in exponent..<part.exponent { number.multiplyByTen() }
      if part.high < 0 { negative.add(number) } else { positive.add(number) }
    }
    let isNegative = positive < negative
    var magnitude = isNegative ? negative : positive
    magnitude.subtract(isNegative ? positive : negative)
    var isClamped = false
    while magnitude.number == nil {
      if magnitude.divideByTen() != 0 { isClamped = true }
      exponent += 1
    }
    let number = magnitude.number ?? 0
    if let value = DecimalNumber(coefficient: isNegative ? -number : number, exponent: exponent) {
      return (value: .decimal(value), isClamped: isClamped)
    }
    let most = DecimalNumber(
      coefficient: isNegative ? -Int128.max : .max, exponent: Limits.decimalExponents.upperBound)
    return (value: most.map { .decimal($0) } ?? .null, isClamped: true)
  }

  /// Addends of this sum, as few as values can hold.
  var addends: [Value] {
    let total = total
    return total.isClamped ? parts.flatMap(\.addends) : [total.value]
  }

  // MARK: Its row

  func append(to writer: inout ByteWriter) {
    writer.append(count: parts.count)
    for part in parts {
      writer.append(part.power)
      writer.append(varint: part.count)
      writer.append(littleEndian: part.low)
      writer.append(littleEndian: part.high)
    }
  }

  package init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    let count = try reader.readCount("counter", elementBytesMin: 26, max: 78)
    for _ in 0..<count {
      let start = reader.position
      var part = Part(power: try reader.readUInt8("counter"))
      part.count = try reader.readVarint("counter", in: 1 ... .max)
      part.low = try reader.readLittleEndian("counter", as: UInt128.self)
      part.high = try reader.readLittleEndian("counter", as: Int64.self)
      guard part.power <= 77, parts.last.map({ $0.power < part.power }) ?? true else {
        throw FormatError(
          .damaged, at: start, in: "counter", expected: "powers in ascending order", found: "\(part.power)")
      }
      parts.append(part)
    }
    try reader.finish("counter")
  }
}

/// A whole number of any size, not negative: for the rare sum of decimals that are far apart.
private struct WideNumber {
  /// The least first.
  private var digits: [UInt32] = []

  init() {}

  /// The magnitude of a number of 192 bits.
  init(low: UInt128, high: Int64) {
    let isNegative = high < 0
    let lower = isNegative ? ~low &+ 1 : low
    let upper = isNegative ? ~UInt64(bitPattern: high) &+ (lower == 0 ? 1 : 0) : UInt64(bitPattern: high)
    for index in 0..<4 { digits.append(UInt32(truncatingIfNeeded: lower >> UInt128(32 * index))) }
    for index in 0..<2 { digits.append(UInt32(truncatingIfNeeded: upper >> UInt64(32 * index))) }
    trim()
  }

  /// The number, if it is one of 128 bits with a sign.
  var number: Int128? {
    guard digits.count <= 4 else { return nil }
    let number = digits.reversed().reduce(0 as UInt128) { $0 << 32 | UInt128($1) }
    return Int128(exactly: number)
  }

  static func < (a: WideNumber, b: WideNumber) -> Bool {
    if a.digits.count != b.digits.count { return a.digits.count < b.digits.count }
    return a.digits.reversed().lexicographicallyPrecedes(b.digits.reversed())
  }

  mutating func multiplyByTen() {
    var carry: UInt64 = 0
    for index in digits.indices {
      let product = UInt64(digits[index]) * 10 + carry
      digits[index] = UInt32(truncatingIfNeeded: product)
      carry = product >> 32
    }
    if carry > 0 { digits.append(UInt32(carry)) }
  }

  /// - Returns: the rest.
  mutating func divideByTen() -> UInt64 {
    var rest: UInt64 = 0
    for index in digits.indices.reversed() {
      let dividend = rest << 32 | UInt64(digits[index])
      digits[index] = UInt32(dividend / 10)
      rest = dividend % 10
    }
    trim()
    return rest
  }

  mutating func add(_ other: WideNumber) {
    var carry: UInt64 = 0
    for index in 0..<max(digits.count, other.digits.count) {
      if index == digits.count { digits.append(0) }
      let sum = UInt64(digits[index]) + (index < other.digits.count ? UInt64(other.digits[index]) : 0) + carry
      digits[index] = UInt32(truncatingIfNeeded: sum)
      carry = sum >> 32
    }
    if carry > 0 { digits.append(UInt32(carry)) }
  }

  /// Takes away a number that is not greater.
  mutating func subtract(_ other: WideNumber) {
    var borrow: Int64 = 0
    for index in digits.indices {
      let other = index < other.digits.count ? Int64(other.digits[index]) : 0
      let difference = Int64(digits[index]) - other - borrow
      digits[index] = UInt32(truncatingIfNeeded: difference)
      borrow = difference < 0 ? 1 : 0
    }
    trim()
  }

  private mutating func trim() { while digits.last == 0 { digits.removeLast() } }
}
