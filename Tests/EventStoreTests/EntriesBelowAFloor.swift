import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Entries at or below a floor, of which a store that retired its history keeps what its snapshot names")
struct EntriesBelowAFloor {
  let directory = TemporaryDirectory()

  private func attached(_ name: String) async throws -> LocalStore {
    let store = try directory.store(name)
    try await store.makeAttachedZone()
    return store
  }

  /// A store that has folded a log.
  private func reader(_ name: String, of segments: [RemoteSegment]) async throws -> LocalStore {
    let store = try await attached(name)
    try await take(segments, into: store)
    return store
  }

  /// Takes segments in, each with the entries that it repeats and that the store has only in its snapshot.
  ///
  /// - Parameter entries: all of the log; nil if these are.
  private func take(
    _ segments: [RemoteSegment], into store: LocalStore, of entries: [RemoteSegment]? = nil
  ) async throws {
    for var segment in segments {
      while true {
        do {
          _ = try await store.ingestOrReject([segment])
          break
        } catch let error as StoreError {
          let offset = try #require(error.neededOffset, "\(error)")
          let first = try #require((entries ?? segments).first { $0.offset == offset })
          let known = segment.earlier.count
          for bytes in first.transactions {
            segment.earlier[try LogTransaction(decoding: bytes.span.bytes).sequence] = bytes
          }
          try #require(segment.earlier.count > known)
        }
      }
    }
    try await store.finishRenewal()
  }

  private func begin(_ store: LocalStore, with manifest: SnapshotManifest, of source: LocalStore) async throws
  {
    try await store.begin(noteZone, with: manifest) { try source.snapshotPart($0, of: manifest) }
  }

  private func close(_ stores: [LocalStore]) { for store in stores { store.close() } }

  /// All know the same of the log, and show the same.
  private func expectEqual(_ stores: [LocalStore], _ comment: Comment) throws {
    let (known, digest) = try (stores[0].knownLog(), stores[0].digest())
    for store in stores {
      let found = try store.knownLog()
      let (more, fewer) = (Set(found).subtracting(known).sorted(), Set(known).subtracting(found).sorted())
      #expect(found == known, "\(comment): has \(more), and not \(fewer)")
      #expect(try store.digest() == digest, comment)
      let report = try store.verify()
      #expect(report.isSound, "\(comment): \(report)")
      let (named, counted) = try store.floorsThatCount()
      #expect(named == counted, comment)
    }
  }

  @Test(
    "A store that retires, one that had read a part, and one that begins with the snapshot know the same from then on",
    arguments: WideTests.choose(1...200, otherwise: 1...8))
  func equal(seed: UInt64) async throws {
    var log = RandomLog(seed: seed)
    for _ in 0..<60 { try log.append() }
    let whole = try await reader("whole", of: log.remote.segments)
    let part = try await reader("part", of: Array(log.remote.segments.prefix(25)))
    try await part.write { tx in
      try tx.create(note("own"), type: "note")
      try tx.set("f", of: note("own"), to: "unsent")
    }
    var former: [Int] = []
    for round in 0..<3 {
      let manifest = try whole.makeSnapshot(of: noteZone)
      let begun = try await attached("begun \(round)")
      try await begin(begun, with: manifest, of: whole)
      try await begin(part, with: manifest, of: whole)
      try await whole.retireHistory(of: noteZone)
      try expectEqual([whole, begun], "round \(round)")
      #expect(try part.knownLog() == whole.knownLog() && part.verify().isSound)
      #expect(try part.read { try $0.pendingCount(in: noteZone) } == 1)
      former.append(try whole.rows("segments"))
      // What comes then is taken, or rejected, by all alike.
      let last = log.remote.segments.count
      for _ in 0..<30 { try log.append() }
      for store in [whole, begun, part] {
        try await take(Array(log.remote.segments[last...]), into: store, of: log.remote.segments)
      }
      try expectEqual([whole, begun], "after round \(round)")
      #expect(try part.knownLog() == whole.knownLog())
      #expect(try begun.makeSnapshot(of: noteZone) == whole.makeSnapshot(of: noteZone))
      begun.close()
    }
    let fresh = try await reader("fresh", of: log.remote.segments)
    #expect(try fresh.digest() == whole.digest())
    #expect(try fresh.makeSnapshot(of: noteZone) == whole.makeSnapshot(of: noteZone))
    let floor = try #require(try whole.information().zones[0].floor)
    // It grows with what is behind the floor.
    #expect(former.last! < log.remote.segments.count - 40 || floor < 40, "\(former), floor \(floor)")
    _ = try await whole.rebuild()
    #expect(try fresh.digest() == whole.digest())
    close([whole, part, fresh])
  }

  /// A log of one writer with a floor at all but the last entry.
  private func plainLog(_ count: UInt64) throws -> TestRemote {
    var remote = TestRemote()
    for number in 1...count {
      _ = try remote.append([
        transaction(7, number, base: number > 1 ? number - 1 : nil, [set("r", "f", .int(Int64(number)))])
      ])
    }
    _ = try remote.append([transaction(7, count + 1, base: count, [.compact(floor: count)])])
    return remote
  }

  @Test("Of one writer's log below the floor one entry stays, and one run of places")
  func rows() async throws {
    let store = try await reader("store", of: plainLog(500).segments)
    #expect(try store.rows("segments") == 501 && store.rows("placements") == 501)
    try await store.retireHistory(of: noteZone)
    // The last one of the lane at or below the floor, and that of the floor.
    #expect(try store.rows("segments") == 2 && store.rows("placements") == 3)
    let known = try store.knownLog()
    // Nothing is left to do.
    _ = try await store.reclaim()
    try await store.retireHistory(of: noteZone)
    #expect(try store.knownLog() == known)
    #expect(try store.verify().isSound)
    store.close()
  }

  @Test(
    "A segment that repeats what is at or below the floor is taken as by a store that began with the snapshot"
  )
  func repeated() async throws {
    var remote = try plainLog(20)
    let store = try await reader("store", of: remote.segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    let begun = try await attached("begun")
    try await begin(begun, with: manifest, of: store)
    try await store.retireHistory(of: noteZone)
    func next(_ transactions: [LogTransaction], taken: Bool) async throws {
      var forked = remote
      let segment = try forked.append(transactions)
      for store in [store, begun] {
        let code = await awaitedCode { _ = try await store.ingest([segment]) }
        #expect((code == nil) == taken, "\(code.map { "\($0)" } ?? "taken")")
      }
      try expectEqual([store, begun], "\(transactions.count) transactions")
      if taken { remote = forked }
    }
    let known = try remote.segments[4...6].flatMap(\.transactions).map {
      try LogTransaction(decoding: $0.span.bytes)
    }
    try await next(known, taken: true)
    // Its sequence is enough there.
    try await next([transaction(7, 6, base: 5, [set("r", "f", "other")])], taken: true)
    // That of the floor is above it: it is compared with the entry, which is to be read again.
    try await next([transaction(7, 21, base: 20, [.compact(floor: 20)])], taken: false)
    // A hole, a base that goes back, and what follows.
    try await next([transaction(7, 23, base: 20, [set("r", "f", 23)])], taken: false)
    try await next([transaction(7, 22, base: 20, [set("r", "f", 22)])], taken: true)
    try await next([transaction(8, 1, base: 3, [set("r", "f", "late")])], taken: true)
    close([store, begun])
  }

  @Test("A store that knows the log's floor takes no snapshot that states another one")
  func otherFloor() async throws {
    var remote = try plainLog(10)
    _ = try remote.append([transaction(7, 12, base: 11, [set("r", "f", 12)])])
    let store = try await reader("store", of: remote.segments)
    let other = try await reader("other", of: remote.segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    #expect(manifest.floor == 10)
    var stated = manifest
    stated.floor = 11
    #expect(await awaitedCode { try await begin(other, with: stated, of: store) } == .mismatch)
    try await begin(other, with: manifest, of: store)
    // Nor does it keep such a manifest in place of the one that its zone begins with.
    #expect(await awaitedCode { try await begin(other, with: stated, of: store) } == .outOfOrder)
    #expect(try other.origin(of: noteZone) == manifest && other.verify().isSound)
    close([store, other])
  }

  @Test("Work that is cut short continues after any number of steps", arguments: [2, 3, 7])
  func cutShort(rows: Int) async throws {
    var log = RandomLog(seed: 5)
    for _ in 0..<60 { try log.append() }
    var store = try await reader("store", of: log.remote.segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    let begun = try await attached("begun")
    try await begin(begun, with: manifest, of: store)
    try await OriginChange(core: store.core, zone: noteZone, manifest: manifest).commit { _, _ in }
    try await store.finishRenewal()
    try await RetiredEntries.removeAll(store.core)
    let before = try store.rows("segments")
    #expect(try store.knownLog() != begun.knownLog())
    var (steps, isDone) = (1, false)
    while !isDone {
      let core = store.core
      let (zone, content) = try #require(try core.read { try $0.readView.lanes.folding().first })
      #expect(content == manifest.content)
      let head = try SnapshotHead(manifest) { try core.snapshots.part($0, of: manifest) }
      let entries = FoldedEntries(zone, manifest, head)
      var left: FoldedEntries.Progress? = FoldedEntries.Progress()
      for _ in 0..<steps {
        guard let progress = left else { break }
        left = try await core.perform {
          try entries.step($0.storage, from: progress, RemovalBudget(rows: rows))
        }
        let report = try store.verify()
        #expect(report.isSound, "\(report)")
        #expect(try store.digest() == begun.digest())
      }
      isDone = left == nil
      steps += 5
      store.close()
      store = try directory.store("store")
    }
    #expect(steps > 11)
    #expect(try store.rows("segments") < before)
    _ = try await store.reclaim()
    try expectEqual([store, begun], "in the end")
    close([store, begun])
  }

  @Test("Reclaiming space continues it, also after an earlier program or a crash left it undone")
  func reclaimed() async throws {
    let store = try await reader("store", of: plainLog(50).segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    try await OriginChange(core: store.core, zone: noteZone, manifest: manifest).commit { _, _ in }
    store.close()
    let again = try directory.store("store")
    #expect(try again.rows("segments") == 51)
    _ = try await again.reclaim()
    #expect(try again.rows("segments") == 2)
    #expect(try again.verify().isSound)
    #expect(try again.read { try $0.readView.lanes.folding().isEmpty })
    again.close()
  }

  @Test("What waits to be sent, and what was sent and not read, stays")
  func unsent() async throws {
    var remote = try plainLog(20)
    let store = try await reader("store", of: remote.segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    for number in 1...3 {
      try await store.write { tx in
        if number == 1 { try tx.create(note("own"), type: "note") }
        try tx.set("f", of: note("own"), to: .int(Int64(number)))
      }
    }
    // Another one came before the first is read.
    _ = try remote.append([transaction(8, 1, base: 3, [set("r", "f", "late")])])
    let sent = try #require(try remote.ship(store, limit: 1))
    _ = try await store.acknowledge(sent)
    let cut = try #require(try store.nextCut(of: noteZone))
    _ = try await store.storeCut(cut.header)
    try await begin(store, with: manifest, of: store)
    #expect(try store.rows("segments") == 3)
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 2)
    #expect(try store.nextCut(of: noteZone)?.header == cut.header)
    #expect(try store.verify().isSound)
    try await take(Array(remote.segments[21...]), into: store)
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 0)
    let fresh = try await reader("fresh", of: remote.segments)
    #expect(try fresh.digest() == store.digest())
    close([store, fresh])
  }

  @Test("A store that cannot tell where its lanes lie loses nothing more, and a verification says so")
  func damaged() async throws {
    let store = try await reader("store", of: plainLog(20).segments)
    let manifest = try store.makeSnapshot(of: noteZone)
    try await OriginChange(core: store.core, zone: noteZone, manifest: manifest).commit { _, _ in }
    try await store.core.perform { store in
      let storage = store.storage
      let zone = try storage.zones.number(of: noteZone)
      let incarnation = try #require(try storage.zones.origin(of: zone)).incarnation
      let replica = try #require(try storage.replicas.number(of: ReplicaID(rawValue: 7)))
      let key = TableKey.placement(zone, incarnation, replica, 0, last: 10)
      _ = try storage.transaction.delete(key.span, in: storage.tables.placements)
    }
    _ = try await store.reclaim()
    #expect(try store.rows("segments") == 21)
    #expect(try !store.verify().isSound)
    store.close()
  }
}

/// A log that some writers write at random: with segments that repeat what came before, some of which bring more, holes that
/// close a lane, and floors.
private struct RandomLog {
  private(set) var remote = TestRemote()
  private var random: SeededRandom
  private var lanes = (0..<4).map { Lane(replica: UInt128(20 + $0)) }
  private var nextReplica: UInt128 = 30
  private var floor: UInt64 = 0

  private struct Lane {
    var replica: UInt128
    var transactions: [LogTransaction] = []
    var base: UInt64 = 0
  }

  init(seed: UInt64) { random = SeededRandom(seed: seed) }

  mutating func append() throws {
    let index = random.next(below: lanes.count)
    var lane = lanes[index]
    let next = UInt64(lane.transactions.count) + 1
    if random.next(below: 20) == 0 {
      // Its writer continues in another lane.
      let hole = transaction(lane.replica, next + 2, [set("r0", "f", "hole")])
      _ = try remote.append([hole])
      lanes[index] = Lane(replica: nextReplica)
      nextReplica += 1
      return
    }
    if random.next(below: 3) > 0 {
      lane.base += UInt64(random.next(below: Int(remote.last - lane.base) + 1))
    }
    var segment = Array(lane.transactions.suffix(random.next(below: 8) == 0 ? 3 : 0))
    for sequence in next...next + UInt64(random.next(below: 4)) {
      var operations = [operation(by: lane.replica)]
      if lane.base > floor, random.next(below: 9) == 0 {
        floor += 1 + UInt64(random.next(below: Int(lane.base - floor)))
        operations = [.compact(floor: floor)]
      }
      let base = lane.base > 0 ? lane.base : nil
      segment.append(transaction(lane.replica, sequence, base: base, operations))
    }
    if random.next(below: 12) == 0 { segment = Array(lane.transactions.suffix(2)) }
    if segment.isEmpty { return }
    _ = try remote.append(segment, receivedMilliseconds: random.next(below: 2) == 0 ? 2_000_000 : nil)
    lane.transactions += segment.filter { $0.sequence > UInt64(lane.transactions.count) }
    lanes[index] = lane
  }

  private mutating func operation(by replica: UInt128) -> LogOperation {
    let (record, value) = (Name("r\(random.next(below: 3))"), Value.int(Int64(random.next(below: 1000))))
    func update(_ field: Name, _ change: FieldChange) -> LogOperation {
      .update(record: record, type: "note", field: field, change)
    }
    switch random.next(below: 6) {
    case 0: return .create(record: record, type: "note")
    case 1: return update("tags", .insert(value))
    case 2: return update("body", .insertText("ab", after: nil))
    case 3: return update("map", .put(key: Name("k\(random.next(below: 3))"), value))
    default: return set(record, Name("f\(random.next(below: 2))"), value)
    }
  }
}
