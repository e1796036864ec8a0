import Testing

@testable import OperationFormat

@Suite("A run of transactions, encoded")
struct RunCodecTests {
  static let layouts: [RunLayout] = [.rows, .columns]

  @Test("gives back the bytes of each transaction", arguments: layouts)
  func givesBack(_ layout: RunLayout) throws {
    var random = SeededGenerator(1)
    for _ in 0..<300 {
      let example = try random.run(1 + random.below(20))
      let bytes = example.encoded(layout)
      let found = try RunExample.decoded(bytes, layout, example.context, bytesMax: example.byteCount)
      try #require(found.transactions == example.transactions)
      try #require(found.delays == example.delays)
    }
  }

  @Test("begins as the run of its first transactions, in rows")
  func isAppended() throws {
    var random = SeededGenerator(2)
    let example = try random.run(40)
    let whole = example.encoded(.rows)
    for count in 0...example.transactions.count {
      #expect(whole.starts(with: example.encoded(.rows, 0..<count)))
    }
  }

  @Test("takes any bytes", arguments: layouts)
  func takesAnything(_ layout: RunLayout) throws {
    var random = SeededGenerator(3)
    var example = RunExample(context: RunExample.context)
    example.transactions = [[], [1], [1, 0], Array("no transaction".utf8)]
    for _ in 0..<200 {
      var bytes = try random.transaction().encoded()
      bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
      example.transactions.append(bytes)
    }
    example.delays = example.transactions.indices.map { Int64($0) - 100 }
    let found = try RunExample.decoded(
      example.encoded(layout), layout, example.context, bytesMax: example.byteCount)
    #expect(found.transactions == example.transactions)
    #expect(found.delays == example.delays)
  }

  @Test("says more names, words and strings again than it remembers", arguments: layouts)
  func forgets(_ layout: RunLayout) throws {
    var example = RunExample(context: RunExample.context)
    for index in 0..<5 {
      // More names in all than a run keeps, and more strings.
      let operations = (0..<40_000).map { number in
        let record = Name("record \(index) \(number)")
        return number < 5000
          ? LogOperation.set(record: record, type: "T", field: "f", value: .string("text \(number)"))
          : .create(record: record, type: "T")
      }
      try example.append(
        LogTransaction(
          replica: example.context.replica, epoch: 3, sequence: 7 + UInt64(index), zone: example.context.zone,
          timestamp: Timestamp(rawValue: 1 << 50), author: "a", operations: operations))
    }
    let found = try RunExample.decoded(
      example.encoded(layout), layout, example.context, bytesMax: example.byteCount)
    #expect(found.transactions == example.transactions)
  }

  @Test("is empty without transactions", arguments: layouts)
  func isEmpty(_ layout: RunLayout) throws {
    let example = RunExample(context: RunExample.context)
    let found = try RunExample.decoded(example.encoded(layout), layout, example.context, bytesMax: 0)
    #expect(found.transactions.isEmpty)
  }
}
