import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Writes on the calling thread")
struct CallingThreadTests {
  struct Stop: Error, Equatable {}

  let directory = TemporaryDirectory()

  private func makeStore() throws -> LocalStore {
    let store = try directory.store {
      $0.mapBytes = 256 << 20
      $0.writesOnCallingThread = true
    }
    try store.writeBlockingThisThread { tx in
      try tx.createZone(noteZone)
      try tx.create(note("shared"), type: "note")
    }
    return store
  }

  /// Starts a write that sets a field of the shared record, and keeps its result.
  private func start(_ number: Int, in store: LocalStore, _ ended: Shared<[Int]>) -> Task<Void, any Error> {
    Task.immediate {
      try await store.write { tx in
        if number < 0 { throw Stop() }
        try tx.set("number", of: note("shared"), to: .int(Int64(number)))
      }
      ended.value.append(number)
    }
  }

  @Test("a write runs on the calling thread, and is in the store when the call returns")
  func atOnce() async throws {
    let store = try makeStore()
    let here = currentThreadNumber()
    let thread = try store.writeBlockingThisThread { _ in currentThreadNumber() }
    #expect(thread == here)
    // The task suspends after its write was queued; by then the write is done.
    let ended = Shared<[Int]>([])
    let task = start(7, in: store, ended)
    let value = try store.value("number", note("shared"))
    #expect(value == 7)
    try await task.value
    #expect(ended.value == [7])
    try await checkSound(store)
  }

  @Test("each write has its own commit and its own error")
  func oneByOne() async throws {
    let store = try makeStore()
    let before = try store.environment.lastTransactionID
    let ended = Shared<[Int]>([])
    let tasks = [1, -1, 2].map { start($0, in: store, ended) }
    let after = try store.environment.lastTransactionID
    #expect(after == before + 2)
    try await tasks[0].value
    await #expect(throws: Stop.self) { try await tasks[1].value }
    try await tasks[2].value
    try checkContiguous(store)
  }

  @Test(
    "held writes wait, then share one commit; a failed or cancelled one does not affect the others"
  )
  func held() async throws {
    let store = try makeStore()
    let before = try store.environment.lastTransactionID
    store.holdWrites()
    let ended = Shared<[Int]>([])
    let tasks = [1, -1, 2, 3, 4].map { start($0, in: store, ended) }
    tasks[3].cancel()
    let untouched = try store.value("number", note("shared"))
    #expect(untouched == nil)
    #expect(ended.value == [])
    store.releaseWrites()
    let after = try store.environment.lastTransactionID
    #expect(after == before + 1)
    let value = try store.value("number", note("shared"))
    #expect(value == 4)
    await #expect(throws: Stop.self) { try await tasks[1].value }
    await #expect(throws: CancellationError.self) { try await tasks[3].value }
    for index in [0, 2, 4] { try await tasks[index].value }
    let entries = try store.entries()
    #expect(entries.count == 4)
    // Afterwards, writes run one by one.
    try store.writeBlockingThisThread { try $0.set("number", of: note("shared"), to: 5) }
    try await checkSound(store)
  }

  @Test("a write that a closure starts without waiting runs after it, in the same commit")
  func startedInside() async throws {
    let store = try makeStore()
    let before = try store.environment.lastTransactionID
    let inner = Shared<Task<Void, any Error>?>(nil)
    let ended = Shared<[Int]>([])
    try store.writeBlockingThisThread { tx in
      inner.value = start(9, in: store, ended)
      let isThere = try tx.value(of: "number", in: note("shared")) != nil
      #expect(!isThere)
      try tx.set("number", of: note("shared"), to: 8)
    }
    let value = try store.value("number", note("shared"))
    #expect(value == 9)
    let after = try store.environment.lastTransactionID
    #expect(after == before + 1)
    try await inner.value?.value
    try checkContiguous(store)
  }

  @Test("a write that blocks inside a write ends the process")
  func nested() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let directory = TemporaryDirectory()
      let store = try directory.store { $0.writesOnCallingThread = true }
      try store.writeBlockingThisThread { _ in try store.writeBlockingThisThread { _ in } }
    }
    let message = result.map { String(decoding: $0.standardErrorContent, as: UTF8.self) }
    #expect(message?.contains("a write inside a write") == true)
  }

  @Test("closing first runs the held writes; afterwards, writes are refused")
  func closing() async throws {
    let store = try makeStore()
    store.holdWrites()
    let ended = Shared<[Int]>([])
    let task = start(3, in: store, ended)
    store.close()
    try await task.value
    let refused = code { try store.writeBlockingThisThread { _ in } }
    #expect(refused == .closed)
    let opened = try directory.store { $0.writesOnCallingThread = true }
    let value = try opened.value("number", note("shared"))
    #expect(value == 3)
  }

  @Test("closing inside a write lets that write end")
  func closingInside() throws {
    let store = try makeStore()
    try store.writeBlockingThisThread { tx in
      store.close()
      try tx.create(note("last"), type: "note")
    }
    let opened = try directory.store { $0.writesOnCallingThread = true }
    let isThere = try opened.read { try $0.contains(note("last")) }
    #expect(isThere)
  }

  @Test("threads take turns")
  func manyThreads() async throws {
    let store = try makeStore()
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<8 {
        group.addTask {
          onThread {
            for step in 0..<20 {
              try! store.writeBlockingThisThread { try $0.create(note("n\(number).\(step)"), type: "note") }
            }
          }
        }
      }
    }
    let count = try store.read { try $0.records(in: noteZone).count }
    #expect(count == 161)
    try checkContiguous(store)
  }
}
