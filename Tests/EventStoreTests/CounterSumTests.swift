import Testing

@testable import EventStore
@testable import OperationFormat

@Suite("The sum of a counter's addends")
struct CounterSumTests {
  private static let values: [Value] = [
    .int(0), .int(1), .int(-1), .int(.max), .int(.min), .int(1_000_000),
  ]

  private static func decimal(_ text: String) -> Value { .decimal(DecimalNumber(text)!) }

  private static func sum(_ values: [Value]) throws -> CounterSum {
    var sum = CounterSum()
    for value in values { try add(value, to: &sum) }
    return sum
  }

  private static func add(_ value: Value, to sum: inout CounterSum) throws {
    let bytes = try value.encoded()
    try sum.add(bytes.span.bytes)
  }

  private static func remove(_ value: Value, from sum: inout CounterSum) throws {
    let bytes = try value.encoded()
    try sum.remove(bytes.span.bytes)
  }

  private static func row(_ sum: CounterSum) -> [UInt8] {
    var writer = ByteWriter()
    sum.append(to: &writer)
    return writer.bytes
  }

  @Test("integers are added, beyond 64 bits and back")
  func integers() throws {
    #expect(try Self.sum([]).counter.value == .int(0))
    #expect(try Self.sum([.int(2), .int(-5)]).counter.value == .int(-3))
    var sum = try Self.sum([.int(.max), .int(.max), .int(1)])
    #expect(sum.counter.value == .int(.max))
    #expect(sum.counter.isClamped)
    try Self.add(.int(.min), to: &sum)
    try Self.add(.int(.min), to: &sum)
    #expect(sum.counter.value == .int(-1))
    #expect(!sum.counter.isClamped)
    let least = try Self.sum([.int(.min), .int(-1)]).counter
    #expect(least.value == .int(.min) && least.isClamped)
  }

  @Test("a decimal makes the sum a decimal, exact for all exponents of a value")
  func decimals() throws {
    #expect(try Self.sum([.int(1), Self.decimal("0.5")]).counter.value == Self.decimal("1.5"))
    #expect(try Self.sum([Self.decimal("0.1"), Self.decimal("0.2")]).counter.value == Self.decimal("0.3"))
    #expect(try Self.sum([Self.decimal("0.5"), Self.decimal("-0.5")]).counter.value == Self.decimal("0"))
    let far = try Self.sum([Self.decimal("1e38"), Self.decimal("1e-38"), Self.decimal("-1e38")]).counter
    #expect(far.value == Self.decimal("1e-38") && !far.isClamped)
    let apart = try Self.sum([Self.decimal("1e38"), Self.decimal("1e-38")]).counter
    #expect(apart.value == Self.decimal("1e38") && apart.isClamped)
    let most = DecimalNumber(coefficient: .max, exponent: 38)!
    let over = try Self.sum([.decimal(most), .decimal(most)]).counter
    #expect(over.value == .decimal(most) && over.isClamped)
    let under = try Self.sum([
      .decimal(DecimalNumber(coefficient: -Int128.max, exponent: 38)!),
      .decimal(DecimalNumber(coefficient: -Int128.max, exponent: 38)!),
    ]).counter
    #expect(
      under.value == .decimal(DecimalNumber(coefficient: -Int128.max, exponent: 38)!) && under.isClamped)
  }

  @Test("in any order, after removals, it is the sum of the rest, and so is its row", arguments: 1...40)
  func random(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func value() -> Value {
      if Bool.random(using: &random) { return Self.values.randomElement(using: &random)! }
      let coefficient =
        Int128(Int64.random(in: .min ... .max, using: &random)) << Int128.random(in: 0...60, using: &random)
      return DecimalNumber(coefficient: coefficient, exponent: Int.random(in: -38...20, using: &random))
        .map { .decimal($0) } ?? .int(7)
    }
    var kept: [Value] = []
    var sum = CounterSum()
    for _ in 0..<60 {
      if kept.isEmpty || Int.random(in: 0..<3, using: &random) > 0 {
        let one = value()
        kept.append(one)
        try Self.add(one, to: &sum)
      } else {
        let gone = kept.remove(at: Int.random(in: 0..<kept.count, using: &random))
        try Self.remove(gone, from: &sum)
      }
      let shuffled = try Self.sum(kept.shuffled(using: &random))
      #expect(shuffled == sum, "seed \(seed)")
      let row = Self.row(sum)
      let read = try CounterSum(row.span.bytes)
      #expect(read == sum)
      var parts = CounterSum()
      let cut = Int.random(in: 0...kept.count, using: &random)
      parts.add(try Self.sum(Array(kept[..<cut])))
      parts.add(try Self.sum(Array(kept[cut...])))
      #expect(parts == sum)
    }
    #expect(sum.isEmpty == kept.isEmpty)
  }

  @Test("a damaged row is an error, and so is removing an addend that was not added")
  func damaged() throws {
    let row = Self.row(try Self.sum([.int(5), Self.decimal("2.25"), Self.decimal("1e30")]))
    for length in row.indices {
      let cut = Array(row[..<length])
      #expect(throws: FormatError.self) { _ = try CounterSum(cut.span.bytes) }
    }
    let swapped = [row[0]] + row[27..<53] + row[1..<27] + row[53...]
    #expect(throws: FormatError.self) { _ = try CounterSum(swapped.span.bytes) }
    var sum = CounterSum()
    #expect(throws: FormatError.self) { try Self.remove(.int(1), from: &sum) }
    #expect(throws: FormatError.self) { try Self.add("1", to: &sum) }
  }
}
