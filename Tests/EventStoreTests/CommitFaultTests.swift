import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Commits that fail")
struct CommitFaultTests {
  let directory = TemporaryDirectory()

  /// The fault of the next commit, and how many commits were attempted.
  final class Plan: Sendable {
    let next = Shared<CommitFault?>(nil)
    let askedCount = Shared(0)

    func take() -> CommitFault? {
      askedCount.value += 1
      defer { next.value = nil }
      return next.value
    }
  }

  private func open(_ plan: Plan) throws -> LocalStore {
    try directory.store {
      $0.mapBytes = 256 << 20
      $0.writesOnCallingThread = true
      $0.commitFault = { plan.take() }
    }
  }

  private func makeStore(_ plan: Plan) throws -> LocalStore {
    let store = try open(plan)
    try store.writeBlockingThisThread { tx in
      try tx.createZone(noteZone)
      try tx.create(note("first"), type: "note")
    }
    return store
  }

  private static func expected(_ fault: CommitFault) -> StoreError.Code {
    fault == .uncertain ? .commitUncertain : .commitFailed
  }

  @Test(
    "the error says whether the write is in the log, and the next write works",
    arguments: CommitFault.allCases)
  func alone(_ fault: CommitFault) async throws {
    let plan = Plan()
    let store = try makeStore(plan)
    plan.next.value = fault
    let failed = code { try store.writeBlockingThisThread { try $0.create(note("second"), type: "other") } }
    #expect(failed == Self.expected(fault))
    let isThere = try store.read { try $0.contains(note("second")) }
    #expect(isThere == (fault == .uncertain))
    let count = try store.entries().count
    #expect(count == (fault == .uncertain ? 2 : 1))
    // The names and numbers of the failed write are used again.
    try store.writeBlockingThisThread { tx in
      if try !tx.contains(note("second")) { try tx.create(note("second"), type: "other") }
      try tx.set("field", of: note("second"), to: 1)
    }
    try await checkSound(store)
    store.close()
    let opened = try open(plan)
    let record = try opened.read { try $0.record(note("second")) }
    #expect(record?.type == "other" && record?.fields == ["field": 1])
    try checkContiguous(opened)
  }

  @Test("a full disk: the error names the data file, and says what to do")
  func namesTheFile() throws {
    let plan = Plan()
    let store = try makeStore(plan)
    plan.next.value = .full
    let error = #expect(throws: StoreError.self) {
      try store.writeBlockingThisThread { try $0.create(note("second"), type: "other") }
    }
    #expect(
      error?.message.contains("the disk is full: “\(store.directory)/data.mdb”") == true,
      "\(String(describing: error))")
    #expect(error?.hint.contains("make room") == true)
  }

  @Test("the error contains the disk's error", arguments: CommitFault.allCases)
  func underlying(_ fault: CommitFault) throws {
    let plan = Plan()
    let store = try makeStore(plan)
    plan.next.value = fault
    let error = #expect(throws: StoreError.self) {
      try store.writeBlockingThisThread { try $0.delete(note("first")) }
    }
    let underlying = error?.underlying.map { "\($0)" }
    #expect(underlying?.contains(fault == .full ? "ENOSPC, mdb_txn_commit" : "EIO, mdb_txn_commit") == true)
  }

  @Test("a write that appends nothing: it failed, or its outcome is unknown", arguments: CommitFault.allCases)
  func zoneAlone(_ fault: CommitFault) throws {
    let plan = Plan()
    let store = try makeStore(plan)
    plan.next.value = fault
    let zone = ZoneID(name: "new")
    let failed = code { try store.writeBlockingThisThread { _ = try $0.createZone(zone) } }
    #expect(failed == Self.expected(fault))
    let zones = try store.read { try $0.zones() }
    #expect(zones.contains(zone) == (fault == .uncertain))
    let isNew = try store.writeBlockingThisThread { try $0.createZone(zone) }
    #expect(isNew == (fault != .uncertain))
  }

  @Test("all writes of a group get the same error, of one commit", arguments: CommitFault.allCases)
  func group(_ fault: CommitFault) async throws {
    let plan = Plan()
    let store = try makeStore(plan)
    store.holdWrites()
    let tasks = (0..<3).map { number in
      Task.immediate { try await store.write { try $0.create(note("n\(number)"), type: "note") } }
    }
    let before = plan.askedCount.value
    plan.next.value = fault
    store.releaseWrites()
    #expect(plan.askedCount.value == before + 1)
    for task in tasks {
      let found = await awaitedCode { try await task.value }
      #expect(found == Self.expected(fault))
    }
    let count = try store.read { try $0.records(in: noteZone).count }
    #expect(count == (fault == .uncertain ? 4 : 1))
    try await checkSound(store)
  }

  @Test("a new store's first commit: the store is missing, or whole", arguments: CommitFault.allCases)
  func opening(_ fault: CommitFault) throws {
    let plan = Plan()
    plan.next.value = fault
    let failed = code { _ = try open(plan) }
    #expect(failed == (fault == .full ? .full : .system))
    #expect(plan.askedCount.value == 1)
    let store = try makeStore(plan)
    // A committed store opens without a commit, so only the write attempts one.
    #expect(plan.askedCount.value == (fault == .uncertain ? 2 : 3))
    let count = try store.entries().count
    #expect(count == 1)
  }
}
