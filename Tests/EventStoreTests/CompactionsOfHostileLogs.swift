import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Compaction where a log has very many floors, or a record very many elements")
struct CompactionsOfHostileLogs {
  let directory = TemporaryDirectory()

  private func compact(_ floor: UInt64) -> LogOperation { .compact(floor: floor) }

  /// A store that has taken a remote log in, and compacted nothing so far.
  private func store(_ name: String, _ remote: TestRemote) async throws -> LocalStore {
    let store = try directory.store(name)
    try await store.makeAttachedZone()
    _ = try await store.ingest(remote.segments, isMoreToCome: true)
    return store
  }

  /// The transactions that a rebuild looks at, each time that it does.
  private func rebuilt(_ store: LocalStore) async throws -> UInt64 {
    let before = try store.digest()
    var done: [UInt64] = []
    let report = try await store.rebuild { count, _ in done.append(count) }
    #expect(try store.digest() == before)
    #expect(try store.verify().isSound)
    // However many passes it takes, each transaction is folded once, and what is told of the work never goes back.
    let length = try store.read { try $0.lastPosition().rawValue }
    #expect(report.transactions == length)
    #expect(done == done.sorted() && done.last == length, "\(done)")
    return report.looked
  }

  // MARK: Floors

  /// A log in which each entry changes a record, and names a floor.
  ///
  /// - Parameter others: the transactions that lie before some of these entries.
  private func logOfFloors(_ count: UInt64, with others: [UInt64: LogTransaction] = [:]) throws -> TestRemote
  {
    var remote = TestRemote()
    for number in 0..<count {
      if let other = others[number] { _ = try remote.append([other]) }
      let (value, base) = (Value.int(Int64(number)), number > 0 ? number : nil)
      _ = try remote.append([
        transaction(
          7, 2 * number + 1, base: base,
          [set(Name("r\(number % 5)"), Name("f\(number % 3)"), value), set("of all", "f", value)]),
        transaction(7, 2 * number + 2, base: base, [compact(max(1, number))]),
      ])
    }
    return remote
  }

  @Test("A log whose every entry names a floor is folded again in two passes")
  func manyFloors() async throws {
    let count: UInt64 = 400
    let store = try await store("many", logOfFloors(count))
    try await store.finishRenewal()
    #expect(try store.information().zones[0].floor == count - 1)
    #expect(try await rebuilt(store) == 4 * count)
    store.close()
  }

  @Test("A log is folded again by the floors that were counted, and what names them is not read")
  func countedFloors() async throws {
    let store = try await store("counted", logOfFloors(50))
    try await store.finishRenewal()
    let before = try store.digest()
    let (named, counted) = try store.floorsThatCount()
    #expect(named == counted && named.map(\.offset) == Array(1...49))
    // Only the transaction is left that names the first one, which does not count.
    let rows = try store.rows(\.replicas).filter { $0.key[0] == LaneRowKind.floors.rawValue }
    #expect(rows.count == 50)
    for row in rows.dropFirst() { try store.overwrite(row.key, nil, in: \.replicas) }
    _ = try await store.rebuild()
    #expect(try store.digest() == before)
    // A verification goes by what names them, so it would find out if they were counted wrong.
    #expect(try !store.verify().isSound)
    store.close()
  }

  @Test(
    "Other bytes of what is at or below the floor are not compared, whether segments are rejected together or not"
  )
  func repeated() async throws {
    var remote = try logOfFloors(5)
    let store = try await store("repeated", remote)
    try await store.finishRenewal()
    let floor = try #require(try store.information().zones[0].floor)
    #expect(floor == 4)
    let known = try remote.segments[4].transactions.map { try LogTransaction(decoding: $0.span.bytes) }
    let other = [set("r0", "f", "other")]
    let next = transaction(7, 11, base: 4, [set("r1", "f1", true)])
    func problem(_ segment: RemoteSegment) async throws -> StoreError.Code? {
      try await store.perform { try RemoteIngest($0).problem(of: segment)?.code }
    }
    var forked = remote
    let above = try forked.append([transaction(7, 9, base: 4, other), known[1], next])
    #expect(try await problem(above) == .fork)
    #expect(await awaitedCode { _ = try await store.ingest([above]) } == .fork)
    let below = try remote.append(
      [transaction(7, 7, base: 3, other), transaction(7, 8, base: 3, other)] + known + [next])
    #expect(try await problem(below) == nil)
    _ = try await store.ingest([below])
    #expect(try store.read { try $0.token(of: noteZone) }?.offset == 6)
    store.close()
  }

  @Test("What comes in the store's log before others of earlier places costs a pass each, and no more")
  func inversions() async throws {
    // Its own transactions stand in front, and have places far behind, between floors.
    let store = try directory.store("own")
    try await store.makeAttachedZone()
    let note = note("r1")
    try await store.write { tx in try tx.create(note, type: "note") }
    try await store.write { tx in try tx.set("f0", of: note, to: "own") }
    let own = try store.read { try $0.pending(in: noteZone).map(\.transaction) }
    let remote = try logOfFloors(60, with: [20: own[0], 40: own[1]])
    _ = try await store.ingest(remote.segments)
    try await store.finishRenewal()
    let other = try await self.store("other", remote)
    try await other.finishRenewal()
    #expect(try store.digest() == other.digest())
    let length = try store.read { try $0.lastPosition().rawValue }
    // Up to the first of them, up to the second, up to the last floor, and what is behind.
    #expect(try await rebuilt(store) == 4 * length)
    #expect(try await rebuilt(other) == 2 * length)
    #expect(try store.digest() == other.digest())
    store.close()
    other.close()
  }

  // MARK: Elements

  private func update(_ field: Name, _ change: FieldChange) -> LogOperation {
    .update(record: "r", type: "note", field: field, change)
  }

  /// A record with many elements of each kind, and another one after it.
  private func logOfElements() throws -> TestRemote {
    var remote = TestRemote()
    let values = (0..<1500).map { Value.int($0) }
    _ = try remote.append([
      transaction(
        7, 1,
        [create("r"), create("s"), update("list", .insertElements(values, after: nil))]
          + values.map { update("set", .insert($0)) }
          + values.map { update("map", .put(key: Name("k\($0)"), $0)) })
    ])
    _ = try remote.append([
      transaction(
        8, 1,
        values.map { update("map", .put(key: Name("k\($0)"), .bool(true))) }
          + [update("list", .moveElement(unit(1200), after: nil))])
    ])
    return remote
  }

  private func unit(_ number: UInt64) -> UnitReference {
    UnitReference(maker: UnitMaker(replica: ReplicaID(rawValue: 7), epoch: 0), number: number)
  }

  /// What a step of the job has touched, and whether it paused inside a record; nil if nothing was left.
  private func step(_ store: LocalStore) async throws -> (rows: Int, isPaused: Bool)? {
    try await store.perform { store in
      // Few rows, so that few elements are many.
      let bound = store.fold.bound
      let (steps, rows) = (bound.stepsMax, bound.rowsAtOnce)
      (bound.stepsMax, bound.rowsAtOnce) = (1000, 100)
      defer { (bound.stepsMax, bound.rowsAtOnce) = (steps, rows) }
      let before = store.storage.touchedRows
      guard try Compaction(store).step() else { return nil }
      let (zone, _) = try store.storage.zones.visible(noteZone)
      let state = try store.storage.zoneRow(zone).state
      return (
        store.storage.touchedRows - before, try store.storage.stateRow(state).pausedCompaction != nil
      )
    }
  }

  @Test(
    "A record of many elements is compacted in many commits, each of few rows, and shows the same meanwhile")
  func manyElements() async throws {
    var remote = try logOfElements()
    _ = try remote.append([transaction(8, 2, base: 2, [compact(2)])])
    let store = try await store("elements", remote)
    let expected = try await self.store("at once", remote)
    try await expected.finishRenewal()
    let before = try store.read { try $0.record(note("r")) }
    var (steps, pauses) = (0, 0)
    while let step = try await step(store) {
      try #require(steps < 1000, "the job begins again and again")
      (steps, pauses) = (steps + 1, pauses + (step.isPaused ? 1 : 0))
      #expect(step.rows < 10_000)
      #expect(try store.read { try $0.record(note("r")) } == before)
    }
    #expect(pauses > 10, "\(pauses) pauses in \(steps) steps")
    #expect(try store.digest() == expected.digest())
    #expect(try store.verify().isSound)
    store.close()
    expected.close()
  }

  @Test("A change between two of these commits finds the record compacted, and so does another floor")
  func betweenSteps() async throws {
    var remote = try logOfElements()
    _ = try remote.append([transaction(8, 2, base: 2, [compact(2)])])
    _ = try remote.append([transaction(9, 1, base: 3, [compact(3)])])
    let expected = try await self.store("at once", remote)
    try await expected.finishRenewal()
    let store = try directory.store("between")
    try await store.makeAttachedZone()
    _ = try await store.ingest(Array(remote.segments[..<3]), isMoreToCome: true)
    for _ in 0..<5 { _ = try await step(store) }
    #expect(try await step(store)?.isPaused == true)
    _ = try await store.ingest([remote.segments[3]], isMoreToCome: true)
    for _ in 0..<5 { _ = try await step(store) }
    #expect(try await step(store)?.isPaused == true)
    let change = try remote.append([transaction(9, 2, base: 4, [update("map", .put(key: "k7", "new"))])])
    for each in [store, expected] {
      _ = try await each.ingest([change])
      try await each.finishRenewal()
    }
    #expect(try store.digest() == expected.digest())
    #expect(try store.verify().isSound)
    store.close()
    expected.close()
  }

  @Test("A deleted record of many elements is dropped in many commits, and can be read meanwhile")
  func dropped() async throws {
    var remote = try logOfElements()
    _ = try remote.append([transaction(9, 1, base: 2, [.delete(record: "r")])])
    _ = try remote.append([transaction(9, 2, base: 3, [compact(3)])])
    let store = try await store("dropped", remote)
    var (pauses, left) = (0, 1500)
    while let step = try await step(store) {
      if step.isPaused { pauses += 1 }
      #expect(try store.read { try $0.record(note("r")) } == nil)
      let heads = try store.read { try $0.heads(of: "list", in: note("r"), as: .list) }
      #expect(heads.count <= left)
      left = heads.count
    }
    #expect(pauses > 10 && left == 0)
    #expect(try store.verify().isSound)
    #expect(try store.read { try $0.existence(of: note("r")) }.isEmpty)
    store.close()
  }
}
