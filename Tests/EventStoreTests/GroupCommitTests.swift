import LMDB
import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

@Suite("Many write at once")
struct GroupCommitTests {
  struct Stop: Error, Equatable {}

  let directory = TemporaryDirectory()

  /// Starts a write that holds the writer's thread until the gate is raised.
  private func hold(_ store: LocalStore) -> (gate: Signal, task: Task<Void, any Error>) {
    let gate = Signal()
    let started = Signal()
    let task = Task.immediate {
      try await store.write { _ in
        started.raise()
        gate.wait()
      }
    }
    started.wait()
    return (gate, task)
  }

  private func makeStore() async throws -> LocalStore {
    let store = try directory.store()
    try await store.write { tx in
      try tx.createZone(noteZone)
      try tx.create(note("shared"), type: "note")
    }
    return store
  }

  @Test("each of 64 gets its own outcome, those that succeed are all there, and one commit serves them")
  func sixtyFour() async throws {
    let store = try await makeStore()
    let before = try store.environment.lastTransactionID
    let held = hold(store)
    let runs = Shared<[Int]>([])
    let tasks = (0..<64).map { number in
      Task.immediate { () async throws -> Int in
        try await store.write { tx in
          runs.value.append(number)
          try tx.create(note("n\(number)"), type: "note", fields: ["number": .int(Int64(number))])
          try tx.set("last", of: note("shared"), to: .int(Int64(number)))
          // What the failed one gave numbers to must get them anew.
          if number == 10 || number == 11 { try tx.set("special", of: note("n\(number)"), to: 1) }
          if number == 10 { throw Stop() }
          if number == 20 {
            for _ in 0..<9 { try tx.set("big", of: note("shared"), to: .bytes(Self.mebibyte)) }
          }
          return number
        }
      }
    }
    tasks[30].cancel()
    held.gate.raise()
    try await held.task.value
    for (number, task) in tasks.enumerated() {
      let result = await task.result
      switch number {
      case 10: #expect(throws: Stop.self) { try result.get() }
      case 20:
        let found = code { _ = try result.get() }
        #expect(found == .transactionTooLarge)
      case 30: #expect(throws: CancellationError.self) { try result.get() }
      default:
        let value = try result.get()
        #expect(value == number)
      }
    }
    #expect(runs.value == (0..<64).filter { $0 != 30 })
    let after = try store.environment.lastTransactionID
    #expect(after == before + 1)
    let names = try store.read { try $0.records(in: noteZone).map(\.id.name.rawValue) }
    #expect(Set(names) == Set((0..<64).filter { ![10, 20, 30].contains($0) }.map { "n\($0)" } + ["shared"]))
    let last = try store.value("last", note("shared"))
    #expect(last == 63)
    let special = try store.read { try $0.record(note("n11"))?.fields }
    #expect(special == ["number": 11, "special": 1])
    let entries = try store.entries()
    #expect(entries.count == 62)
    try checkContiguous(store)
    try await checkSound(store)
  }

  private static let mebibyte = [UInt8](repeating: 7, count: (1 << 20) - 16)

  @Test("more than a group holds are committed in few commits, in their order")
  func moreThanAGroup() async throws {
    let store = try await makeStore()
    let before = try store.environment.lastTransactionID
    let held = hold(store)
    let tasks = (0..<600).map { number in
      Task.immediate {
        try await store.write { try $0.set("last", of: note("shared"), to: .int(Int64(number))) }
      }
    }
    held.gate.raise()
    for task in tasks { try await task.value }
    try await held.task.value
    let after = try store.environment.lastTransactionID
    #expect(after == before + 3)
    let values = try store.entries().dropFirst().map { $0.transaction.operations }
    let expected = (0..<600).map { number in
      [LogOperation.set(record: "shared", type: "note", field: "last", value: .int(Int64(number)))]
    }
    #expect(values == expected)
  }

  @Test("a closure that goes on after an error commits the rest; one that goes on after a refused value too")
  func swallowedErrors() async throws {
    let store = try await makeStore()
    let codes = try await store.write { tx -> [StoreError.Code?] in
      var codes: [StoreError.Code?] = []
      do { try tx.create(note("shared"), type: "note") } catch { codes.append((error as? StoreError)?.code) }
      do { try tx.set("x", of: note("absent"), to: 1) } catch { codes.append((error as? StoreError)?.code) }
      do {
        try tx.set("x", of: note("shared"), to: .bytes([UInt8](repeating: 0, count: 1 << 20)))
      } catch { codes.append((error as? StoreError)?.code) }
      try tx.set("x", of: note("shared"), to: 2)
      return codes
    }
    #expect(codes == [.recordExists, .recordUnknown, .valueInvalid])
    let value = try store.value("x", note("shared"))
    #expect(value == 2)
    let operations = try store.entries().last?.transaction.operations.count
    #expect(operations == 1)
    try await checkSound(store)
  }

  @Test("a write over three zones makes three adjacent transactions of one timestamp and one write id")
  func threeZones() async throws {
    let store = try directory.store()
    let zones = ["c", "a", "b"].map { ZoneID(name: Name($0)) }
    try await store.write { tx in
      tx.author = "ann"
      for zone in zones { try tx.createZone(zone) }
      for zone in zones { try tx.create(RecordID(zone: zone, name: "r"), type: "t") }
      for zone in zones { try tx.set("f", of: RecordID(zone: zone, name: "r"), to: 1) }
    }
    try await store.write { try $0.set("f", of: RecordID(zone: zones[1], name: "r"), to: 2) }
    let entries = try store.entries()
    #expect(entries.map(\.transaction.zone) == zones + [zones[1]])
    #expect(entries.map(\.transaction.sequence) == [1, 1, 1, 2])
    #expect(Set(entries[..<3].map(\.transaction.timestamp)).count == 1)
    let ids = Set(entries[..<3].map(\.transaction.writeID))
    #expect(ids.count == 1 && ids.first != .some(nil))
    #expect(entries[3].transaction.writeID == nil)
    #expect(entries[3].transaction.timestamp > entries[2].transaction.timestamp)
    #expect(entries.map(\.transaction.author) == ["ann", "ann", "ann", nil])
    try await checkSound(store)
  }

  @Test("readers see whole writes while others write")
  func readsWhileWriting() async throws {
    let store = try await makeStore()
    try await store.write { try $0.create(note("twin"), type: "note") }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for number in 0..<100 {
            try await store.write { tx in
              try tx.set("n", of: note("shared"), to: .int(Int64(number)))
              try tx.set("n", of: note("twin"), to: .int(Int64(number)))
            }
          }
        }
      }
      for _ in 0..<2 {
        group.addTask {
          var last = Position.start
          for _ in 0..<200 {
            let (left, right, position) = try store.read { tx in
              (
                try tx.value(of: "n", in: note("shared")), try tx.value(of: "n", in: note("twin")),
                try tx.lastPosition()
              )
            }
            #expect(left == right)
            #expect(position >= last)
            last = position
            await Task.yield()
          }
        }
      }
      try await group.waitForAll()
    }
    try checkContiguous(store)
  }

  @Test("the blocking form works from many threads")
  func blockingForm() async throws {
    let store = try await makeStore()
    await withTaskGroup(of: Int.self) { group in
      for number in 0..<16 {
        group.addTask {
          onThread {
            try! store.writeBlockingThisThread { tx in
              try tx.create(note("n\(number)"), type: "note")
              return number
            }
          }
        }
      }
      var sum = 0
      for await number in group { sum += number }
      #expect(sum == 120)
    }
    #expect(throws: Stop.self) { try store.writeBlockingThisThread { _ in throw Stop() } }
    let count = try store.read { try $0.records(in: noteZone).count }
    #expect(count == 17)
    try checkContiguous(store)
  }

  @Test("closing while writes wait writes them; after it, writes and reads are refused")
  func closing() async throws {
    let store = try await makeStore()
    let held = hold(store)
    let tasks = (0..<20).map { number in
      Task.immediate { try await store.write { try $0.create(note("n\(number)"), type: "note") } }
    }
    let closed = Task.detached { store.close() }
    held.gate.raise()
    await closed.value
    var failures = 0
    for task in tasks {
      if case .failure(let error) = await task.result {
        failures += 1
        #expect((error as? StoreError)?.code == .closed)
      }
    }
    #expect(failures == 0)
    let write = await awaitedCode { try await store.write { _ in } }
    let blocking = code { try store.writeBlockingThisThread { _ in } }
    let read = code { try store.read { _ in } }
    #expect([write, blocking, read] == [.closed, .closed, .closed])
    let opened = try directory.store()
    let count = try opened.read { try $0.records(in: noteZone).count }
    #expect(count == 21)
  }

  @Test("closing inside a write lets that write end")
  func closingInside() async throws {
    let store = try await makeStore()
    try await store.write { tx in
      store.close()
      try tx.create(note("last"), type: "note")
    }
    let opened = try directory.store()
    let isThere = try opened.read { try $0.contains(note("last")) }
    #expect(isThere)
  }

  @Test("a store opened for reading alone reads and refuses to write")
  func readOnly() async throws {
    try await makeStore().close()
    let store = try directory.store { $0.isReadOnly = true }
    let isThere = try store.read { try $0.contains(note("shared")) }
    #expect(isThere)
    let bytes = fileBytes(directory.path + "/store/data.mdb")
    let runs = Shared(0)
    let codes = await [
      awaitedCode { try await store.write { _ in runs.value += 1 } },
      awaitedCode { try store.writeBlockingThisThread { _ in runs.value += 1 } },
      awaitedCode { _ = try await store.rebuild() },
      awaitedCode { _ = try await store.ingest([]) },
      awaitedCode { try await store.setExistencePolicy(.deleteWins, of: "note") },
    ]
    #expect(codes == [.readOnly, .readOnly, .readOnly, .readOnly, .readOnly])
    #expect(runs.value == 0)
    let report = try store.verify()
    #expect(report.problems == [])
    #expect(fileBytes(directory.path + "/store/data.mdb") == bytes)
  }
}

/// Runs a body on a thread of its own.
func onThread<R: Sendable>(_ body: @escaping @Sendable () -> R) -> R {
  let result = Shared<R?>(nil)
  let done = Signal()
  try! StoreThread.start {
    result.value = body()
    done.raise()
  }
  done.wait()
  return result.value!
}
