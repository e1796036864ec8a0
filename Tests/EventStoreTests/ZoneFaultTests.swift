#if DEBUG
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

  @Suite(
    "Calls of LMDB that fail while zones are listed, cut, deleted and reclaimed", .timeLimit(.minutes(20)))
  struct ZoneFaultTests {
    let directory = TemporaryDirectory()
    private let listed = ZoneID(name: "listed")
    private let token = DatabaseToken(
      remote: RemoteID(rawValue: 5), offset: 2, hash: ContentHash(of: [5].span.bytes))

    private func open(_ plan: FaultPlan?) throws -> LocalStore {
      try directory.store {
        $0.mapBytes = 256 << 20
        $0.faults = plan
      }
    }

    /// A synced zone with a segment of its own, a segment of another replica, and pending transactions.
    private func prepare(_ store: LocalStore) async throws {
      try await store.makeAttachedZone()
      var remote = TestRemote()
      _ = try remote.append([transaction(9, 1, [create("theirs")])])
      _ = try await store.ingest(remote.segments)
      for name in ["a", "b", "c"] {
        let value = Value.bytes([UInt8](repeating: 1, count: 3000))
        try await store.write { try $0.create(note(name), type: "note", fields: ["f": value]) }
        guard name == "a" else { continue }
        if let acknowledgement = try await remote.shipCut(store) {
          _ = try await store.acknowledge(acknowledgement)
        }
      }
    }

    /// Does one thing, and returns whether it succeeded; an error must be the store's.
    private func attempt(_ comment: Comment, _ body: () async throws -> Void) async -> Bool? {
      do {
        try await body()
        return true
      } catch let error as StoreError {
        return error.code == .commitUncertain ? nil : false
      } catch {
        Issue.record(error, comment)
        return nil
      }
    }

    private func deleteAndMakeAgain(_ store: LocalStore) async throws {
      try await store.write { tx in
        try tx.create(note("lost"), type: "note")
        try tx.deleteZone(noteZone)
        try tx.createZone(noteZone)
        try tx.create(note("new"), type: "note")
      }
    }

    private func list(_ store: LocalStore) async throws {
      let other = ZoneID(name: "short")
      let events = [(listed, ZoneEvent.Kind.created), (other, .created), (other, .deleted)].map {
        zone, kind in
        ZoneEvent(kind: kind, zone: zone, incarnation: IncarnationID(rawValue: zone == listed ? 1 : 2))
      }
      _ = try await store.applyZoneEvents(events, token: token, chosen: nil)
    }

    private func cut(_ store: LocalStore) async throws {
      if let cut = try store.nextCut(of: noteZone) { _ = try await store.storeCut(cut.header) }
    }

    private func names(_ store: LocalStore) throws -> [Name] {
      try store.read { try $0.records(in: noteZone).map(\.id.name) }
    }

    /// What must hold after any call: a whole step or nothing.
    private func check(_ store: LocalStore, isDeleted: Bool?, isListed: Bool?, _ comment: Comment) throws {
      let report = try store.verify()
      #expect(report.problems == [], comment)
      let names = try names(store)
      let state = try store.syncState()
      if names == ["new"] {
        #expect(isDeleted != false, comment)
        let sequences = try store.entries(zone: noteZone).map(\.transaction.sequence)
        #expect(sequences == [1], comment)
      } else {
        #expect(isDeleted != true && names == ["a", "b", "c", "theirs"], comment)
        #expect(!state.zones.contains { $0.attachment == .deleting }, comment)
      }
      let found = state.zones.contains { $0.zone == listed }
      // After a completed deletion, the list is read again from its start.
      #expect(found == (state.databaseToken != nil), comment)
      if let isListed { #expect(found == isListed, comment) }
    }

    private func run(_ number: Int, _ code: LMDBError.Code) async throws -> Bool {
      let comment: Comment = "call \(number) with \(code)"
      for file in ["data.mdb", "lock.mdb", "store.mark"] { unlink(directory.path + "/store/" + file) }
      let plan = FaultPlan()
      let store = try open(plan)
      try await prepare(store)
      plan.fail(number, with: code)
      _ = await attempt(comment) { try await cut(store) }
      let isListed = await attempt(comment) { try await list(store) }
      // Two that share a commit: the second is nested.
      let gate = Signal()
      let held = Task.immediate {
        await attempt(comment) {
          try await store.write { tx in
            gate.wait()
            try tx.createZone(ZoneID(name: "held"))
          }
        }
      }
      let deletion = Task.immediate { await attempt(comment) { try await deleteAndMakeAgain(store) } }
      gate.raise()
      _ = await held.value
      let isDeleted = await deletion.value
      _ = await attempt(comment) { try await store.finishDeletion(of: noteZone, testIncarnation) }
      _ = await attempt(comment) { _ = try await store.reclaim() }
      _ = await attempt(comment) { _ = try store.syncState() }
      let hasFailed = plan.hasFailed
      plan.fail(.max, with: .inputOutput)
      store.close()

      let opened = try open(nil)
      try check(opened, isDeleted: isDeleted, isListed: isListed, comment)
      // Repeated without a fault, everything ends in one state.
      try await list(opened)
      if try names(opened) != ["new"] { try await deleteAndMakeAgain(opened) }
      try await opened.finishDeletion(of: noteZone, testIncarnation)
      _ = try await opened.reclaim()
      try check(opened, isDeleted: true, isListed: true, comment)
      let gone = try opened.rows(\.zones).count {
        $0.key[0] >= 2 && (try? ZoneRow($0.value.span.bytes).status.isGone) == true
      }
      #expect(gone == 0, comment)
      let segments = try opened.rows(\.segments)
      #expect(segments == [], comment)
      opened.close()
      return hasFailed
    }

    @Test("at any call: a whole step or nothing; repeated, it ends as usual")
    func everyCall() async throws {
      let codes: [LMDBError.Code] = [.mapFull, .inputOutput, .noSpace]
      let step = WideTests.choose(1, otherwise: 5)
      var number = 1
      var hits = 0
      while try await run(number, codes[number % codes.count]) {
        hits += 1
        number += hits < 400 ? step : 7
      }
      print("faults: \(hits) calls failed while zones were listed, deleted and reclaimed")
      #expect(hits > 150 / step)
    }
  }
#endif
