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

  @Suite("Calls of LMDB that fail", .timeLimit(.minutes(20)))
  struct FaultTests {
    let directory = TemporaryDirectory()

    /// The result of a run of the workload.
    struct Outcome {
      /// Labels of the writes that returned.
      var acknowledged: [String] = []
      /// Labels of the writes that failed, except those whose outcome is unknown.
      var refused: [String] = []
      var isFolded = false
      var isRefusedFold = false
      /// Errors that are not the store's.
      var foreign: [String] = []
    }

    private static let other = ReplicaID(rawValue: 7)
    private static let incarnation = IncarnationID(rawValue: 9)

    /// Does the same work each time, and continues after every error.
    private func work(_ store: LocalStore) async -> Outcome {
      let outcome = Shared(Outcome())
      @Sendable func settle(_ label: String, _ error: (any Error)?) {
        var changed = outcome.value
        defer { outcome.value = changed }
        guard let error else { return changed.acknowledged.append(label) }
        guard let error = error as? StoreError else { return changed.foreign.append("\(label): \(error)") }
        if error.code != .commitUncertain { changed.refused.append(label) }
      }
      @Sendable func write(
        _ label: String, _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
      ) async {
        do {
          try await store.write { tx in
            tx.label = label
            try tx.createZone(noteZone)
            try body(&tx)
          }
          settle(label, nil)
        } catch { settle(label, error) }
      }
      @Sendable func put(_ label: String, _ field: Name) async {
        await write(label) { tx in
          let id = note("first")
          if try !tx.contains(id) { try tx.create(id, type: "note") }
          try tx.set(field, of: id, to: .string(label))
        }
      }
      await put("one", "title")
      await put("two", "body")
      // Three writes that share a commit, so that two of them are nested.
      let gate = Signal()
      let held = Task.immediate {
        await write("held") { tx in
          gate.wait()
          try tx.create(note("held"), type: "note")
        }
      }
      let waiting = ["three", "four"].enumerated().map { number, label in
        Task.immediate { await put(label, Name("field\(number)")) }
      }
      gate.raise()
      await held.value
      for task in waiting { await task.value }
      do {
        let segment = try Self.segment()
        _ = try await store.ingest([segment])
        outcome.value.isFolded = true
      } catch let error as StoreError {
        if error.code != .commitUncertain { outcome.value.isRefusedFold = true }
      } catch { outcome.value.foreign.append("fold: \(error)") }
      await put("five", "other")
      for _ in 0..<2 {
        do {
          _ = try store.read { tx in (try tx.records(in: noteZone), try tx.digest(of: noteZone)) }
          _ = try await store.rebuild()
        } catch let error where error is StoreError {
        } catch { outcome.value.foreign.append("rebuild: \(error)") }
      }
      await put("six", "title")
      return outcome.value
    }

    private static func segment() throws -> RemoteSegment {
      let transaction = LogTransaction(
        replica: other, epoch: 0, sequence: 1, zone: noteZone,
        timestamp: Timestamp(milliseconds: 1_000_000, counter: 0), label: "remote",
        operations: [
          .create(record: "first", type: "note"),
          .set(
            record: "first", type: "note", field: "title", value: .bytes([UInt8](repeating: 1, count: 2000))),
          .set(record: "first", type: "note", field: "remote", value: 1),
        ])
      return RemoteSegment(
        zone: noteZone, incarnation: incarnation, offset: 1, hash: ContentHash(of: [1].span.bytes),
        receivedMilliseconds: nil, transactions: [try transaction.encoded()])
    }

    /// Runs the workload in a new store, with a plan, and checks the store afterwards.
    private func run(_ plan: FaultPlan, _ comment: Comment) async throws {
      let name = "store"
      let path = directory.path + "/" + name
      for file in ["data.mdb", "lock.mdb", "store.mark"] { unlink(path + "/" + file) }
      func open(faults: FaultPlan?) throws -> LocalStore {
        try directory.store(name) { configuration in
          configuration.faults = faults
          configuration.mapBytes = 256 << 20
        }
      }
      var outcome = Outcome()
      do {
        let store = try open(faults: plan)
        outcome = await work(store)
        if plan.hasFailed {
          // Only a panic, or the loss of the map, outlasts the call.
          let later = await awaitedCode { try await store.write { $0.label = "later" } }
          #expect(later == nil || later == .system, comment)
        }
        store.close()
      } catch let error as StoreError {
        #expect(error.code != .damaged && error.code != .notAStore, comment)
      }
      #expect(outcome.foreign == [], comment)
      let store = try open(faults: nil)
      let labels = try store.entries().compactMap(\.transaction.label)
      #expect(labels.count == Set(labels).count, comment)
      for label in outcome.acknowledged { #expect(labels.contains(label), "\(comment) \(label)") }
      for label in outcome.refused { #expect(!labels.contains(label), "\(comment) \(label)") }
      if outcome.isFolded { #expect(labels.contains("remote"), comment) }
      if outcome.isRefusedFold { #expect(!labels.contains("remote"), comment) }
      // Data and token are in one commit.
      if try store.read({ try $0.zones() }).contains(noteZone) {
        let token = try store.read { try $0.token(of: noteZone)?.offset }
        #expect(token == (labels.contains("remote") ? 1 : nil), comment)
      }
      try checkContiguous(store)
      let report = try store.verify()
      #expect(report.problems == [], comment)
      _ = try store.read { tx in for zone in try tx.zones() { _ = try tx.records(in: zone) } }
      try await store.write { tx in
        try tx.createZone(noteZone)
        try tx.create(note("after"), type: "note")
      }
      store.close()
    }

    @Test(
      "in a closure that continues after every error: the store has nothing, or everything that succeeded")
    func swallowed() async throws {
      let names = ["mdb_get", "mdb_put", "mdb_del", "mdb_cursor_open", "mdb_cursor_get"]
      var failures = 0
      for name in names {
        var number = 1
        while true {
          let plan = FaultPlan()
          for file in ["data.mdb", "lock.mdb", "store.mark"] { unlink(directory.path + "/store/" + file) }
          let store = try directory.store { $0.faults = plan }
          let large = Value.bytes([UInt8](repeating: 1, count: 2000))
          try await store.write { tx in
            try tx.createZone(noteZone)
            try tx.create(note("r"), type: "note", fields: ["large": large, "small": 1])
          }
          let larger = Value.bytes([UInt8](repeating: 2, count: 2000))
          let attempt = number
          let found = await awaitedCode {
            try await store.write { tx in
              plan.fail(attempt, of: name, with: .inputOutput)
              for _ in 0..<2 {
                do { try tx.createZone(ZoneID(name: "new")) } catch {}
                do { try tx.set("large", of: note("r"), to: larger) } catch {}
                do { try tx.create(note("s"), type: "other", fields: ["new": large]) } catch {}
                do { try tx.delete(note("r")) } catch {}
              }
            }
          }
          #expect(found == nil || found == .system || found == .commitFailed, "\(name) \(number)")
          if found != nil { failures += 1 }
          let hasFailed = plan.hasFailed
          plan.fail(.max, with: .inputOutput)
          try await store.write { tx in
            try tx.createZone(ZoneID(name: "new"))
            if try !tx.contains(note("s")) { try tx.create(note("s"), type: "other", fields: ["new": 1]) }
          }
          _ = try store.read { tx in try tx.zones().map { try tx.records(in: $0) } }
          try checkContiguous(store)
          let report = try store.verify()
          #expect(report.problems == [], "\(name) \(number)")
          store.close()
          guard hasFailed else { break }
          number += 1
        }
      }
      print("faults: \(failures) writes refused whose closures went on")
      #expect(failures > 20)
    }

    private static let codes: [LMDBError.Code] = [.mapFull, .inputOutput, .noSpace, .panic]

    @Test("at any call: a typed error or success, and the store has everything acknowledged")
    func everyCall() async throws {
      let counter = FaultPlan()
      try await run(counter, "no fault")
      let count = counter.count
      let step = max(1, (count - 300) / 150)
      let share = WideTests.choose(1, otherwise: 5)
      let numbers = (1...count).filter { ($0 <= 300 || $0 % step == 0) && $0 % share == 0 }
      var hits = 0
      for number in numbers {
        let plan = FaultPlan(failing: number, with: Self.codes[number % Self.codes.count])
        try await run(plan, "call \(number) with \(Self.codes[number % Self.codes.count])")
        if plan.hasFailed { hits += 1 }
      }
      print("faults: \(count) calls in the workload, \(numbers.count) runs, \(hits) failed")
      #expect(hits > 300 / share)
    }

    @Test(
      "at every begin, commit and growth, with each of the codes",
      arguments: WideTests.choose(codes, otherwise: [.inputOutput, .panic]))
    func transactions(_ code: LMDBError.Code) async throws {
      let names = [
        "mdb_txn_begin", "mdb_txn_commit", "mdb_env_info", "mdb_env_set_mapsize", "mdb_env_open",
        "mdb_reader_check",
      ]
      for name in names {
        var number = 1
        while true {
          let plan = FaultPlan(failing: number, of: name, with: code)
          try await run(plan, "\(name) \(number) with \(code)")
          guard plan.hasFailed else { break }
          number += 1
        }
        #expect(number > 1, "\(name) is never called")
      }
    }
  }
#endif
