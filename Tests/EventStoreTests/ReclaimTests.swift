import ChildProcesses
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Zones whose transactions alternate in the log, some deleted: what must remain, and what must be refused.
private struct Mixed {
  static let zones = (0..<4).map { ZoneID(name: Name("zone\($0)")) }
  let store: LocalStore
  /// The log before zones were deleted.
  let entries: [LogEntry]
  let gone: Set<ZoneID>

  /// - Parameter run: how many consecutive transactions a zone has at most.
  init(
    in directory: TemporaryDirectory, seed: UInt64, count: Int, run: Int = 3, bytes: Int = 10,
    gone: Set<ZoneID>
  ) async throws {
    var generator = SeededGenerator(seed: seed)
    store = try directory.store()
    self.gone = gone
    for zone in Self.zones { try await store.makeAttachedZone(zone) }
    var remotes = Self.zones.map { TestRemote(zone: $0) }
    var written = 0
    while written < count {
      let index = generator.below(Self.zones.count)
      for _ in 0...generator.below(run) {
        let record = RecordID(zone: Self.zones[index], name: Name("r\(written)"))
        try await store.write { tx in
          try tx.create(
            record, type: "t", fields: ["f": .bytes([UInt8](repeating: UInt8(index), count: bytes))])
        }
        written += 1
      }
      if generator.chance(30) {
        let remote = remotes[index]
        let sequence = UInt64(
          remote.segments.count { $0.transactions.count == 1 && $0.previousHash == nil } + 1)
        _ = try remotes[index].append([
          transaction(9, sequence, zone: Self.zones[index], [create(Name("theirs\(sequence)"))])
        ])
        _ = try await store.ingest(try remotes[index].news(for: store))
      }
      if generator.chance(30), let acknowledgement = try await remotes[index].shipCut(store) {
        _ = try await store.acknowledge(acknowledgement)
      }
    }
    entries = try store.entries()
    try await store.write { tx in for zone in gone { try tx.deleteZone(zone) } }
  }

  var left: [LogEntry] { entries.filter { !gone.contains($0.transaction.zone) } }

  /// Records that the remote knows all deletions.
  func finish() async throws {
    for zone in gone { try await store.finishDeletion(of: zone, testIncarnation) }
  }

  func check(_ comment: Comment) throws {
    let report = try store.verify()
    #expect(report.problems == [], comment)
    let found = try store.entries()
    #expect(found == left, comment)
    let last = try store.lastPosition()
    #expect(last == entries.last?.position, comment)
    let backwards = try store.read { tx in
      var backwards: [LogEntry] = []
      while let entry = try tx.entry(before: backwards.last?.position) { backwards.append(entry) }
      return backwards
    }
    #expect(backwards == left.reversed(), comment)
    for entry in entries where gone.contains(entry.transaction.zone) {
      let code = code { _ = try store.read { try $0.entry(at: entry.position) } }
      #expect(code == .positionUnknown, comment)
    }
  }
}

@Suite("Reclaiming the space of deleted zones")
struct ReclaimTests {
  let directory = TemporaryDirectory()

  struct Stop: Error {}

  @Test(
    "the other zones keep their positions and contents; nothing of the deleted ones is left",
    arguments: [[0], [1, 2], [0, 1, 2, 3]])
  func whole(_ indices: [Int]) async throws {
    let seed = UInt64.random(in: 0...999_999)
    let gone = Set(indices.map { Mixed.zones[$0] })
    let mixed = try await Mixed(in: directory, seed: seed, count: 120, gone: gone)
    let store = mixed.store
    try mixed.check("seed \(seed)")
    let waiting = try await store.reclaim()
    #expect(waiting.transactions == 0, "seed \(seed)")
    try await mixed.finish()
    try mixed.check("seed \(seed)")
    try await checkSound(store, "seed \(seed)")
    let report = try await store.reclaim()
    let count = mixed.entries.count - mixed.left.count
    #expect(report == ReclaimReport(zones: gone.count, transactions: UInt64(count)), "seed \(seed)")
    try mixed.check("seed \(seed)")
    try await checkSound(store, "seed \(seed)")
    let again = try await store.reclaim()
    #expect(again == ReclaimReport())
    // Each run of removed entries is one row.
    var runs = 0
    var wasGone = false
    for entry in mixed.entries {
      let isGone = gone.contains(entry.transaction.zone)
      if isGone && !wasGone { runs += 1 }
      wasGone = isGone
    }
    let rows = try store.rows(\.log).map { row in
      let (key, value) = (row.key.span, row.value.span)
      return try LogRow(value.bytes, under: key.bytes)
    }
    #expect(rows.count { $0.kind == .removed } == runs, "seed \(seed)")
    let left = rows.filter { $0.kind != .removed }.reduce(0) {
      $0 + $1.positions.upperBound.rawValue - $1.positions.lowerBound.rawValue + 1
    }
    #expect(left == UInt64(mixed.left.count), "seed \(seed)")
    for table in [\Tables.sequences, \.segments, \.placements] {
      let numbers = Set(
        try store.rows { $0[keyPath: table] }.map { try $0.key.span.bytes.bigEndian32(at: 0) })
      #expect(numbers.isDisjoint(with: indices.map { UInt32($0 + 1) }), "seed \(seed)")
    }
    let states = try store.rows(\.states).count
    #expect(states == 4 - gone.count)
    // The log continues after its last position; past and history skip the gaps.
    try await store.write { tx in
      try tx.createZone(Mixed.zones[0])
      try tx.create(RecordID(zone: Mixed.zones[0], name: "after"), type: "t")
    }
    let last = try store.lastPosition()
    #expect(last == mixed.entries.last?.position.next)
    let after = try store.entries(zone: Mixed.zones[0]).last
    #expect(after?.position == last)
    let digests = try store.read { tx in try tx.zones().map { try tx.digest(of: $0) } }
    let past = try store.snapshotBlockingThisThread(at: last)
    let found = try past.read { tx in try tx.zones().map { try tx.digest(of: $0) } }
    #expect(found == digests, "seed \(seed)")
    try await checkSound(store, "seed \(seed)")
  }

  @Test("after any step it continues, and the store is sound in between; so does a rebuild")
  func interrupted() async throws {
    let mixed = try await Mixed(
      in: directory, seed: 4, count: 90, bytes: 900_000, gone: [Mixed.zones[1], Mixed.zones[3]])
    let store = mixed.store
    // A rebuild that began before does not restore them.
    await #expect(throws: Stop.self) { try await store.rebuild { _, _ in throw Stop() } }
    try await mixed.finish()
    var steps = 0
    while true {
      do {
        _ = try await store.reclaim { _ in throw Stop() }
        break
      } catch is Stop {}
      steps += 1
      let report = try store.verify()
      #expect(report.problems == [], "step \(steps)")
      if steps % 3 == 1 {
        await #expect(throws: Stop.self) { try await store.rebuild { _, _ in throw Stop() } }
      }
    }
    print("reclaim: interrupted after each of \(steps) steps")
    #expect(steps > 4)
    try mixed.check("after all")
    try await checkSound(store)
  }

  @Test("a rebuild during which zones are deleted and reclaimed gives the right result")
  func duringARebuild() async throws {
    let mixed = try await Mixed(in: directory, seed: 6, count: 24, bytes: 900_000, gone: [])
    let store = mixed.store
    await #expect(throws: Stop.self) { try await store.rebuild { _, _ in throw Stop() } }
    let (first, second) = (Mixed.zones[0], Mixed.zones[2])
    try await store.write { tx in
      try tx.deleteZone(first)
      try tx.createZone(first)
      try tx.create(RecordID(zone: first, name: "new"), type: "t")
      try tx.deleteZone(second)
    }
    for zone in [first, second] { try await store.finishDeletion(of: zone, testIncarnation) }
    let digest = try store.digest(of: Mixed.zones[1])
    await #expect(throws: Stop.self) { try await store.reclaim { if $0.transactions > 0 { throw Stop() } } }
    await #expect(throws: Stop.self) { try await store.rebuild { _, _ in throw Stop() } }
    _ = try await store.reclaim()
    let report = try await store.rebuild()
    #expect(report.wasResumed)
    let after = try store.digest(of: Mixed.zones[1])
    #expect(after == digest)
    let records = try store.read { try $0.records(in: first).map(\.id.name) }
    #expect(records == ["new"])
    try await checkSound(store)
  }

  @Test("if a process that reclaims is killed, the next one continues", .timeLimit(.minutes(20)))
  func killed() async throws {
    let seed = UInt64.random(in: 0...999_999)
    var generator = SeededGenerator(seed: seed)
    let mixed = try await Mixed(
      in: directory, seed: seed, count: 45, bytes: 900_000, gone: [Mixed.zones[0], Mixed.zones[2]])
    try await mixed.finish()
    mixed.store.close()
    for cycle in 0..<4 {
      let child = ChildProcess("reclaim", directory.path + "/store")
      for _ in 0..<cycle % 3 { _ = child.line() }
      usleep(UInt32(generator.below(5_000)))
      child.send(SIGKILL)
      let end = child.wait()
      #expect(end == .signal(SIGKILL))
      let opened = try directory.store()
      let report = try opened.verify()
      #expect(report.problems == [], "seed \(seed) cycle \(cycle)")
      opened.close()
    }
    let opened = try directory.store()
    _ = try await opened.reclaim()
    let entries = try opened.entries()
    #expect(entries == mixed.left, "seed \(seed)")
    try await checkSound(opened, "seed \(seed)")
  }

  @Test("many zones are listed in one page, deleted in the next, and reclaimed in a few steps")
  func manyZones() async throws {
    let store = try directory.store()
    let remote = RemoteID(rawValue: 5)
    let part = WideTests.choose(1000, otherwise: 200)
    let zones = (0..<3 * part).map { ZoneID(name: Name("zone\($0)")) }
    func apply(_ kind: ZoneEvent.Kind, _ zones: [ZoneID], _ offset: UInt64) async throws -> ZoneListReport {
      let events = zones.enumerated().map { number, zone in
        ZoneEvent(kind: kind, zone: zone, incarnation: IncarnationID(rawValue: UInt128(number + 1)))
      }
      return try await store.applyZoneEvents(
        events, token: DatabaseToken(remote: remote, offset: offset, hash: .zero), chosen: nil)
    }
    let listed = try await apply(.created, zones, 1)
    #expect(listed.created.count == 3 * part)
    let state = try store.syncState().zones
    #expect(state.count == 3 * part && state.map(\.zone) == zones.sorted())
    let deleted = try await apply(.deleted, Array(zones.prefix(2 * part)), 2)
    #expect(deleted.removed.count == 2 * part)
    var steps = 0
    let report = try await store.reclaim { if $0.zones > 0 { steps += 1 } }
    #expect(report == ReclaimReport(zones: 2 * part, transactions: 0))
    #expect(steps == 1)
    let left = try store.syncState().zones.map(\.zone)
    #expect(left == zones.suffix(part).sorted())
    let verified = try store.verify()
    #expect(verified.problems == [])
  }

  @Test("verification distinguishes a lost entry from a removed one")
  func lost() async throws {
    let mixed = try await Mixed(in: directory, seed: 8, count: 40, gone: [Mixed.zones[1]])
    let store = mixed.store
    try await mixed.finish()
    _ = try await store.reclaim()
    let rows = try store.rows(\.log)
    let runs = rows.filter { $0.value[0] == 2 }
    #expect(runs.count > 2 && runs.count < rows.count)
    for row in runs {
      try store.overwrite(row.key, nil, in: \.log)
      let without = try store.verify()
      #expect(!without.isSound || row == rows.first || row == rows.last, "\(row)")
      for bit in 0..<row.value.count * 8 {
        var flipped = row.value
        flipped[bit / 8] ^= 1 << UInt8(bit % 8)
        try store.overwrite(row.key, flipped, in: \.log)
        let report = try store.verify()
        #expect(!report.isSound, "\(row) bit \(bit)")
      }
      try store.overwrite(row.key, row.value, in: \.log)
    }
    let report = try store.verify()
    #expect(report.problems == [])
  }

  @Test(
    "a log with removed entries is exported without them, and imported without gaps, with its attachments")
  func export() async throws {
    let mixed = try await Mixed(in: directory, seed: 9, count: 40, gone: [Mixed.zones[1], Mixed.zones[2]])
    try await mixed.store.finishDeletion(of: Mixed.zones[1], testIncarnation)
    try await mixed.store.makeZone()
    _ = try await mixed.store.reclaim()
    let imported = try directory.store("imported")
    try await imported.importLines(mixed.store.exportedLines())
    let entries = try imported.entries().map(\.transaction)
    #expect(entries == mixed.left.map(\.transaction))
    try checkContiguous(imported)
    let attachments = try imported.syncState().zones.map(\.attachment)
    // The remote must still learn of one deletion.
    #expect(attachments == [.local, .attached, .deleting, .attached])
    let zones = try imported.syncState().zones.map(\.zone)
    #expect(zones == [noteZone, Mixed.zones[0], Mixed.zones[2], Mixed.zones[3]])
    try await checkSound(imported)
  }
}
