import Foundation
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

/// What a read sees of a store, without its log.
private struct Seen: Equatable {
  var digests: [ZoneID: ContentHash] = [:]
  var found: [[QueryHit]] = []
  var conflicts: [ZoneID: [Conflict]] = [:]

  init(_ tx: borrowing ReadTransaction) throws {
    for zone in try tx.zones() {
      digests[zone] = try tx.digest(of: zone)
      conflicts[zone] = try tx.conflicts(in: zone)
      for order in ["n", "f1"] as [Name] {
        let field = QueryField(.field(order, .register))
        found.append(try tx.hits(RecordQuery(zones: [zone], order: [QueryOrder(field)])))
        found.append(
          try tx.hits(
            RecordQuery(
              types: ["note"], zones: [zone], order: [QueryOrder(field, isDescending: true)], limit: 3)))
        found.append(
          try tx.hits(RecordQuery(types: ["note"], zones: [zone], condition: .compare(field, .less, 5))))
      }
    }
  }
}

extension Seen {
  /// What differs, in short.
  fileprivate func differences(from other: Seen) -> [String] {
    var differences: [String] = []
    if digests != other.digests { differences.append("digests") }
    if conflicts != other.conflicts { differences.append("conflicts") }
    for (index, (mine, others)) in zip(found, other.found).enumerated() where mine != others {
      differences.append("query \(index): \(mine.map(\.record)) instead of \(others.map(\.record))")
    }
    return differences
  }
}

extension LocalStore {
  /// The whole fold of the log up to a position: the oracle.
  fileprivate func seenByOracle(at position: Position) throws -> Seen {
    try withScratchFold(through: position) { try Seen($0) }
  }

  fileprivate func seen(at position: Position) throws -> Seen {
    try snapshotBlockingThisThread(at: position).read { try Seen($0) }
  }
}

@Suite("The past of a store, compared with a whole fold of its log")
struct SnapshotsOfThePast {
  let directory = TemporaryDirectory()

  private static func index(_ field: Name) -> IndexDefinition {
    IndexDefinition(field, of: ["note"], by: [IndexPart(.value(QueryField(.field(field, .register))))])
  }

  private func makeStore(_ name: String = "store") throws -> LocalStore {
    try directory.store(name) {
      $0.indexes = [Self.index("n")]
    }
  }

  @Test("the empty store can be read before any other position was", .timeLimit(.minutes(20)))
  func emptyStore() async throws {
    let store = try makeStore()
    try await store.makeZone()
    try await store.write { tx in try tx.create(note("a"), type: "note") }
    let start = try store.snapshotBlockingThisThread(at: .start)
    #expect(try start.read { tx in try tx.records(in: noteZone).count } == 0)
    #expect(try store.seen(at: .start) == store.seenByOracle(at: .start))
    let last = try store.lastPosition()
    #expect(try store.seen(at: last) == store.seenByOracle(at: last))
  }

  private func write(_ store: LocalStore, _ random: inout SeededGenerator, count: Int) async throws {
    for _ in 0..<count {
      let numbers = (0..<6).map { _ in random.below(1000) }
      try await store.write { tx in
        let zone = ZoneID(name: Name("zone\(numbers[0] % 2)"))
        try tx.createZone(zone)
        let record = RecordID(zone: zone, name: Name("r\(numbers[1] % 12)"))
        guard try tx.contains(record) else {
          try tx.create(record, type: numbers[2] % 3 > 0 ? "note" : "task")
          return try tx.set("n", of: record, to: .int(Int64(numbers[3] % 10)))
        }
        switch numbers[2] % 9 {
        case 0: try tx.delete(record)
        case 1: try tx.add(.int(Int64(numbers[3])), to: "likes", of: record)
        case 2: try tx.insert(.int(Int64(numbers[3] % 20)), into: "tags", of: record)
        case 3: try tx.remove(.int(Int64(numbers[3] % 20)), from: "tags", of: record)
        case 4:
          let text = String(repeating: "ab", count: 1 + numbers[3] % 40)
          try tx.insertText(text, at: 0, in: "body", of: record)
        case 5:
          let other = RecordID(zone: zone, name: Name("r\(numbers[4] % 12)"))
          try tx.set("f1", of: record, to: .reference(Reference(record: other.name, rule: .cascade)))
        case 6:
          try tx.set(Name("wide\(numbers[3])"), of: record, to: .string(String(repeating: "x", count: 90)))
        default: try tx.set("n", of: record, to: .int(Int64(numbers[3] % 10)))
        }
      }
    }
  }

  private func expectOracle(
    _ store: LocalStore, _ position: Position, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let (seen, expected) = (try store.seen(at: position), try store.seenByOracle(at: position))
    #expect(seen.differences(from: expected) == [], "position \(position)", sourceLocation: sourceLocation)
  }

  @Test(
    "any position in any order shows what the oracle shows, also while the log grows",
    arguments: WideTests.choose(1...3, otherwise: 1...1))
  func positions(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let store = try makeStore()
    for _ in 0..<5 {
      try await write(store, &random, count: 300)
      let last = try store.lastPosition().rawValue
      for _ in 0..<6 {
        let position = Position(rawValue: UInt64(random.below(Int(last) + 1)))
        try expectOracle(store, position)
      }
    }
    let last = try store.lastPosition()
    let now = try store.read { try Seen($0) }
    let seen = try store.seen(at: last)
    #expect(seen.differences(from: now) == [])
    // It is kept beside the store.
    store.close()
    let again = try makeStore()
    var steps = 0
    let past = try again.snapshotBlockingThisThread(at: last) { _, _ in steps += 1 }
    #expect(steps == 0)
    let kept = try past.read { try Seen($0) }
    #expect(kept.differences(from: now) == [])
  }

  @Test("a record is read as it was, by its name and by an index")
  func record() async throws {
    let store = try makeStore()
    let record = RecordID(zone: noteZone, name: "r")
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(record, type: "note")
    }
    for number in 1...2000 {
      try await store.write { try $0.set("n", of: record, to: .int(Int64(number))) }
    }
    for position in [1000, 17, 1999, 2001, 1] as [UInt64] {
      let past = try await store.snapshot(at: Position(rawValue: position))
      let expected: Value? = position > 1 ? .int(Int64(position - 1)) : nil
      let found = try past.read { try $0.value(of: "n", in: record) }
      #expect(found == expected)
      let field = QueryField(.field("n", .register))
      let query = RecordQuery(
        types: ["note"], zones: [noteZone], condition: .compare(field, .equal, expected ?? .null))
      #expect(try past.read { try $0.hits(query).map(\.record) } == [record])
      #expect("\(try past.read { try $0.explain(query) })".contains("index"))
    }
    let start = try await store.snapshot(at: .start)
    #expect(try start.read { try !$0.contains(record) })
  }

  @Test("a time is the last transaction that had arrived")
  func times() async throws {
    let clock = TestClock(1_000_000)
    let store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeZone()
    try await store.write { try $0.create(note("r"), type: "note") }
    for number in 1...20 {
      clock.milliseconds = 1_000_000 + Int64(number) * 1000
      try await store.write { try $0.set("n", of: note("r"), to: .int(Int64(number))) }
    }
    for (time, number) in [(1_000_999, nil), (1_001_000, 1), (1_007_500, 7), (9_000_000, 20)]
      as [(Int64, Int64?)]
    {
      let past = try await store.snapshot(asOf: time)
      #expect(try past.read { try $0.value(of: "n", in: note("r")) } == number.map { .int($0) })
    }
    #expect(try await store.snapshot(asOf: 0).position == .start)
  }

  @Test("a new index, a removed zone and a fold that is given up leave nothing wrong")
  func changes() async throws {
    var random = SeededGenerator(seed: 9)
    let store = try makeStore()
    try await write(store, &random, count: 700)
    let middle = Position(rawValue: 350)
    let past = try await store.snapshot(at: middle)
    let (read1, oracle1) = (try past.read { try Seen($0) }, try store.seenByOracle(at: middle))
    #expect(read1.differences(from: oracle1) == [])
    try await store.declareIndexes([
      Self.index("n"),
      Self.index("f1"),
    ])
    try expectOracle(store, middle)
    try await store.write { try $0.deleteZone(ZoneID(name: "zone1")) }
    struct Enough: Error {}
    try store.removePast()
    #expect(throws: Enough.self) {
      _ = try store.snapshotBlockingThisThread(at: middle) { _, _ in throw Enough() }
    }
    let zones = try past.read { try $0.zones() }
    #expect(zones == [ZoneID(name: "zone0")])
    let (read2, oracle2) = (try past.read { try Seen($0) }, try store.seenByOracle(at: middle))
    #expect(read2.differences(from: oracle2) == [])
    _ = try await store.rebuild()
    try expectOracle(store, middle)
  }

  @Test("many read and fold the past at the same time, while others write and remove it")
  func together() async throws {
    let store = try makeStore()
    var random = SeededGenerator(seed: 3)
    try await write(store, &random, count: 200)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for task in 0..<4 {
        group.addTask {
          var random = SeededGenerator(seed: UInt64(task))
          for _ in 0..<WideTests.choose(25, otherwise: 10) {
            let last = try store.lastPosition().rawValue
            let position = Position(rawValue: UInt64(random.below(Int(last) + 1)))
            let past = try await store.snapshot(at: position)
            let count = try past.read { tx in
              try tx.zones().reduce(0) { try $0 + tx.count(RecordQuery(zones: [$1])) }
            }
            #expect(count <= 24)
          }
        }
      }
      group.addTask { [self] in
        var random = SeededGenerator(seed: 99)
        try await write(store, &random, count: 300)
      }
      group.addTask {
        for _ in 0..<20 {
          try store.removePast()
          await Task.yield()
          _ = try await store.undoManager().undo()
        }
      }
      try await group.waitForAll()
    }
    try expectOracle(store, Position(rawValue: 333))
  }

  @Test("files that are damaged are made again")
  func damage() async throws {
    var random = SeededGenerator(seed: 4)
    var store = try makeStore()
    try await write(store, &random, count: 200)
    let position = Position(rawValue: 120)
    let before = try store.seen(at: position)
    store.close()
    for damaged in [Data(), Data(repeating: 7, count: 9000), Data(repeating: 0, count: 8192)] {
      try damaged.write(to: URL(fileURLWithPath: directory.path + "/store/past/data.mdb"))
      store = try makeStore()
      #expect(try store.seen(at: position) == before)
      store.close()
    }
    // What cannot be read later is made again for the next read.
    let path = directory.path + "/store/past/data.mdb"
    let whole = try Data(contentsOf: URL(fileURLWithPath: path))
    for page in 2..<min(40, whole.count / 4096) {
      var damaged = whole
      damaged.replaceSubrange(page * 4096..<(page + 1) * 4096, with: Data(repeating: 0, count: 4096))
      try damaged.write(to: URL(fileURLWithPath: path))
      store = try makeStore()
      let first = try? store.seen(at: position)
      #expect(first == nil || first == before, "page \(page)")
      #expect(try store.seen(at: position) == before, "page \(page)")
      store.close()
    }
  }
}
