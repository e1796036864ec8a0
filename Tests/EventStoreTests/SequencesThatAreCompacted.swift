import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Sequences that are compacted")
struct SequencesThatAreCompacted {
  private typealias Sequence = UnitOrder<MemoryFoldStorage>

  /// All units that are there, in their order.
  private struct Units: Equatable {
    var ids: [UnitID] = []
    var visible: Set<UnitID> = []

    init(_ sequence: Sequence) throws {
      try sequence.forEachRun { run in
        for number in run.units.first.number..<run.units.end {
          let unit = UnitID(run.units.first.inserter, number)
          ids.append(unit)
          if run.isVisible { visible.insert(unit) }
        }
      }
    }

    /// Of one that is not there, the last one before it of its inserter.
    func kept(_ unit: UnitID) -> UnitID? {
      ids.filter { $0.inserter == unit.inserter && $0.number <= unit.number }.max { $0.number < $1.number }
    }

    mutating func insert(_ new: UnitRange, after left: UnitID?) {
      let index = left.flatMap { kept($0) }.map { ids.firstIndex(of: $0)! + 1 } ?? 0
      let units = (new.first.number..<new.end).map { UnitID(new.first.inserter, $0) }
      ids.insert(contentsOf: units, at: index)
      visible.formUnion(units)
    }
  }

  /// What writers did, folded, and compacted.
  private func makeSequence(
    _ history: UnitOrderHistory, nodeBytesMax: Int, keepsVisible: Bool = true
  ) throws -> Sequence {
    var sequence = try history.folded(Array(history.operations.indices), nodeBytesMax: nodeBytesMax)
    let before = try sequence.runs.filter(\.isVisible)
    try sequence.compact(keepsVisible: keepsVisible)
    let after = try sequence.runs
    #expect(after.allSatisfy { $0.isVisible && $0.right == nil })
    #expect(keepsVisible ? Content(before) == Content(after) : after.isEmpty)
    return sequence
  }

  /// The units and their content, however they are told in runs.
  private struct Content: Equatable {
    var units: [UnitID] = []
    var text: [UInt8] = []
    /// Those that a move put at a unit.
    var elements: [UnitID?] = []

    init(_ runs: [UnitRun]) {
      for run in runs {
        text += run.text
        for number in run.units.first.number..<run.units.end {
          units.append(UnitID(run.units.first.inserter, number))
          elements.append(run.element)
        }
      }
    }
  }

  /// Writes the places as an earlier program did: all units that were dropped are in leaf 0.
  private func placeAsBefore(_ sequence: Sequence) throws {
    var pieces: [Inserter: [PlaceRow.Entry]] = [:]
    try sequence.forEachLeaf { node, leaf in
      for piece in leaf.pieces {
        for number in piece.first.number..<piece.end {
          pieces[piece.first.inserter, default: []].append(PlaceRow.Entry(number: number, leaf: node))
        }
      }
    }
    for inserter in try sequence.inserters() {
      let first = sequence.tree.keys.places(UnitID(inserter, 0))
      let prefix = first.span.extracting(..<RunKeys.inserterBytes).bytes
      var keys: [[UInt8]] = []
      try sequence.storage.forEachRun(under: prefix.span.bytes) { key, _ in keys.append(key.bytes) }
      for key in keys { sequence.storage.deleteRun(key.span.bytes) }
      var leaves: [UInt64: NodeNumber] = [:]
      for entry in pieces[inserter] ?? [] { leaves[entry.number] = entry.leaf }
      var entries: [PlaceRow.Entry] = []
      for number in 0..<(try sequence.nextNumber(of: inserter.replica, inserter.epoch)) {
        let leaf = leaves[number] ?? PlaceRow.dropped
        if entries.last?.leaf != leaf || entries.count == 3 {
          if entries.count == 3 {
            try write(entries, of: inserter, in: sequence)
            entries = []
          }
          entries.append(PlaceRow.Entry(number: number, leaf: leaf))
        }
      }
      try write(entries, of: inserter, in: sequence)
    }
  }

  private func write(_ entries: [PlaceRow.Entry], of inserter: Inserter, in sequence: Sequence) throws {
    guard let first = entries.first else { return }
    var writer = ByteWriter()
    PlaceRow(entries: entries).append(to: &writer)
    let key = sequence.tree.keys.places(UnitID(inserter, first.number))
    sequence.storage.writeRun(writer.span, key.span)
  }

  @Test("a last row of places that would leave much of a page empty is cut in halves")
  func halvedPlaces() throws {
    let limits = UnitOrderLimits(nodeBytesMax: 16)
    var halved = 0
    for seed in 0..<12 as Range<UInt64> {
      var writers = UnitOrderWriters(2, isText: true, nodeBytesMax: 200, seed: seed)
      for _ in 0..<200 { try writers.step() }
      try writers.exchangeAll()
      let sequence = try makeSequence(writers.history, nodeBytesMax: limits.nodeBytesMax)
      for inserter in try sequence.inserters() {
        let first = sequence.tree.keys.places(UnitID(inserter, 0))
        let prefix = first.span.extracting(..<RunKeys.inserterBytes).bytes
        var rows: [Int] = []
        try sequence.storage.forEachRun(under: prefix.span.bytes) { _, row in rows.append(row.byteCount) }
        #expect(rows.allSatisfy { $0 <= limits.compactedRowBytesMax })
        #expect(!limits.isBetterHalved(rows.last ?? 0))
        if rows.count > 1, limits.isBetterHalved(rows.suffix(2).reduce(0, +)) { halved += 1 }
      }
    }
    #expect(halved > 0)
  }

  @Test(
    "agree with a list, whatever late operations name, and however rows are cut",
    arguments: 0..<16 as Range<UInt64>)
  func lateOperations(_ seed: UInt64) throws {
    let isText = seed % 4 != 3
    var writers = UnitOrderWriters(1 + Int(seed % 3), isText: isText, nodeBytesMax: 200, seed: seed)
    for _ in 0..<200 { try writers.step() }
    try writers.exchangeAll()
    let history = writers.history
    var sequences: [Sequence] = []
    for nodeBytesMax in [64, 100, 2000] {
      sequences.append(try makeSequence(history, nodeBytesMax: nodeBytesMax))
    }
    let old = try makeSequence(history, nodeBytesMax: 64)
    try placeAsBefore(old)
    sequences.append(old.forNextOperation())
    let inserters = try old.inserters()
    #expect(old.root.dropped > 20)
    var random = SeededGenerator(seed: seed &+ 3)
    var model = try Units(sequences[0])
    for step in 0..<120 {
      let inserter = inserters[random.below(inserters.count)]
      let made = try sequences[0].nextNumber(of: inserter.replica, inserter.epoch)
      let unit = UnitID(inserter, UInt64(random.below(Int(made))))
      let writer = inserters[random.below(inserters.count)]
      let operation = HeadID(
        replica: writer.replica, epoch: writer.epoch, sequence: 1 << 20 + UInt64(step), index: 0)
      let length = 1 + random.below(random.chance(20) ? 60 : 4)
      let range = UnitRange(first: unit, count: UInt64(1 + random.below(random.chance(20) ? 90 : 6)))
      let hides = random.chance(40)
      let left = random.chance(5) ? nil : unit
      var inserted: [UnitID] = []
      for index in sequences.indices {
        if hides {
          try sequences[index].setVisible(false, range)
        } else if isText {
          let text = Array(String(repeating: step % 3 == 0 ? "é" : "x", count: length).utf8)
          inserted.append(
            try sequences[index].insert(text: text.span.bytes, by: operation, after: left) { _ in true })
        } else {
          inserted.append(
            try sequences[index].insert(places: UInt64(length), by: operation, after: left) { _ in true })
        }
      }
      if hides {
        model.visible.subtract((range.first.number..<range.end).map { UnitID(inserter, $0) })
      } else {
        #expect(Set(inserted).count == 1)
        model.insert(UnitRange(first: inserted[0], count: UInt64(length)), after: left)
      }
      if step % 10 == 9 {
        for sequence in sequences {
          let (units, problems) = (try Units(sequence), try sequence.verify())
          #expect(units == model)
          #expect(problems == [])
        }
      }
    }
    for inserter in inserters {
      for number in 0..<(try old.nextNumber(of: inserter.replica, inserter.epoch)) {
        let unit = UnitID(inserter, number)
        for sequence in sequences {
          let isDropped = try sequence.isDropped(unit)
          #expect(isDropped == !model.ids.contains(unit))
        }
      }
    }
    let runs = try sequences.map { try $0.runs }
    #expect(Set(runs).count == 1)
    for index in sequences.indices {
      try sequences[index].compact(keepsVisible: true)
      let (units, problems) = (try Units(sequences[index]), try sequences[index].verify())
      #expect(units.ids == model.ids.filter(model.visible.contains) && problems == [])
    }
    #expect(sequences[0].storage.contents == sequences[3].storage.contents)
  }

  @Test("keep nothing but numbers if nothing stays")
  func nothing() throws {
    var writers = UnitOrderWriters(2, nodeBytesMax: 200, seed: 5)
    for _ in 0..<60 { try writers.step() }
    try writers.exchangeAll()
    var sequence = try makeSequence(writers.history, nodeBytesMax: 100, keepsVisible: false)
    let made = sequence.root.made
    #expect(sequence.root.units == 0 && made > 20 && sequence.storage.contents.runs.count == 4)
    let operation = HeadID(replica: ReplicaNumber(rawValue: 1), epoch: 0, sequence: 900, index: 0)
    let text = Array("late".utf8)
    let unit = UnitID(replica: ReplicaNumber(rawValue: 2), epoch: 0, number: 4)
    _ = try sequence.insert(text: text.span.bytes, by: operation, after: unit) { _ in true }
    let (shown, problems) = (try sequence.text(), try sequence.verify())
    #expect(shown == "late" && problems == [] && sequence.root.made == made + 4)
  }

  // MARK: Bytes

  /// Edits of one letter, as a person types: mostly one behind the other, one in fifty elsewhere, three of ten remove a
  /// letter. What is left of them.
  private func typed(_ edits: Int) -> Leaf {
    var random = SeededGenerator(seed: 260)
    var (numbers, place, next): ([UInt64], Int, UInt64) = ([], 0, 0)
    for _ in 0..<edits {
      if random.chance(2) { place = random.below(numbers.count + 1) }
      if place > 0, random.below(1000) < 308 {
        place -= 1
        numbers.remove(at: place)
      } else {
        numbers.insert(next, at: place)
        next += 1
        place += 1
      }
    }
    let inserter = Inserter(replica: ReplicaNumber(rawValue: 1), epoch: 0)
    var leaf = Leaf(parent: 0)
    for (depth, number) in numbers.enumerated() {
      let piece = Piece(
        first: UnitID(inserter, number), count: 1, left: leaf.pieces.last?.last, right: nil, isVisible: true,
        element: nil, text: 0..<0, level: Level(depth: UInt64(depth), rightDepth: 0))
      _ = leaf.insert(piece, text: [UInt8(ascii: "a") + UInt8(number % 26)], at: leaf.pieces.count)
    }
    return leaf
  }

  @Test("take at most 1.75 bytes a character in the pages of a store")
  func bytesAtRest() async throws {
    let edits = 130_000
    let leaf = typed(edits)
    let characters = Int(leaf.units)
    let history = UnitOrderHistory(writers: 1)
    var sequence = history.makeSequence(history.makeStorage(), nodeBytesMax: UnitOrderLimits().nodeBytesMax)
    let inserter = leaf.pieces[0].first.inserter
    try sequence.tree.build(leaf, [(inserter, UInt64(edits))])
    let (problems, units) = (try sequence.verify(), sequence.root.units)
    #expect(problems == [] && units == UInt64(characters))
    let directory = TemporaryDirectory()
    let store = try directory.store()
    let before = try store.environment.beginRead().statistics(of: store.tables.runs).bytes
    let transaction = try store.environment.beginWrite()
    var rows: [UInt8: (count: Int, bytes: Int)] = [:]
    for entry in sequence.storage.contents.runs {
      try transaction.put(entry.row.span.bytes, for: entry.key.span.bytes, in: store.tables.runs)
      let isInner = entry.key[12] == RunKeys.nodeKind && entry.row[0] == InnerNode.tag
      let (count, bytes) = rows[isInner ? 0 : entry.key[12], default: (0, 0)]
      rows[isInner ? 0 : entry.key[12]] = (count + 1, bytes + entry.row.count)
    }
    try transaction.commit()
    let bytes = try Int(store.environment.beginRead().statistics(of: store.tables.runs).bytes - before)
    print(
      "\(characters) characters of \(edits) edits: \(bytes) bytes of pages; rows \(rows.sorted { $0.key < $1.key })"
    )
    #expect(Double(bytes) <= 1.75 * Double(characters))
  }
}
