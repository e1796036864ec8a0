import Testing

@testable import EventStore
@testable import LMDB
@testable import OperationFormat
@testable import StoreTesting

@Suite("Sequences with many edits by several writers")
struct SequencesOfManyEdits {
  @Test("are the same everywhere, and equal the tree", arguments: WideTests.choose(0..<60, otherwise: 0..<15))
  func areWhatTheTreeSays(_ seed: UInt64) throws {
    let nodeBytesMax = [64, 96, 128, 300, 2000][Int(seed % 5)]
    let isText = seed % 3 != 0
    var writers = UnitOrderWriters(
      1 + Int(seed / 3 % 3), isText: isText, nodeBytesMax: nodeBytesMax, seed: seed)
    for _ in 0..<150 { try writers.step() }
    try writers.exchangeAll()
    let history = writers.history
    let model = history.model(Array(history.operations.indices))
    let expected = model.runs
    var random = SeededGenerator(seed: seed ^ 0xfeed)
    var sequences = (1...history.identities.count).map { writers.sequence(of: $0) }
    sequences.append(try history.folded(history.order(&random), nodeBytesMax: nodeBytesMax))
    for sequence in sequences {
      let problems = try sequence.verify()
      #expect(problems == [])
      let runs = try sequence.runs
      #expect(runs == expected)
      try checkReading(sequence, model)
    }
  }

  private func checkReading(_ sequence: UnitOrder<MemoryFoldStorage>, _ model: UnitOrderModel) throws {
    let visible = model.visible
    #expect(sequence.count == visible.count)
    guard sequence.count == visible.count else { return }
    let ranges = try sequence.units(0..<sequence.count)
    #expect(
      ranges.flatMap { range in
        (0..<range.count).map {
          UnitID(replica: range.first.replica, epoch: range.first.epoch, number: range.first.number + $0)
        }
      } == visible)
    for index in stride(from: 0, to: visible.count, by: 7) {
      let unit = try sequence.unit(at: index).unit
      let found = try sequence.index(ofVisible: unit)
      let maker = try sequence.operation(making: unit)
      #expect(unit == visible[index] && found == index && maker == model.operation(making: unit))
    }
    let all = try sequence.runs
    for hidden in all where !hidden.isVisible {
      let index = try sequence.index(ofVisible: hidden.units.first)
      #expect(index == nil)
    }
    for run in all {
      for made in try sequence.operations(making: run.units) {
        let maker = model.operation(making: made.units.first)
        #expect(maker?.sequence == made.sequence && maker?.index == made.index)
      }
    }
    guard case .scalar? = model.content(of: visible.first) else { return }
    let text = try sequence.text()
    #expect(text == model.text)
    let scalars = Array(text.unicodeScalars)
    for start in stride(from: 0, to: visible.count, by: 11) {
      let end = min(visible.count, start + 25)
      let part = try sequence.text(in: start..<end)
      #expect(Array(part.unicodeScalars) == Array(scalars[start..<end]))
    }
  }

  @Test("are the same in a data file, read by a reader")
  func areTheSameInADataFile() throws {
    var writers = UnitOrderWriters(3, nodeBytesMax: 200, seed: 77)
    for _ in 0..<400 { try writers.step() }
    try writers.exchangeAll()
    let history = writers.history
    let memory = try history.folded(Array(history.operations.indices))
    let directory = TemporaryDirectory()
    let environment = try Environment(directory: directory.path, options: Environment.Options(sync: .none))
    defer { environment.close() }
    let transaction = try environment.beginWrite()
    let storage = TableStorage(tables: try Tables(in: transaction, create: true))
    storage.begin(transaction)
    for identity in history.identities {
      _ = try storage.replicas.makeNumber(for: identity)
    }
    var sequence = history.makeSequence(storage)
    for index in history.operations.indices { try history.fold(index, into: &sequence) }
    #expect(sequence.root == memory.root)
    var rows: [[UInt8]] = []
    try storage.forEachRun(under: UnitOrderHistory.keys.prefix.span) { rows += [$0.bytes, $1.bytes] }
    #expect(rows == memory.storage.contents.runs.flatMap { [$0.key, $0.row] })
    try storage.commit()
    let readView = ReadView(try environment.beginRead(), tables: storage.tables, interned: storage.interned)
    let read = UnitOrder(readView, UnitOrderHistory.keys, root: sequence.root, isText: true)
    let text = try read.text()
    let expected = try memory.text()
    #expect(text == expected && !text.isEmpty)
    let problems = try read.verify()
    #expect(problems == [])
  }
}
