import Testing

@testable import OperationFormat
@testable import StoreTesting

@Suite("Drawn operations")
struct DrawnOperations {
  /// Choices that were recorded before; 0 after their end.
  private struct Recorded: ChoiceSource {
    var choices: [Int]

    mutating func next(below bound: Int) -> Int { choices.isEmpty ? 0 : choices.removeFirst() % bound }
  }

  /// Records the choices of a seed.
  private struct Recorder: ChoiceSource {
    var random: SeededRandom
    var choices: [Int] = []

    mutating func next(below bound: Int) -> Int {
      let choice = random.next(below: bound)
      choices.append(choice)
      return choice
    }
  }

  private func draw(_ transactions: Int, from source: inout some ChoiceSource) -> [[FoldOperation]] {
    let operations = CellOperations(records: 3, fields: 2, from: &source)
    return (0..<transactions).map { _ in operations.draw(upTo: 5, from: &source) }
  }

  @Test("recorded choices draw the same as the seed")
  func repeatable() {
    var recorder = Recorder(random: SeededRandom(seed: 3))
    let drawn = draw(200, from: &recorder)
    var recorded = Recorded(choices: recorder.choices)
    let again = draw(200, from: &recorded)
    #expect(drawn == again && recorded.choices.isEmpty)
    var other = Recorder(random: SeededRandom(seed: 4))
    #expect(draw(200, from: &other) != drawn)
  }

  @Test("they have all kinds, records, fields and values, and no others")
  func areOfAllKinds() {
    var random = SeededRandom(seed: 5)
    let drawn = draw(2000, from: &random).flatMap(\.self)
    #expect(Set(drawn.map(\.kind)) == [.create, .set, .delete, .moveAway])
    #expect(Set(drawn.filter { $0.kind == .moveAway }.map(\.element)) == [0, 1])
    #expect(Set(drawn.map(\.record)) == [0, 1, 2])
    #expect(Set(drawn.map(\.field)) == [0, 1])
    #expect(Set(drawn.map { Int($0.type) }) == Set(0..<CellOperations.types))
    #expect(Set(drawn.map(\.value.rawValue)) == Set(0..<FoldValue.count))
  }

  @Test("the requested share of them adds small numbers to counters")
  func addToCounters() {
    var random = SeededRandom(seed: 6)
    var operations = CellOperations(records: 3, fields: 2, from: &random)
    operations.addPercent = 100
    let drawn = (0..<500).flatMap { _ in operations.draw(upTo: 5, from: &random) }
    #expect(Set(drawn.map(\.kind)) == [.create, .delete, .moveAway, .add])
    let added = drawn.filter { $0.kind == .add }
    #expect(Set(added.map(\.field)) == [0, 1] && Set(added.map(\.value.rawValue)) == Set(1...7))
  }

  @Test("every kind of operation is drawn, and so FoldCheck has it")
  func kinds() {
    var random = SeededRandom(seed: 7)
    var operations = CellOperations(records: 3, fields: 2, from: &random)
    operations.addPercent = 20
    operations.elementPercent = 30
    operations.sequencePercent = 40
    operations.contributePercent = 20
    let drawn = (0..<1000).flatMap { _ in operations.draw(upTo: 5, from: &random) }
    #expect(Set(drawn.map(\.kind)) == Set(FoldOperation.Kind.allCases))
  }

  @Test("if all choices are 0, a transaction is one short operation")
  func simplest() {
    var zeros = Recorded(choices: [])
    #expect(draw(1, from: &zeros) == [[FoldOperation(.delete, record: 0)]])
  }

  @Test("in a log they have names")
  func names() {
    let value = FoldValue(rawValue: 5)
    #expect(FoldOperation(.create, record: 1, type: 1).logOperation == .create(record: "r1", type: "t1"))
    #expect(FoldOperation(.delete, record: 2).logOperation == .delete(record: "r2"))
    let place = RecordID(zone: ZoneID(owner: "o", name: "y"), name: "p1")
    #expect(
      FoldOperation(.moveAway, record: 2, element: 1).logOperation == .moveAway(record: "r2", to: place))
    #expect(
      FoldOperation(.set, record: 0, field: 2, value: value).logOperation
        == .set(record: "r0", type: "t0", field: "f2", value: 5))
  }
}
