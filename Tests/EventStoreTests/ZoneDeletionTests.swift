import ChildProcesses
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Deleting a zone")
struct ZoneDeletionTests {
  let directory = TemporaryDirectory()

  struct Stop: Error {}

  private func write(_ store: LocalStore, _ name: String, _ label: String? = nil) async throws {
    try await store.write { tx in
      tx.label = label
      try tx.createZone(noteZone)
      try tx.create(note(name), type: "note", fields: ["f": .string(name)])
    }
  }

  @Test("it is gone from every query immediately, and a new zone with its name has nothing of it")
  func madeAgain() async throws {
    let store = try directory.store()
    try await store.makeZone(ZoneID(name: "other"))
    for name in ["a", "b"] { try await write(store, name) }
    let first = try store.entries()[0]
    let id = TransactionID(replica: store.identity.replica, epoch: 0, sequence: 1)
    try await store.write { try $0.deleteZone(noteZone) }
    let codes = [
      code { _ = try store.read { try $0.records(in: noteZone) } },
      code { _ = try store.read { try $0.contains(note("a")) } },
      code { _ = try store.read { try $0.value(of: "f", in: note("a")) } },
      code { _ = try store.read { try $0.digest(of: noteZone) } },
      code { _ = try store.read { try $0.pendingCount(in: noteZone) } },
      code { _ = try store.read { try $0.token(of: noteZone) } },
      code { _ = try store.read { try $0.position(of: id, in: noteZone) } },
      code { _ = try store.read { try $0.history(zone: noteZone) { _ in true } } },
      await awaitedCode { try await store.write { try $0.set("f", of: note("a"), to: 1) } },
      await awaitedCode { try await store.write { try $0.deleteZone(noteZone) } },
    ]
    #expect(codes == Array(repeating: .zoneUnknown, count: codes.count))
    let hidden = code { _ = try store.read { try $0.entry(at: first.position) } }
    #expect(hidden == .positionUnknown)
    let bytes = code { _ = try store.read { try $0.bytes(at: first.position) } }
    #expect(bytes == .positionUnknown)
    let shown = try store.read { try $0.zones() }
    #expect(shown == [ZoneID(name: "other")])
    let entries = try store.entries()
    #expect(entries == [])
    // It was never synced: the remote need not learn of it.
    let state = try store.syncState().zones.map(\.zone)
    #expect(state == [ZoneID(name: "other")])
    try await checkSound(store)

    try await write(store, "c")
    let again = try store.entries()
    #expect(again.map(\.transaction.sequence) == [1])
    #expect(again.map(\.position.rawValue) == [3])
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == ["c"])
    try await checkSound(store)
    let report = try await store.reclaim()
    #expect(report == ReclaimReport(zones: 1, transactions: 2))
    try await checkSound(store)
    let after = try store.entries()
    #expect(after == again)
  }

  @Test("pending transactions are deleted too; a synced zone's row stays until the remote knows")
  func synced() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "a")
    var remote = TestRemote()
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    try await write(store, "b")
    let cut = try #require(try store.nextCut(of: noteZone))
    _ = try await store.storeCut(cut.header)
    try await store.write { try $0.deleteZone(noteZone) }
    let token = ChangeToken(
      zone: noteZone, incarnation: testIncarnation, offset: 1, hash: acknowledgement.hash,
      chain: try store.syncState().zones[0].token?.chain)
    let deleting = ZoneSyncState(zone: noteZone, attachment: .deleting, token: token, pending: 1)
    var state = try store.syncState().zones
    #expect(state == [deleting])
    let refused = [
      await awaitedCode { _ = try await store.ingest(remote.segments) },
      await awaitedCode { _ = try await store.acknowledge(acknowledgement) },
      await awaitedCode { _ = try await store.storeCut(cut.header) },
      await awaitedCode { try await store.adopt(noteZone, testIncarnation) },
      code { _ = try store.nextCut(of: noteZone) },
    ]
    #expect(refused == Array(repeating: .zoneUnknown, count: refused.count))
    // Reclaiming keeps it: the remote does not know yet.
    _ = try await store.reclaim()
    state = try store.syncState().zones
    #expect(state == [deleting])
    try await checkSound(store)
    // A zone with its name is another zone, at the same time.
    let next = IncarnationID(rawValue: 77)
    try await store.makeAttachedZone(noteZone, next)
    try await write(store, "c")
    state = try store.syncState().zones
    #expect(state.map(\.attachment) == [.attached, .deleting])
    #expect(state.map(\.token?.incarnation) == [next, testIncarnation])
    try await store.finishDeletion(of: noteZone, next)
    state = try store.syncState().zones
    #expect(state.count == 2)
    try await store.finishDeletion(of: noteZone, testIncarnation)
    state = try store.syncState().zones
    #expect(state.map(\.attachment) == [.attached])
    let report = try await store.reclaim()
    #expect(report == ReclaimReport(zones: 1, transactions: 2))
    for table in [try store.rows(\.segments), try store.rows(\.placements)] { #expect(table == []) }
    let cuts = try store.rows(\.zones).filter { $0.key[0] == 3 }
    #expect(cuts == [])
    try await checkSound(store)
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == ["c"])
  }

  @Test("in a write: the write's earlier changes in it are deleted, its later ones are in the new zone")
  func inOneWrite() async throws {
    let store = try directory.store()
    try await write(store, "old")
    try await store.write { tx in
      try tx.create(note("lost"), type: "note")
      try tx.deleteZone(noteZone)
      let isGone = code { _ = try tx.contains(note("old")) }
      #expect(isGone == .zoneUnknown)
      let isNew = try tx.createZone(noteZone)
      #expect(isNew)
      let isThere = try tx.contains(note("old"))
      #expect(!isThere)
      try tx.create(note("new"), type: "note")
      try tx.createZone(ZoneID(name: "short"))
      try tx.create(RecordID(zone: ZoneID(name: "short"), name: "r"), type: "t")
      try tx.deleteZone(ZoneID(name: "short"))
    }
    let entries = try store.entries()
    #expect(entries.map(\.transaction.sequence) == [1])
    #expect(entries.map(\.transaction.operations.count) == [1])
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == ["new"])
    await #expect(throws: Stop.self) {
      try await store.write { tx in
        try tx.deleteZone(noteZone)
        throw Stop()
      }
    }
    let still = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(still == ["new"])
    try await checkSound(store)
    let report = try await store.reclaim()
    #expect(report == ReclaimReport(zones: 2, transactions: 1))
    try await checkSound(store)
  }

  @Test("in a group of writes that share a commit: undoing one undoes only its deletion")
  func inAGroup() async throws {
    let store = try directory.store()
    try await write(store, "a")
    let gate = Signal()
    let held = Task.immediate {
      try await store.write { tx in
        gate.wait()
        try tx.create(note("held"), type: "note")
      }
    }
    let undone = Task.immediate {
      try await store.write { tx in
        try tx.deleteZone(noteZone)
        try tx.createZone(noteZone)
        try tx.create(note("undone"), type: "note")
        throw Stop()
      }
    }
    let after = Task.immediate { try await store.write { try $0.create(note("after"), type: "note") } }
    let deletion = Task.immediate { try await store.write { try $0.deleteZone(noteZone) } }
    let refused = Task.immediate { try await store.write { try $0.create(note("refused"), type: "note") } }
    let again = Task.immediate { try await write(store, "again") }
    gate.raise()
    try await held.value
    await #expect(throws: Stop.self) { try await undone.value }
    try await after.value
    try await deletion.value
    let code = await awaitedCode { try await refused.value }
    #expect(code == .zoneUnknown)
    try await again.value
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == ["again"])
    let entries = try store.entries()
    #expect(entries.map(\.transaction.sequence) == [1])
    #expect(entries.map(\.position.rawValue) == [4])
    try await checkSound(store)
    _ = try await store.reclaim()
    try await checkSound(store)
  }

  #if DEBUG
    @Test("a commit that finds the map full is repeated with its changes to zones")
    func fullCommit() async throws {
      let plan = FaultPlan()
      let store = try directory.store {
        $0.mapBytes = 256 << 20
        $0.faults = plan
      }
      try await write(store, "old")
      let other = ZoneID(name: "other")
      plan.fail(1, of: "mdb_txn_commit", with: .mapFull)
      try await store.write { tx in
        try tx.deleteZone(noteZone)
        try tx.createZone(noteZone)
        try tx.attachZone(noteZone)
        try tx.create(note("new"), type: "note")
        try tx.createZone(other)
        try tx.create(RecordID(zone: other, name: "r"), type: "t")
        try tx.deleteZone(other)
      }
      #expect(plan.hasFailed)
      let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
      #expect(records == ["new"])
      let zones = try store.syncState().zones
      #expect(
        zones == [ZoneSyncState(zone: noteZone, attachment: .attached, token: nil, pending: 1)])
      let sequences = try store.entries().map(\.transaction.sequence)
      #expect(sequences == [1])
      try await checkSound(store)
    }

    @Test(
      "a commit that failed although the store has it reports that, also if it deleted a zone it wrote to")
    func uncertainCommit() async throws {
      let plan = FaultPlan()
      let store = try directory.store {
        $0.mapBytes = 256 << 20
        $0.faults = plan
      }
      try await write(store, "old")
      plan.fail(1, of: "mdb_txn_commit", with: .inputOutput)
      let failed = await awaitedCode {
        try await store.write { tx in
          try tx.set("f", of: note("old"), to: 2)
          try tx.deleteZone(noteZone)
        }
      }
      #expect(failed == .commitFailed)
      let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
      #expect(records == ["old"])
      try await checkSound(store)
    }
  #endif

  @Test("a reader that was open before still sees it, whatever others have read since")
  func openReader() async throws {
    let store = try directory.store()
    try await write(store, "old")
    let reader = ReadTransaction(
      try store.environment.beginRead(), tables: store.tables, interned: Interned(), identity: store.identity)
    let shared = Interned()
    let early = ReadTransaction(
      try store.environment.beginRead(), tables: store.tables, interned: shared, identity: store.identity)
    try await store.write { tx in
      try tx.deleteZone(noteZone)
      try tx.createZone(noteZone)
      try tx.create(note("new"), type: "note")
    }
    let late = ReadTransaction(
      try store.environment.beginRead(), tables: store.tables, interned: shared, identity: store.identity)
    // The two share a cache, and read in turn.
    for _ in 0..<2 {
      let found = [
        try early.records(in: noteZone).map(\.id.name), try late.records(in: noteZone).map(\.id.name),
      ]
      #expect(found == [["old"], ["new"]])
    }
    let before = try reader.records(in: noteZone).map(\.id.name)
    #expect(before == ["old"])
    let entry = try reader.entry(at: Position(rawValue: 1)).transaction.operations.count
    #expect(entry == 2)
  }

  @Test("by another process: this one's cache does not count", .timeLimit(.minutes(20)))
  func otherProcess() async throws {
    let store = try directory.store()
    try await write(store, "first")
    let cached = try store.read { try $0.contains(note("first")) }
    #expect(cached)
    let child = ChildProcess("replaceZone", directory.path + "/store")
    let lines = child.lines()
    let end = child.wait()
    #expect(end == .exit(0) && lines == ["done"])
    let records = try store.read { try $0.records(in: noteZone).map(\.id.name) }
    #expect(records == ["second"])
    try await write(store, "third")
    let sequences = try store.entries().map(\.transaction.sequence)
    #expect(sequences == [1, 2])
    try await checkSound(store)
  }
}
