import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sequences with damaged rows")
struct SequencesWithDamagedRows {
  private func makeSequence(
    _ seed: UInt64, _ isText: Bool
  ) throws -> (UnitOrder<CountingRunStorage>, UnitOrderHistory) {
    var writers = UnitOrderWriters(2, isText: isText, nodeBytesMax: 100, seed: seed)
    for _ in 0..<120 { try writers.step() }
    try writers.exchangeAll()
    let history = writers.history
    let storage = CountingRunStorage(history.makeStorage(), replicas: 2)
    var sequence = history.makeSequence(storage, nodeBytesMax: 100)
    for index in history.operations.indices { try history.fold(index, into: &sequence) }
    return (sequence, history)
  }

  /// Calls everything. Damage may give a typed error, but never a trap.
  private func useAll(_ sequence: UnitOrder<CountingRunStorage>, _ random: inout SeededGenerator) throws {
    func attempt(_ body: () throws -> Void) throws {
      do { try body() } catch is FormatError {}
    }
    var sequence = sequence
    let isText = sequence.isText
    try attempt { _ = try sequence.verify() }
    try attempt { try sequence.forEachRun { _ in } }
    for _ in 0..<4 where sequence.count > 0 {
      let index = random.below(sequence.count)
      try attempt { _ = try sequence.units(index..<min(sequence.count, index + 50)) }
      if isText { try attempt { _ = try sequence.text(in: index..<min(sequence.count, index + 50)) } }
      try attempt { _ = try sequence.index(ofVisible: try sequence.unit(at: index).unit) }
      try attempt { _ = try sequence.leftOrigin(ofVisible: index) { $0.sequence % 3 > 0 } }
    }
    for _ in 0..<6 {
      let replica = ReplicaNumber(rawValue: UInt32(1 + random.below(2)))
      let unit = UnitID(replica: replica, epoch: 0, number: UInt64(random.below(100)))
      let seesAll = random.chance(50)
      let operation = HeadID(replica: replica, epoch: 0, sequence: 1 << 40, index: 0)
      try attempt {
        _ = try sequence.operations(making: UnitRange(first: unit, count: .max))
        try sequence.setVisible(false, UnitRange(first: unit, count: 20))
      }
      try attempt {
        if isText {
          let text = Array("text".utf8)
          _ = try sequence.insert(text: text.span.bytes, by: operation, after: unit) { _ in seesAll }
        } else {
          _ = try sequence.insert(places: 3, by: operation, after: unit) { _ in seesAll }
        }
      }
    }
  }

  @Test("give typed errors or answers, and end", arguments: 0..<12 as Range<UInt64>)
  func neverTrap(_ seed: UInt64) throws {
    let (sequence, _) = try makeSequence(seed, seed % 2 == 0)
    let storage = sequence.storage.rows
    let sound = storage.contents
    var random = SeededGenerator(seed: seed &+ 99)
    var noticed = 0
    for _ in 0..<60 {
      storage.contents = sound
      let entry = sound.runs[random.below(sound.runs.count)]
      var row = entry.row
      switch random.below(6) {
      case 0: row.removeLast(1 + random.below(row.count))
      case 1: row = sound.runs[random.below(sound.runs.count)].row
      case 2: storage.deleteRun(entry.key.span.bytes)
      case 3: row.append(UInt8(random.below(256)))
      default:
        for _ in 0...random.below(3) { row[random.below(row.count)] = UInt8(random.below(256)) }
      }
      if row != entry.row { storage.writeRun(row.span.bytes, entry.key.span.bytes) }
      let damaged = storage.contents
      let problems = try? sequence.verify()
      if problems != [] { noticed += 1 }
      try useAll(sequence, &random)
      storage.contents = damaged
    }
    #expect(noticed > 30, "a verification notices most damages")
  }

  @Test("with a root that does not fit them give typed errors or answers")
  func damagedRoots() throws {
    let (sequence, _) = try makeSequence(500, true)
    let sound = sequence.storage.rows.contents
    var writer = ByteWriter()
    sequence.root.append(to: &writer)
    let bytes = writer.bytes
    let read = try UnitOrderRoot(bytes.span.bytes)
    #expect(read == sequence.root)
    var random = SeededGenerator(seed: 8)
    for length in 0..<bytes.count {
      let cut = Array(bytes[..<length])
      #expect(throws: FormatError.self) { _ = try UnitOrderRoot(cut.span.bytes) }
    }
    for _ in 0..<400 {
      var damaged = bytes
      damaged[random.below(damaged.count)] = UInt8(random.below(256))
      let root: UnitOrderRoot
      do throws(FormatError) { root = try UnitOrderRoot(damaged.span.bytes) } catch { continue }
      // Counts that are far too great give ranges that a caller would not request.
      if root.visible > 100_000 { continue }
      let wrong = UnitOrder(
        sequence.storage, UnitOrderHistory.keys, root: root, isText: true,
        limits: UnitOrderLimits(nodeBytesMax: 100))
      try useAll(wrong, &random)
      sequence.storage.rows.contents = sound
    }
  }
}
