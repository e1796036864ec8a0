import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Moves of a record that others change concurrently")
struct MovesThatMeetChanges {
  let directory = TemporaryDirectory()
  private let record = note("r")
  private let first = RecordID(zone: ZoneID(name: "first"), name: "r")
  private let second = RecordID(zone: ZoneID(owner: "bob", name: "second"), name: "r")

  private func away(_ replica: UInt128, to place: RecordID, at milliseconds: UInt64) -> LogTransaction {
    transaction(replica, 1, base: 1, at: milliseconds, [.moveAway(record: "r", to: place)])
  }

  private func change(_ replica: UInt128, at milliseconds: UInt64) -> LogTransaction {
    transaction(replica, 1, base: 1, at: milliseconds, [set("r", "f", .int(Int64(replica)))])
  }

  /// A store that has folded a creation, then these transactions, none of which has seen another.
  private func store(_ name: String, _ concurrent: [LogTransaction], received: UInt64? = nil) async throws
    -> LocalStore
  {
    let store = try directory.store(name)
    try await store.makeZone()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])
    for transaction in concurrent {
      _ = try remote.append([transaction], receivedMilliseconds: received)
    }
    _ = try await store.ingest(remote.segments)
    return store
  }

  @Test("a surviving source is listed with its copy under every policy; the policy decides the winner")
  func survivors() async throws {
    for (policy, isLater, survives): (ExistencePolicy, Bool, Bool) in [
      (.latest, true, true), (.latest, false, false), (.updateWins, true, true), (.updateWins, false, true),
      (.deleteWins, true, false), (.deleteWins, false, false),
    ] {
      let store = try await store(
        "\(policy) \(isLater)",
        [away(2, to: first, at: 2_000_000), change(3, at: isLater ? 2_000_001 : 1_999_999)])
      try await store.setExistencePolicy(policy, of: "note")
      #expect(try store.read { try $0.contains(record) } == survives)
      let listed = try store.read { try $0.survivingSources(in: noteZone) }
      #expect(listed == (survives ? [SurvivingSource(record: record, copies: [first])] : []))
      let conflicts = try store.read { try $0.conflicts(in: noteZone) }
      #expect(conflicts.count == 1 && conflicts[0].field == nil && conflicts[0].record == record)
      let contents = ([conflicts[0].winner] + conflicts[0].losers).map(\.content)
      let (moved, alive) = (CellHead.Content.moved(to: first), CellHead.Content.alive(type: "note"))
      #expect(contents == (isLater ? [alive, moved] : [moved, alive]))
      try await checkSound(store)
      guard survives else { continue }
      // A write that has seen both settles it.
      try await store.write { try $0.set("f", of: note("r"), to: 9) }
      #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
      #expect(try store.read { try $0.survivingSources(in: noteZone) } == [])
    }
  }

  @Test("two moves to two zones are a conflict, to one zone none; a deletion and a move are a conflict too")
  func concurrentMoves() async throws {
    let (a, b) = (away(2, to: first, at: 2_000_000), away(3, to: second, at: 2_000_001))
    let two = try await store("two", [a, b])
    #expect(try two.read { try $0.contains(record) } == false)
    let conflicts = try two.read { try $0.conflicts(in: noteZone) }
    #expect(conflicts.map(\.winner.content) == [.moved(to: second)])
    #expect(conflicts.first?.losers.map(\.content) == [.moved(to: first)])
    // It does not exist: nothing survived beside the copies.
    #expect(try two.read { try $0.survivingSources(in: noteZone) } == [])
    let one = try await store("one", [a, away(3, to: first, at: 2_000_001)])
    #expect(try one.read { try $0.conflicts(in: noteZone) } == [])
    #expect(try one.read { try $0.existence(of: record).count } == 2)
    let deleted = try await store("deleted", [a, transaction(3, 1, base: 1, [.delete(record: "r")])])
    let contents = try deleted.read { try $0.conflicts(in: noteZone) }.flatMap {
      [$0.winner.content] + $0.losers.map(\.content)
    }
    #expect(contents == [.moved(to: first), .dead])
    // With a change beside them it survives, and both copies are listed, the later one first.
    let all = try await store("all", [a, change(4, at: 2_000_002), b])
    let expected = [SurvivingSource(record: record, copies: [second, first])]
    #expect(try all.read { try $0.survivingSources(in: noteZone) } == expected)
    for store in [two, one, deleted, all] { try await checkSound(store) }
  }

  @Test("the state is the same in any order, and for any makers")
  func commutes() async throws {
    let made = [
      away(2, to: first, at: 2_000_000), change(3, at: 2_000_000), away(4, to: second, at: 1_000_000),
      transaction(5, 1, base: 1, at: 3_000_000, [.delete(record: "r")]),
      transaction(6, 1, base: 1, at: 500_000, [.moveHere(record: "r", type: "task", from: first)]),
    ]
    // Without places in a remote log: all are in a zone that was never synced, read from a log.
    var states: Set<String> = []
    for turn in made.indices {
      for isReversed in [false, true] {
        var order = Array(made[turn...] + made[..<turn])
        if isReversed { order.reverse() }
        let store = try await store("order \(turn) \(isReversed)", order)
        let heads = try store.read { tx in
          try tx.existence(of: record).map { "\($0.content) \($0.timestamp) \($0.operation)" }
            + tx.heads(of: "f", in: record).map { "\($0)" }
        }
        states.insert("\(heads)")
        #expect(heads.count > 5)
        let report = try store.verify()
        #expect(report.problems == [])
      }
    }
    #expect(states.count == 1)
  }

  @Test("the store that moved it and a store that received the move agree when both have everything")
  func ownMove() async throws {
    let clock = TestClock(2_000_000)
    let store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeAttachedZone()
    try await store.makeZone(first.zone)
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])
    _ = try await store.ingest(remote.segments)
    try await store.write { [first] in _ = try $0.move(note("r"), to: first.zone) }
    _ = try remote.append([change(3, at: 5_000_000)])
    let acknowledgement = try #require(try remote.ship(store))
    _ = try await store.ingest(remote.news(for: store, limit: 1))
    _ = try await store.acknowledge(acknowledgement)
    let other = try directory.store("other")
    try await other.makeZone()
    _ = try await other.ingest(remote.segments)
    #expect(try store.digest() == other.digest())
    for store in [store, other] {
      let expected = [SurvivingSource(record: record, copies: [first])]
      #expect(try store.read { try $0.survivingSources(in: noteZone) } == expected)
      try await checkSound(store)
    }
    // The copy has the earlier state: the change did not move.
    #expect(try store.value("f", first) == 1 && store.value("f", record) == 3)
  }

  @Test("a move with a clock that was ahead counts from its time of receipt")
  func capped() async throws {
    let store = try await store(
      "capped", [away(2, to: first, at: 4_070_908_800_000), change(3, at: 5_000_000)], received: 2_000_000)
    #expect(try store.read { try $0.contains(record) })
    let moved = try store.read { try $0.existence(of: record) }.first { $0.content == .moved(to: first) }
    #expect(moved?.timestamp.milliseconds == 2_300_000)
    try await checkSound(store)
  }

  @Test("a transaction that moves a record to its own place is not folded")
  func ownPlace() async throws {
    let store = try await store("refused", [])
    var bytes = try transaction(
      2, 1, base: 1, [.moveAway(record: "r", to: RecordID(zone: ZoneID(name: "notex"), name: "r"))]
    ).encoded()
    let letter = try #require(bytes.lastIndex(of: UInt8(ascii: "x")))
    bytes[letter] = UInt8(ascii: "s")
    let segment = RemoteSegment(
      zone: noteZone, incarnation: testIncarnation, offset: 2, hash: .zero, receivedMilliseconds: nil,
      transactions: [bytes])
    let before = try store.readView()
    #expect(await awaitedCode { _ = try await store.ingest([segment]) } == .damaged)
    #expect(try store.readView() == before)
  }

  @Test("a head's data about a move is read completely or not at all")
  func payloads() throws {
    var writer = ByteWriter()
    Existence.moved(to: second).append(to: &writer)
    let bytes = writer.bytes
    #expect(try Existence(payload: bytes.span.bytes) == .moved(to: second))
    for count in 0..<bytes.count {
      let part = Array(bytes[..<count])
      #expect(throws: FormatError.self) { _ = try Existence(payload: part.span.bytes) }
    }
    let unknown: [UInt8] = [3, 1]
    #expect(throws: FormatError.self) { _ = try Existence(payload: unknown.span.bytes) }
  }

  private func explanation(
    of record: RecordID, _ field: Name? = nil, in store: LocalStore
  ) throws -> Explanation? {
    try store.read { try $0.explain(record, field: field) }
  }

  @Test("it is explained at its new and its old place, with its origin")
  func explained() async throws {
    let store = try await store("explained", [])
    try await store.makeZone(first.zone)
    try await store.write { [first] tx in
      tx.author = "ann"
      try tx.move(note("r"), to: first.zone)
    }
    let source = try #require(try explanation(of: record, in: store))
    #expect(source.heads.map(\.head.content) == [.moved(to: first)] && !source.isVisible)
    #expect(source.movedFrom == nil && source.replaced.map(\.content).last == .alive(type: "note"))
    let copy = try #require(try explanation(of: first, in: store))
    #expect(copy.movedFrom == record && copy.isVisible)
    let field = try #require(try explanation(of: first, "f", in: store))
    #expect(field.movedFrom == record && field.heads[0].entry?.transaction.author == "ann")
    // A record created again under the name has no origin.
    try await store.write { [first] tx in
      try tx.delete(first)
      try tx.create(first, type: "note")
    }
    let again = try #require(try explanation(of: first, in: store))
    #expect(again.movedFrom == nil)
  }
}
