import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Acknowledged segments after the place where the log closes their lane")
struct SegmentsBehindClosures {
  let directory = TemporaryDirectory()

  /// A store that has read the log to offset 1 and sent two transactions, which are at offset 3. At offset 2
  /// is a segment in the name of their lane that everybody rejects. The lane is the store's own, or one that
  /// it adopted with an imported log.
  private func makeStore(isAdopted: Bool) async throws -> (LocalStore, TestRemote) {
    var remote = TestRemote()
    let writer = try directory.store("writer")
    try await writer.makeAttachedZone()
    _ = try await writer.ingest([try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])])
    for value: Int64 in 2...3 { try await writer.write { try $0.set("f", of: note("r"), to: .int(value)) } }
    var store = writer
    if isAdopted {
      store = try directory.store("adopter")
      try await store.importLines(try writer.exportedLines())
    }
    var hole = transaction(0, 9, [create("hole")])
    hole.replica = writer.identity.replica
    _ = try remote.append([hole])
    _ = try await store.acknowledge(try #require(try remote.ship(store)))
    #expect(try store.readView().pending == [0])
    return (store, remote)
  }

  /// Reads the rest of the log, sends what is pending, and compares with a store that reads everything.
  private func finish(_ store: LocalStore, _ remote: inout TestRemote, rejected: Int) async throws {
    _ = try await store.ingestOrReject(try remote.news(for: store))
    try await checkSound(store)
    #expect(try store.readView().pending == [2])
    while let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    #expect(try store.readView().pending == [0])
    let fresh = try directory.store("fresh")
    try await fresh.makeAttachedZone()
    _ = try await fresh.ingestOrReject(try remote.news(for: fresh))
    for store in [store, fresh] {
      #expect(try store.heads("f", note("r")) == [3])
      #expect(try store.read { try $0.rejectedSegments(in: noteZone) }.count == rejected)
      try await checkSound(store)
    }
    #expect(try store.digest() == fresh.digest())
  }

  @Test(
    "the sent transactions are pending again, also those of an adopted lane that was dropped meanwhile",
    arguments: [false, true])
  func inTheStoreThatShipped(isAdopted: Bool) async throws {
    var (store, remote) = try await makeStore(isAdopted: isAdopted)
    _ = try await store.ingestOrReject(try remote.news(for: store, limit: 1))
    #expect(try store.readView().pending == [2])
    try await checkSound(store)
    if isAdopted {
      #expect(try await store.settleClosedLanes(of: noteZone, .takeOver) == 2)
    } else {
      #expect(try await store.renewLane(of: noteZone) == 2)
    }
    try await store.finishRenewal()
    // The segment at offset 3 is known here, and the log has its contents under other names.
    try await checkSound(store)
    try await finish(store, &remote, rejected: 2)
  }

  /// When a store is exported.
  enum Moment: CaseIterable {
    /// It has not read the entry that closes the lane.
    case ahead
    case closed
    /// It has read that entry, and issued its transactions again.
    case renewed
  }

  @Test(
    "they are pending too in a store that imports the log, and all replicas agree",
    arguments: Moment.allCases,
    [false, true])
  func imported(moment: Moment, isAdopted: Bool) async throws {
    var (store, remote) = try await makeStore(isAdopted: isAdopted)
    if moment != .ahead { _ = try await store.ingestOrReject(try remote.news(for: store, limit: 1)) }
    if moment == .renewed {
      let count =
        isAdopted
        ? try await store.settleClosedLanes(of: noteZone, .takeOver) : try await store.renewLane(of: noteZone)
      #expect(count == 2)
      try await store.finishRenewal()
    }
    let new = try directory.store("new")
    try await new.importLines(try store.exportedLines())
    store.close()
    #expect(try new.readView().pending == [moment == .ahead ? 0 : 2])
    try await checkSound(new)
    // The rest of the log is read before anybody decides: in the case `ahead` it closes the lane.
    _ = try await new.ingestOrReject(try remote.news(for: new))
    #expect(try new.readView().pending == [2])
    let settled = try await new.settleClosedLanes(of: noteZone, .takeOver)
    #expect(settled == (moment == .renewed ? 0 : 2))
    try await new.finishRenewal()
    try await finish(new, &remote, rejected: 2)
  }

  @Test("a place after a known closure is removed when the segment is rejected")
  func knownClosure() async throws {
    let (store, remote) = try await makeStore(isAdopted: false)
    _ = try await store.ingestOrReject(try remote.news(for: store, limit: 1))
    // As an earlier version imported it.
    try await store.perform { store in
      let storage = store.storage
      let (zone, row) = try storage.zones.visible(noteZone)
      let incarnation = try #require(row.token).incarnation
      let segment = try #require(
        try storage.segments.row(at: 3, in: zone, incarnation))
      try storage.segments.place(segment, in: zone, incarnation, at: 3)
    }
    #expect(try store.readView().pending == [0])
    _ = try await store.ingestOrReject(try remote.news(for: store))
    #expect(try store.readView().pending == [2])
    try await checkSound(store)
  }
}
