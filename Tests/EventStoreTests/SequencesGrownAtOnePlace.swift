import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Sequences with many concurrent insertions at one place")
struct SequencesGrownAtOnePlace {
  /// How a writer inserts: in front, each after the previous one, alternating, or lines of several units in
  /// front.
  enum Manner: CaseIterable {
    case backward, forward, mixed, onTop

    var units: Int { self == .onTop ? 8 : 1 }

    func left(_ turn: Int, _ inserter: Inserter) -> UnitID? {
      switch self {
      case .backward, .onTop: nil
      case .forward: turn == 0 ? nil : UnitID(inserter, UInt64(turn - 1))
      case .mixed: turn % 2 == 0 ? nil : UnitID(inserter, UInt64(turn - 1))
      }
    }
  }

  private struct Grown {
    var sequence: UnitOrder<CountingRunStorage>
    var work: Int { sequence.storage.reads + sequence.storage.writes }

    init(writers: Int, isText: Bool, nodeBytesMax: Int = 2000) {
      let history = UnitOrderHistory(writers: writers, isText: isText)
      let storage = CountingRunStorage(history.makeStorage(), replicas: writers)
      sequence = history.makeSequence(storage, nodeBytesMax: nodeBytesMax)
    }

    mutating func insert(
      _ manner: Manner, _ turn: Int, by inserter: Inserter, sees: (HeadID) -> Bool = { _ in false }
    ) throws {
      let operation = HeadID(
        replica: inserter.replica, epoch: inserter.epoch, sequence: UInt64(turn + 1), index: 0)
      let hasSeen = { (head: HeadID) in Inserter(head) == inserter || sees(head) }
      let left = manner.left(turn, inserter)
      sequence = sequence.forNextOperation()
      if sequence.isText {
        let text = [UInt8](repeating: 97, count: manner.units)
        _ = try sequence.insert(text: text.span.bytes, by: operation, after: left, hasSeen: hasSeen)
      } else {
        _ = try sequence.insert(places: UInt64(manner.units), by: operation, after: left, hasSeen: hasSeen)
      }
    }
  }

  private static func inserter(_ writer: Int, epoch: Int = 0) -> Inserter {
    Inserter(replica: ReplicaNumber(rawValue: UInt32(writer)), epoch: UInt32(epoch))
  }

  /// How many rows are read and written if each writer's insertions follow each other.
  ///
  /// - Parameter keepsView: whether a writer's insertions are folded together, or each separately.
  private func work(
    _ manner: Manner, writers: Int, each count: Int, isText: Bool, keepsView: Bool
  ) throws -> Int {
    var grown = Grown(writers: writers, isText: isText)
    for writer in 1...writers {
      grown.sequence.view = keepsView ? UnitOrderView() : nil
      for turn in 0..<count { try grown.insert(manner, turn, by: Self.inserter(writer)) }
    }
    #expect(grown.sequence.count == writers * count * manner.units)
    return grown.work
  }

  @Test(
    "cost about as much for each insertion, however many there are",
    arguments: WideTests.choose([2, 3, 16], otherwise: [3]))
  func cost(_ writers: Int) throws {
    let count = writers == 16 ? 30 : 400 / writers
    for manner in Manner.allCases {
      for (isText, keepsView) in [(true, false), (true, true), (false, false)] {
        let few = try work(manner, writers: writers, each: count, isText: isText, keepsView: keepsView)
        let many = try work(manner, writers: writers, each: 2 * count, isText: isText, keepsView: keepsView)
        let ratio = Double(many) / Double(few)
        let each = Double(many) / Double(2 * count * writers)
        print("\(writers) writers \(manner), text \(isText), in one go \(keepsView): \(each) rows, ×\(ratio)")
        #expect(ratio <= 2.5, "\(manner), text \(isText), in one go \(keepsView): \(few), then \(many)")
      }
    }
  }

  @Test("cost about as much if writers that see each other meet one that was offline")
  func costOfOneAway() throws {
    func work(_ count: Int) throws -> Int {
      var grown = Grown(writers: 4, isText: true)
      let away = Self.inserter(1)
      for turn in 0..<count { try grown.insert(.backward, turn, by: away) }
      for turn in 0..<count {
        for writer in 2...4 {
          try grown.insert(.backward, turn, by: Self.inserter(writer)) { $0.replica != away.replica }
        }
      }
      return grown.work
    }
    let (few, many) = (try work(100), try work(200))
    #expect(Double(many) / Double(few) <= 2.3, "\(few), then \(many)")
  }

  @Test("cost about as much if each is of another epoch that has seen nothing")
  func costOfEpochs() throws {
    func work(_ count: Int) throws -> Int {
      var grown = Grown(writers: 1, isText: true)
      for epoch in 0..<count {
        var view = UnitOrderView()
        view.seesOthers = false
        grown.sequence.view = view
        try grown.insert(.backward, 0, by: Self.inserter(1, epoch: epoch * 7919 % count))
      }
      return grown.work
    }
    let (few, many) = (try work(500), try work(1000))
    print("epochs: ×\(Double(many) / Double(few))")
    #expect(Double(many) / Double(few) <= 2.5, "\(few), then \(many)")
  }

  @Test("equal the tree, in any order", arguments: 0..<12 as Range<UInt64>)
  func areWhatTheTreeSays(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let writers = 2 + Int(seed % 4)
    var history = UnitOrderHistory(writers: writers, isText: seed % 2 == 0)
    history.identities.shuffle(using: &random)
    for writer in 1...writers {
      var seen: Set<Int> = []
      let manner = Manner.allCases[random.below(4)]
      for turn in 0..<14 {
        let left: UnitID? =
          manner.units == 1 ? manner.left(turn, Self.inserter(writer)) : nil
        if history.isText {
          let text = String(repeating: "a", count: manner.units)
          seen.insert(history.add(.insert(text: text, after: left), by: writer, seen: seen))
        } else {
          seen.insert(history.add(.places(manner.units, after: left), by: writer, seen: seen))
        }
      }
    }
    let expected = history.model(Array(history.operations.indices)).runs
    for _ in 0..<3 {
      let sequence = try history.folded(history.order(&random), nodeBytesMax: 100)
      let (runs, problems) = (try sequence.runs, try sequence.verify())
      #expect(runs == expected && problems == [])
    }
  }

  @Test("are hidden with work only for visible units")
  func hiding() throws {
    var grown = Grown(writers: 1, isText: true, nodeBytesMax: 300)
    let writer = Self.inserter(1)
    let count = 3000
    for turn in 0..<count { try grown.insert(.backward, turn, by: writer) }
    let all = UnitRange(first: UnitID(writer, 1), count: UInt64(count - 1))
    let before = grown.work
    try grown.sequence.setVisible(false, all)
    let hiding = grown.work - before
    let reads = grown.sequence.storage.leafReads
    var leaves = 0
    try grown.sequence.forEachLeaf { _, _ in leaves += 1 }
    let walk = grown.sequence.storage.leafReads - reads
    for _ in 0..<100 { try grown.sequence.setVisible(false, all) }
    #expect(grown.work - before - hiding < 100 * hiding / 2)
    let again = grown.sequence.storage.leafReads - reads - walk
    #expect(leaves > 50 && again < 100 * leaves / 2, "leaves without visible units are passed over")
    var visited = 0
    let read = grown.sequence.storage.reads
    func none(of inserter: Inserter) -> Range<UInt64> { 0..<0 }
    let rest = try grown.sequence.hide(none) { isChanged in
      visited += 1
      return !isChanged
    }
    #expect(visited == 1 && rest == nil && grown.sequence.storage.reads - read < 10)
    let problems = try grown.sequence.verify()
    #expect(problems == [])
  }
}
