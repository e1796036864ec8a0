import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Verifying while the log is folded again")
struct VerificationDuringRenewals {
  let directory = TemporaryDirectory()

  /// Finds no problem in any step; records are compared with the log unless they lag behind it, or it is
  /// being read again.
  private func check(
    _ store: LocalStore, folding isFolding: Bool = false, rereading isRereading: Bool = false, _ step: String
  ) throws {
    let report = try store.verify()
    #expect(report.problems == [] && report.transactions > 0, "\(step): \(report)")
    #expect(report.comparesRecords == (!isFolding && !isRereading), "\(step)")
    let information = try store.information()
    #expect(information.isFoldingAgain == isFolding, "\(step)")
    #expect((information.zones[0].rereadFrom != nil) == isRereading, "\(step)")
  }

  /// A write with everything, which uses what earlier writes made.
  private func write(_ store: LocalStore, _ number: Int, elements: Int = 3000) async throws {
    try await store.write { tx in
      if try !tx.contains(note("r")) { try tx.create(note("r"), type: "note") }
      try tx.set("title", of: note("r"), to: .int(Int64(number)))
      try tx.add(.int(1), to: "count", of: note("r"))
      for element in 0..<elements {
        try tx.insert(.int(Int64(number * 3000 + element)), into: "tags", of: note("r"))
      }
      try tx.insertText("\(number)", at: 0, in: "body", of: note("r"))
      try tx.insertElements([.int(Int64(number))], at: 0, in: "items", of: note("r"))
    }
  }

  @Test("a lane that gets a new epoch: after the commit that renews it, and in each step of folding again")
  func renewal() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    for number in 0..<4 { try await write(store, number) }
    var remote = TestRemote()
    var hole = transaction(0, 9, [create("other")])
    hole.replica = store.identity.replica
    _ = try await store.reject(try remote.append([hole]), .hole)
    try check(store, "closed")
    #expect(try await store.renewLane(of: noteZone) == 4)
    try check(store, folding: true, "renewed")
    try await write(store, 4)
    try check(store, folding: true, "written to")
    var steps = 0
    _ = try await store.rebuild { done, total in
      steps += 1
      try check(store, folding: done < total, "step \(steps)")
    }
    #expect(steps > 1)
    try await checkSound(store)
  }

  @Test("a lane that gets a new epoch: only its zone is folded again, and assets stay counted")
  func renewalOfOneZone() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    _ = try await store.write { try $0.createZone(ZoneID(name: "other")) }
    let shared = try await store.importAsset(bytes: [UInt8](repeating: 1, count: 100))
    for number in 0..<3 {
      let own = try await store.importAsset(bytes: [UInt8](repeating: 2, count: 100 + number))
      try await store.write { tx in
        if number == 0 { try tx.create(note("r"), type: "note") }
        try tx.set("both", of: note("r"), to: .array([.asset(shared), .asset(own)]))
      }
    }
    var remote = TestRemote()
    var hole = transaction(0, 9, [create("other")])
    hole.replica = store.identity.replica
    _ = try await store.reject(try remote.append([hole]), .hole)
    #expect(try await store.renewLane(of: noteZone) == 3)
    let building = try await store.perform { store in
      try store.storage.zones.rows().count { $0.row.building != .none }
    }
    #expect(building == 1)
    try await store.finishRenewal()
    try await checkSound(store)
    let counts = try await store.perform { store in
      try store.storage.assets.zonesNaming(shared).map(\.count)
    }
    #expect(counts == [3])
  }

  @Test(
    "a log that is read again: at each segment, where a lane is replaced, and to the end of folding again")
  func rereading() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    for number in 0..<2 {
      try await write(store, number, elements: 3)
      _ = try await store.acknowledge(try #require(try await remote.shipCut(store)))
    }
    func theirs(_ value: Value) -> [LogTransaction] {
      [transaction(7, 1, base: 2, at: 3_000_000, [set("r", "title", value), create("theirs")])]
    }
    // The transaction with the asset is removed with it.
    let absent = AssetReference(hash: ContentHash(of: [1].span.bytes), byteCount: 70_000)
    _ = try await store.ingest([try remote.append(theirs(.asset(absent)))])
    try await write(store, 2, elements: 3)
    try check(store, "synced")
    // Meanwhile the remote has another third segment.
    var other = TestRemote()
    for segment in remote.segments.prefix(2) {
      _ = try other.append(try segment.transactions.map { try LogTransaction(decoding: $0.span.bytes) })
    }
    let branch = try other.append(theirs("second"))
    #expect(try await store.beginRereading(noteZone, from: 1) == 1)
    try check(store, rereading: true, "begun")
    for segment in remote.segments.prefix(2) {
      _ = try await store.ingest([segment])
      try check(store, rereading: true, "offset \(segment.offset)")
    }
    let code = await awaitedCode { _ = try await store.ingest([branch]) }
    #expect(code == .fork)
    #expect(try await store.yieldLane(of: noteZone, to: branch))
    try check(store, folding: true, rereading: true, "gave way")
    try await store.finishRenewal()
    try check(store, rereading: true, "folded again")
    _ = try await store.ingest([branch])
    try check(store, rereading: true, "the branch")
    try await store.endRereading(noteZone)
    try check(store, folding: true, "ended")
    try await store.finishRenewal()
    try check(store, "done")
    try await checkSound(store)
  }
}
