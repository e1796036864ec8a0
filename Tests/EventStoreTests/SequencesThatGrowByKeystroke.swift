import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sequences whose operations grow unit by unit")
struct SequencesThatGrowByKeystroke {
  private static let replica = ReplicaNumber(rawValue: 1)

  private func makeSequence(nodeBytesMax: Int = 200) -> UnitOrder<MemoryFoldStorage> {
    let history = UnitOrderHistory(writers: 2)
    return history.makeSequence(history.makeStorage(), nodeBytesMax: nodeBytesMax)
  }

  private func makers(_ sequence: UnitOrder<MemoryFoldStorage>) throws -> [[UInt8]] {
    var rows: [[UInt8]] = []
    try sequence.storage.forEachRun(under: UnitOrderHistory.keys.prefix.span) { key, row in
      if key.bytes[12] == 3 { rows += [key.bytes, row.bytes] }
    }
    return rows
  }

  @Test(
    "are the same as if each operation had inserted all its units at once",
    arguments: WideTests.choose(0..<8, otherwise: 0..<4)
  )
  func areAsIfAtOnce(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let nodeBytesMax = [64, 100, 300, 2000][Int(seed % 4)]
    var (whole, typed) = (makeSequence(nodeBytesMax: nodeBytesMax), makeSequence(nodeBytesMax: nodeBytesMax))
    var sequenceNumber: UInt64 = 0
    let steady = random.chance(50)
    var operations: [HeadID: Range<UInt64>] = [:]
    for _ in 0..<500 {
      sequenceNumber += steady ? 1 : UInt64(1 + random.below(40))
      let index = UInt32(random.chance(90) ? 0 : random.below(300))
      let operation = HeadID(replica: Self.replica, epoch: 0, sequence: sequenceNumber, index: index)
      let text = String(
        repeating: random.chance(80) ? "a" : "€",
        count: random.chance(60) ? 1 : 1 + random.below(random.chance(2) ? 400 : 5))
      let at = random.chance(70) ? whole.count : random.below(whole.count + 1)
      let hasSeen = { (head: HeadID) in head.sequence < operation.sequence }
      let left = try whole.leftOrigin(ofVisible: at, hasSeen: hasSeen)
      let bytes = Array(text.utf8)
      let first = try whole.insert(text: bytes.span.bytes, by: operation, after: left, hasSeen: hasSeen)
      operations[operation] = first.number..<first.number + UInt64(text.unicodeScalars.count)
      var last = left
      for scalar in text.unicodeScalars {
        let bytes = Array(String(scalar).utf8)
        last = try typed.insert(text: bytes.span.bytes, by: operation, after: last, hasSeen: hasSeen)
      }
      #expect(last?.number == first.number + UInt64(text.unicodeScalars.count) - 1)
    }
    let (wholeRuns, typedRuns) = (try whole.runs, try typed.runs)
    #expect(wholeRuns == typedRuns && wholeRuns.count > 1)
    #expect(whole.root == typed.root)
    #expect(whole.storage.contents == typed.storage.contents, "the same rows")
    let rows = try makers(whole).count / 2
    #expect(steady || rows > 1, "several rows of makers")
    for sequence in [whole, typed] {
      let problems = try sequence.verify()
      #expect(problems == [])
    }
    let all = UnitRange(
      first: UnitID(replica: Self.replica, epoch: 0, number: 0),
      count: try typed.nextNumber(of: Self.replica, 0) + 5)
    for made in try typed.operations(making: all) {
      let operation = HeadID(replica: Self.replica, epoch: 0, sequence: made.sequence, index: made.index)
      #expect(operations.removeValue(forKey: operation) == made.units.first.number..<made.units.end)
    }
    #expect(operations.isEmpty)
  }

  @Test("use no missing unit as left origin, nor one that the operation has not seen")
  func strangeOrigins() throws {
    var sequence = makeSequence()
    let text = Array("ab".utf8)
    let first = HeadID(replica: Self.replica, epoch: 0, sequence: 1, index: 0)
    _ = try sequence.insert(text: text.span.bytes, by: first, after: nil) { _ in true }
    let other = HeadID(replica: ReplicaNumber(rawValue: 2), epoch: 0, sequence: 1, index: 0)
    let strangers: [(replica: UInt32, epoch: UInt32, number: UInt64)] = [
      (1, 0, 2), (1, 1, 0), (9, 0, 0), (1, 0, .max), (2, 0, 0), (1, 0, 1),
    ]
    for (replica, epoch, number) in strangers {
      let left = UnitID(replica: ReplicaNumber(rawValue: replica), epoch: epoch, number: number)
      var copy = UnitOrder(
        sequence.storage, UnitOrderHistory.keys, root: sequence.root, isText: true)
      let rows = copy.storage.contents
      _ = try copy.insert(text: text.span.bytes, by: other, after: left) { _ in false }
      let runs = try copy.runs
      let mine = runs.first { $0.units.first.replica.rawValue == 2 }
      #expect(mine?.left == nil && mine?.right == nil)
      let problems = try copy.verify()
      #expect(problems == [])
      copy.storage.contents = rows
    }
    let empty: [UInt8] = []
    let broken: [UInt8] = [0xe2, 0x82]
    for bytes in [empty, broken] {
      #expect(throws: FormatError.self) {
        _ = try sequence.insert(text: bytes.span.bytes, by: other, after: nil) { _ in true }
      }
    }
    var list = UnitOrder(
      makeSequence().storage, UnitOrderHistory.keys, root: UnitOrderRoot(), isText: false)
    _ = try list.insert(places: 3, by: first, after: nil) { _ in true }
    for count in [0, UnitOrderLimits.unitsMax, UInt64.max] {
      #expect(throws: FormatError.self) {
        _ = try list.insert(places: count, by: other, after: nil) { _ in true }
      }
    }
    #expect(list.count == 3)
  }
}
