import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Segments of others are folded in")
struct RemoteHeadsTests {
  let directory = TemporaryDirectory()

  /// A store whose clock stands at 1,000,000 ms, with a zone.
  private func makeStore(_ name: String = "store", clock: Int64 = 1_000_000) async throws -> LocalStore {
    let store = try directory.store(name) { $0.wallMilliseconds = { clock } }
    try await store.makeZone()
    return store
  }

  @Test(
    "concurrent sets: the latest wins, the others are listed, can be restored, and a later set settles them")
  func concurrentSets() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", "base")])])
    _ = try remote.append([transaction(2, 1, base: 1, at: 1_000_010, [set("r", "f", "late")])])
    _ = try remote.append([transaction(3, 1, base: 1, at: 1_000_005, [set("r", "f", "early")])])
    let report = try await store.ingest(remote.segments)
    #expect(report.folded == 3)
    let value = try store.value("f", note("r"))
    #expect(value == "late")
    let conflicts = try store.read { try $0.conflicts(in: noteZone) }
    // Two heads are left of existence too, which say the same.
    #expect(conflicts.map(\.field) == ["f"] && report.conflicts == 1)
    let existence = try store.read { try $0.existence(of: note("r")) }
    #expect(existence.count == 2)
    #expect(conflicts.last?.losers.map(\.content) == [.value("early")])
    let loser = try #require(conflicts.last?.losers.first?.operation)
    #expect(loser.transaction.replica == ReplicaID(rawValue: 3))
    try await store.write { try $0.restore(loser, in: "f", of: note("r")) }
    let restored = try store.heads("f", note("r"))
    #expect(restored == ["early"])
    let settled = try store.read { try $0.conflicts(in: noteZone) }
    #expect(settled == [])
    let again = await awaitedCode { try await store.write { try $0.restore(loser, in: "f", of: note("r")) } }
    #expect(again == .conflictUnknown)
    try await checkSound(store)
  }

  @Test("a local set that has not seen the remote one is concurrent with it, one that has replaces it")
  func localAndRemote() async throws {
    let store = try await makeStore(clock: 2_000_000)
    try await store.write { try $0.create(note("r"), type: "note", fields: ["f": "local"]) }
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, at: 1_000_000, [create("r"), set("r", "f", "remote")])])
    _ = try await store.ingest(remote.segments)
    let heads = try store.heads("f", note("r"))
    #expect(heads == ["local", "remote"])
    try await store.write { try $0.set("f", of: note("r"), to: "later") }
    let later = try store.heads("f", note("r"))
    #expect(later == ["later"])
    // Shipped with its base, it settles the conflict at others too.
    let acknowledgement = try #require(try remote.ship(store))
    _ = try await store.acknowledge(acknowledgement)
    let base = try store.entries().last?.transaction.base
    #expect(base == Base(incarnation: testIncarnation, offset: 1))
    let other = try await makeStore("other")
    _ = try await other.ingest(remote.segments)
    let heads2 = try other.heads("f", note("r"))
    #expect(heads2 == ["later"])
    _ = try await store.ingest(try remote.news(for: store))
    let digests = [try store.digest(), try other.digest()]
    #expect(digests[0] == digests[1])
    try await checkSound(store)
    try await checkSound(other)
  }

  @Test(
    "delete beside update: the policy decides, and may be changed without changing data",
    arguments: [true, false])
  func deleteBesideUpdate(isDeletionLater: Bool) async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])
    _ = try remote.append([
      transaction(2, 1, base: 1, at: isDeletionLater ? 1_000_020 : 1_000_010, [.delete(record: "r")])
    ])
    _ = try remote.append([transaction(3, 1, base: 1, at: 1_000_015, [set("r", "f", 2)])])
    _ = try await store.ingest(remote.segments)
    let digest = try store.digest()
    let visible: [(ExistencePolicy, Bool)] = [
      (.latest, !isDeletionLater), (.deleteWins, false), (.updateWins, true),
    ]
    for (policy, isVisible) in visible {
      try await store.setExistencePolicy(policy, of: "note")
      let isThere = try store.read { try $0.contains(note("r")) }
      #expect(isThere == isVisible, "\(policy)")
      let value = try store.value("f", note("r"))
      #expect(value == (isVisible ? 2 : nil), "\(policy)")
      let conflicts = try store.read { try $0.conflicts(of: note("r")) }
      #expect(conflicts.map(\.field) == [nil])
      try await checkSound(store)
    }
    let same = try store.digest()
    #expect(same == digest)
  }

  @Test("a record made anew starts clean, but keeps what was edited without having seen the deletion")
  func recreation() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "old", 1), set("r", "both", 1)])])
    _ = try remote.append([transaction(2, 1, base: 1, at: 1_000_001, [set("r", "both", 2)])])
    _ = try remote.append([
      transaction(1, 2, base: 1, at: 1_000_002, [.delete(record: "r"), create("r"), set("r", "new", 3)])
    ])
    _ = try await store.ingest(remote.segments)
    let record = try store.read { try $0.record(note("r")) }
    #expect(record?.fields == ["both": 2, "new": 3])
    try await checkSound(store)
  }

  @Test("more heads than a row holds, and values over 1 KiB, go apart and come back")
  func manyHeads() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 0)])])
    let values = (0..<9).map { number in
      number % 3 == 0 ? Value.bytes([UInt8](repeating: UInt8(number), count: 3000)) : .int(Int64(number))
    }
    for (number, value) in values.enumerated() {
      _ = try remote.append([
        transaction(10 + UInt128(number), 1, base: 1, at: 1_000_100 + UInt64(number), [set("r", "f", value)])
      ])
    }
    _ = try await store.ingest(remote.segments)
    let heads = try store.heads("f", note("r"))
    #expect(heads == values.reversed())
    // Winner and three losers lie in the row; what lies apart is the rest, and the large one of the four.
    let apart = try store.rows(\.elements).count
    #expect(apart == 5 + 1 + 5)
    try await checkSound(store)
    // One that has seen the first five of them.
    _ = try remote.append([transaction(30, 1, base: 6, at: 1_000_001, [set("r", "f", "some")])])
    _ = try await store.ingest(try remote.news(for: store))
    let fewer = try store.heads("f", note("r"))
    #expect(fewer == values[5...].reversed() + ["some"])
    try await checkSound(store)
    let second = try store.read { try $0.conflicts(of: note("r")).last?.losers[1].operation }
    let loser = try #require(second)
    try await store.write { try $0.restore(loser, in: "f", of: note("r")) }
    let restored = try store.heads("f", note("r"))
    #expect(restored == [values[6]])
    let rows = try store.rows(\.elements).count
    #expect(rows == 1)
    try await checkSound(store)
  }

  @Test("a large loser can be restored after it went apart")
  func largeLoser() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    let large = Value.string(String(repeating: "x", count: 5000))
    _ = try remote.append([transaction(1, 1, at: 1_000_000, [create("r"), set("r", "f", large)])])
    _ = try remote.append([transaction(2, 1, at: 1_000_001, [create("r"), set("r", "f", 1)])])
    _ = try await store.ingest(remote.segments)
    let heads = try store.heads("f", note("r"))
    #expect(heads == [1, large])
    let operation = try store.read { try $0.heads(of: "f", in: note("r"))[1].operation }
    try await store.write { try $0.restore(operation, in: "f", of: note("r")) }
    let value = try store.value("f", note("r"))
    #expect(value == large)
    try await checkSound(store)
  }

  @Test("operations of unknown kinds are kept byte for byte, forwarded, and not folded")
  func unknownKinds() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    var strange = transaction(
      1, 1,
      [
        .unknown(kind: 99, payload: [1, 2, 3]), create("r"), .unknown(kind: 98, payload: []),
        set("r", "f", 1),
        .unknown(kind: .max, payload: [UInt8](repeating: 9, count: 300)),
      ])
    strange.names = ["unused", "r", "f", "note", "Zeit"]
    _ = try remote.append([strange])
    _ = try await store.ingest(remote.segments)
    let value = try store.value("f", note("r"))
    #expect(value == 1)
    let position = try store.lastPosition()
    let bytes = try store.read { try $0.bytes(at: position) }
    #expect(bytes == remote.segments[0].transactions[0])
    let entry = try store.read { try $0.entry(at: position) }
    #expect(entry.transaction == strange)
    let report = try await store.ingest(remote.segments)
    #expect(report.known == 1)
    try await checkSound(store)
  }

  @Test("a receive time that is learnt with the acknowledgement caps the timestamp and may change the winner")
  func cappedAtAcknowledgement() async throws {
    let future: Int64 = 4_070_908_800_000  // 2099
    let store = try await makeStore(clock: future)
    try await store.write { try $0.create(note("r"), type: "note", fields: ["f": "future"]) }
    var remote = TestRemote()
    let now: UInt64 = 1_700_000_000_000
    _ = try remote.append(
      [transaction(1, 1, at: now + 400_000, [create("r"), set("r", "f", "now")])],
      receivedMilliseconds: now + 400_000)
    _ = try await store.ingest(remote.segments)
    let before = try store.heads("f", note("r"))
    #expect(before == ["future", "now"])
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: now))
    let report = try await store.acknowledge(acknowledgement)
    #expect(report.retimed == 1)
    let after = try store.heads("f", note("r"))
    #expect(after == ["now", "future"])
    let timestamps = try store.read { try $0.heads(of: "f", in: note("r")).map(\.timestamp) }
    #expect(timestamps[1] == Timestamp(milliseconds: now + 300_000, counter: .max))
    try await checkSound(store)
    let other = try await makeStore("other")
    _ = try await other.ingest(remote.segments)
    let digests = [try store.digest(), try other.digest()]
    #expect(digests[0] == digests[1])
  }

  @Test(
    "a receive time that a redelivery brings counts as after a rebuild", arguments: [nil, 2_000_000_000_000])
  func redeliveredReceiveTime(first: UInt64?) async throws {
    let future: UInt64 = 4_070_908_800_000
    let store = try await makeStore()
    var remote = TestRemote()
    _ = try remote.append(
      [transaction(1, 1, at: future, [create("r"), set("r", "f", 1)])], receivedMilliseconds: first)
    _ = try await store.ingest(remote.segments)
    var again = remote.segments[0]
    again.receivedMilliseconds = 1_000_000_000_000
    _ = try await store.ingest([again])
    try await checkSound(store, "\(String(describing: first))")
    again.receivedMilliseconds = 1_500_000_000_000
    _ = try await store.ingest([again])
    try await checkSound(store)
    let timestamp = try store.read { try $0.heads(of: "f", in: note("r"))[0].timestamp.milliseconds }
    #expect(timestamp == 1_000_000_300_000)
  }

  @Test("a transaction that lies in two segments counts at the first of them")
  func overlap() async throws {
    let future: UInt64 = 4_070_908_800_000
    let store = try await makeStore()
    var remote = TestRemote()
    let first = transaction(1, 1, at: future, [create("r"), set("r", "f", 1)])
    let second = transaction(1, 2, at: future, [create("s")])
    _ = try remote.append([first], receivedMilliseconds: 2_000_000_000_000)
    _ = try remote.append([first, second], receivedMilliseconds: 1_000_000_000_000)
    let report = try await store.ingest(remote.segments)
    #expect(report.known == 1)
    let placement = try store.read { try $0.placement(of: first.id, in: noteZone) }
    #expect(placement?.offset == 1)
    try await checkSound(store)
  }

  @Test("data and token are in one commit")
  func oneCommit() async throws {
    let store = try await makeStore()
    var remote = TestRemote()
    for number in 1...5 {
      _ = try remote.append([transaction(1, UInt64(number), [create(Name("r\(number)"))])])
    }
    for segment in remote.segments {
      _ = try await store.ingest([segment])
      let (token, position) = try store.read { (try $0.token(of: noteZone)?.offset, try $0.lastPosition()) }
      #expect(token == position.rawValue)
    }
  }
}
