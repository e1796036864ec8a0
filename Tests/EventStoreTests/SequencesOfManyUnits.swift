import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sequences of many units")
struct SequencesOfManyUnits {
  private struct Writer {
    var sequence: UnitOrder<CountingRunStorage>
    var transaction: UInt64 = 0
    var random: SeededGenerator

    init(seed: UInt64) {
      let history = UnitOrderHistory(writers: 2)
      let storage = CountingRunStorage(history.makeStorage(), replicas: 2)
      sequence = history.makeSequence(storage)
      random = SeededGenerator(seed: seed)
    }

    mutating func insert(_ text: String, at index: Int) throws {
      transaction += 1
      sequence = sequence.forNextOperation()
      let operation = HeadID(
        replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: transaction, index: 0)
      let left = try sequence.leftOrigin(ofVisible: index) { _ in true }
      let bytes = Array(text.utf8)
      _ = try sequence.insert(text: bytes.span.bytes, by: operation, after: left) { _ in true }
    }

    mutating func hide(at index: Int) throws {
      sequence = sequence.forNextOperation()
      let unit = try sequence.unit(at: index).unit
      try sequence.setVisible(false, UnitRange(first: unit, count: 1))
    }

    /// Many passages at random places.
    mutating func write(_ units: Int) throws {
      while sequence.count < units {
        try insert(String(repeating: "passage ", count: 5), at: random.below(sequence.count + 1))
      }
    }

    /// How many rows each of some changes reads and writes, on average.
    mutating func cost(_ change: (inout Writer) throws -> Void) throws -> (reads: Double, writes: Double) {
      let count = 300
      let (reads, writes) = (sequence.storage.reads, sequence.storage.writes)
      for _ in 0..<count { try change(&self) }
      return (
        Double(sequence.storage.reads - reads) / Double(count),
        Double(sequence.storage.writes - writes) / Double(count)
      )
    }
  }

  @Test("cost at most about twice the rows of short ones for a change")
  func costs() throws {
    let changes: [(String, (inout Writer) throws -> Void)] = [
      ("append", { try $0.insert("a", at: $0.sequence.count) }),
      ("insert", { try $0.insert("a", at: $0.random.below($0.sequence.count + 1)) }),
      ("hide", { try $0.hide(at: $0.random.below($0.sequence.count)) }),
    ]
    var (short, long) = (Writer(seed: 1), Writer(seed: 2))
    try short.write(1000)
    try long.write(WideTests.choose(100_000, otherwise: 30_000))
    for (name, change) in changes {
      let (few, many) = (try short.cost(change), try long.cost(change))
      print("\(name): \(few) rows at 1,000 units, \(many) at \(long.sequence.count)")
      #expect(many.reads + many.writes < 2 * (few.reads + few.writes), "\(name): \(many), \(few)")
    }
    let problems = try long.sequence.verify()
    #expect(problems == [])
  }

  @Test("that are all over the tree are hidden with some rows for each leaf, not for each unit")
  func scattered() throws {
    var writer = Writer(seed: 4)
    let count = WideTests.choose(3000, otherwise: 1000)
    for _ in 0..<count { try writer.insert("a", at: writer.random.below(writer.sequence.count + 1)) }
    let first = UnitID(try writer.sequence.unit(at: 0).unit.inserter, 0)
    let before = writer.sequence.storage.reads + writer.sequence.storage.writes
    try writer.sequence.setVisible(false, UnitRange(first: first, count: UInt64(count)))
    #expect(writer.sequence.count == 0)
    #expect(writer.sequence.storage.reads + writer.sequence.storage.writes - before < count)
  }

  @Test("take few bytes when they are typed one by one")
  func bytesOfTypedText() throws {
    var writer = Writer(seed: 3)
    let count = WideTests.choose(30_000, otherwise: 10_000)
    for index in 0..<count { try writer.insert(index % 6 == 5 ? " " : "a", at: index) }
    let text = try writer.sequence.text()
    #expect(text.utf8.count == count)
    let bytes = Double(writer.sequence.storage.storedBytes) / Double(count)
    print("typed one by one: \(bytes) bytes a character")
    #expect(bytes < 3)
  }

  @Test("take some bytes when they are edited everywhere")
  func bytesOfRandomEdits() throws {
    var writer = Writer(seed: 4)
    let count = WideTests.choose(6000, otherwise: 2000)
    for index in 0..<count {
      if index % 5 == 4 {
        try writer.hide(at: writer.random.below(writer.sequence.count))
      } else {
        try writer.insert("a", at: writer.random.below(writer.sequence.count + 1))
      }
    }
    let problems = try writer.sequence.verify()
    #expect(problems == [])
    let bytes = Double(writer.sequence.storage.storedBytes) / Double(count)
    print("edited all over: \(bytes) bytes an edit")
    #expect(bytes < 40)
  }

  @Test("leave only a few nodes when everything is hidden")
  func allHidden() throws {
    var writer = Writer(seed: 5)
    try writer.write(20_000)
    let rows = writer.sequence.storage.rows.contents.runs.count
    while writer.sequence.count > 0 {
      for range in try writer.sequence.units(0..<min(97, writer.sequence.count)) {
        try writer.sequence.setVisible(false, range)
      }
    }
    let left = writer.sequence.storage.rows.contents.runs.count
    #expect(left < rows, "\(left) rows of \(rows)")
    let problems = try writer.sequence.verify()
    #expect(problems == [])
    let text = try writer.sequence.text()
    #expect(text.isEmpty)
  }
}
