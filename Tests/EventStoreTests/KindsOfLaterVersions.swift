import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A store with operations that its version did not know")
struct KindsOfLaterVersions {
  let directory = TemporaryDirectory()

  private func makeStore() async throws -> LocalStore {
    let store = try directory.store("store") { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeZone()
    var remote = TestRemote()
    var strange = transaction(
      1, 1,
      [create("r"), .add(record: "r", type: "note", field: "n", value: 5), .unknown(kind: 99, payload: [])])
    strange.names = []
    _ = try remote.append([strange])
    _ = try await store.ingest(remote.segments)
    return store
  }

  private func open() throws -> LocalStore {
    try directory.store("store") { $0.wallMilliseconds = { 1_000_000 } }
  }

  private func unfolded(_ store: LocalStore) throws -> Set<UInt64> {
    Set(try store.read { try $0.readView.meta.unfoldedKinds() }.map(\.rawValue))
  }

  /// Turns it into a store of an earlier version: the kinds are noted, and nobody has folded them.
  private func age(_ store: LocalStore, kinds: [UInt8]) throws {
    let row = try #require(try store.rows(\.records).first)
    try store.overwrite(row.key, nil, in: \.records)
    try store.overwrite(Array("unfolded".utf8), kinds, in: \.meta)
    store.close()
  }

  @Test("notes their kinds, and opens as usual while none of them is known")
  func unknown() async throws {
    let store = try await makeStore()
    #expect(try unfolded(store) == [99])
    try age(store, kinds: [98, 99])
    let again = try open()
    // Nothing was folded: the removed rows are missing.
    #expect(try again.rows(\.records).isEmpty)
    #expect(try unfolded(again) == [98, 99])
    _ = try await again.rebuild()
    #expect(try again.read { try $0.counter("n", of: note("r")) }?.value == 5)
  }

  @Test("is folded again by a version that knows some of them; the others stay noted")
  func known() async throws {
    let store = try await makeStore()
    let digest = try store.digest()
    try age(store, kinds: [4, 99])
    let again = try open()
    #expect(try again.read { try $0.counter("n", of: note("r")) }?.value == 5)
    #expect(try again.digest() == digest)
    #expect(try unfolded(again) == [99])
    try await checkSound(again)
  }

  @Test("does not continue a rebuild by a version that knew fewer kinds")
  func unfinished() async throws {
    let store = try await makeStore()
    // As an earlier version left it after its first step: a position, and no kind.
    try await store.perform { store in
      _ = try Rebuild(store).start()
      try store.storage.put(.meta(.rebuild), in: store.storage.tables.meta) { $0.append(varint: 1) }
    }
    let report = try await store.rebuild()
    #expect(!report.wasResumed && report.transactions == 1)
    try await store.perform { _ = try Rebuild($0).start() }
    let resumed = try await store.rebuild()
    #expect(resumed.wasResumed)
    try await checkSound(store)
  }

  @Test("is folded from the start if a version that knows fewer kinds did steps of a rebuild")
  func withFormerVersion() async throws {
    let store = try await makeStore()
    try await store.perform { store in
      _ = try Rebuild(store).start()
      // The earlier version has passed the whole log, and noted what it does not know.
      let last = try store.storage.lastPosition()
      try store.storage.meta.setRebuilt(RebuildProgress(last), lastKnown: .set)
      try store.storage.setUnfoldedKinds([.add, OperationKind(rawValue: 99)])
    }
    _ = try await store.rebuild { try Rebuild($0).start() }
    #expect(try store.read { try $0.counter("n", of: note("r")) }?.value == 5)
    #expect(try unfolded(store) == [99])
    try await store.perform { store in
      _ = try Rebuild(store).start()
      try store.storage.meta.setRebuilt(RebuildProgress(try store.storage.lastPosition()), lastKnown: .set)
    }
    let step = try await store.perform { try Rebuild($0).step() }
    #expect(!step.isDone && step.position == .start)
    _ = try await store.rebuild()
    try await checkSound(store)
  }

  @Test("keeps the kinds that another version noted in other zones while one zone is folded again")
  func notedElsewhere() async throws {
    let store = try await makeStore()
    let zone = try await store.perform { try $0.storage.zones.visible(noteZone).0 }
    try await store.perform { store in
      try Rebuild(store).refold(zone)
      try store.storage.setUnfoldedKinds(store.storage.unfoldedKinds().union([.add]))
    }
    while try await !store.perform({ try Rebuild($0).step().isDone }) {}
    #expect(try unfolded(store) == [OperationKind.add.rawValue, 99])
    try await store.finishRenewal()
    #expect(try unfolded(store) == [99])
    try await checkSound(store)
  }

  @Test("notes the least kinds, however many were invented; the row stays small")
  func invented() async throws {
    let store = try directory.store("store") { $0.wallMilliseconds = { 1_000_000 } }
    try await store.makeZone()
    var remote = TestRemote()
    let invented: [LogOperation] = (1000..<1256).map { .unknown(kind: $0, payload: []) }
    let next = OperationKind.lastKnown.rawValue + 1
    let counted = LogOperation.add(record: "r", type: "note", field: "n", value: 5)
    _ = try remote.append([transaction(1, 1, invented)])
    _ = try remote.append([transaction(1, 2, [create("r"), counted, .unknown(kind: next, payload: [0])])])
    _ = try remote.append([transaction(1, 3, (900..<1100).map { .unknown(kind: $0, payload: []) })])
    _ = try await store.ingest(remote.segments)
    #expect(try unfolded(store) == Set([next] + (900..<1155)))
    // Kinds greater than all noted ones change nothing: the row is not written.
    let row = try store.rows(\.meta).first { $0.key == Array("unfolded".utf8) }
    _ = try remote.append([transaction(1, 4, (5000..<6000).map { .unknown(kind: $0, payload: []) })])
    _ = try await store.ingest([remote.segments[3]])
    #expect(try store.rows(\.meta).first { $0.key == Array("unfolded".utf8) }?.value == row?.value)

    // An earlier version noted as many kinds as there is space for, and this one knows all of them.
    try age(store, kinds: Array(1...UInt8(OperationKind.lastKnown.rawValue)))
    let again = try open()
    #expect(try again.read { try $0.counter("n", of: note("r")) }?.value == 5)
    // Folding the log again has noted the kinds for which there was no space.
    #expect(try unfolded(again) == Set([next] + (900..<1155)))
    try await checkSound(again)
  }

  @Test("known kinds take no space in the row, even before the log is folded again")
  func known256() {
    func kinds(_ numbers: some Sequence<UInt64>) -> Set<OperationKind> {
      Set(numbers.map { OperationKind(rawValue: $0) })
    }
    let max = UInt64(UnfoldedKinds.countMax)
    #expect(UnfoldedKinds.kept(kinds(1...max)) == kinds(1...max))
    #expect(UnfoldedKinds.kept(kinds(2...max + 2)) == kinds(2...max + 2))
    #expect(
      UnfoldedKinds.kept(kinds([3, 4] + Array(1000..<1300))) == kinds([3, 4] + Array(1000..<1000 + max)))
    #expect(UnfoldedKinds.kept(kinds(1000...1000 + max)) == kinds(1000..<1000 + max))
  }

  @Test("is not changed when it is opened for reading")
  func readOnly() async throws {
    let store = try await makeStore()
    try age(store, kinds: [4])
    let reading = try directory.store("store") { $0.isReadOnly = true }
    #expect(try unfolded(reading) == [4])
    #expect(try reading.rows(\.records).isEmpty)
  }
}
