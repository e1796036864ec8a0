import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("What a remote says cannot be")
struct RemoteRefusalTests {
  let directory = TemporaryDirectory()

  /// A store that has folded two segments of replica 1, one of replica 2, and shipped one of its own.
  private func makeStore() async throws -> (LocalStore, TestRemote) {
    let store = try directory.store()
    try await store.makeZone()
    try await store.makeZone(ZoneID(name: "untouched"))
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "f", 1)])])
    _ = try remote.append([
      transaction(1, 2, [set("r", "f", 2)]), transaction(1, 3, [set("r", "f", 3)]),
    ])
    _ = try remote.append([transaction(2, 1, base: 2, [set("r", "f", 4)])])
    _ = try await store.ingest(remote.segments)
    try await store.write { try $0.set("g", of: note("r"), to: 5) }
    let acknowledgement = try #require(try remote.ship(store))
    _ = try await store.acknowledge(acknowledgement)
    try await store.write { try $0.set("g", of: note("r"), to: 6) }
    return (store, remote)
  }

  /// Expects a call to be refused with a code and all to stay as it was, also what comes in one call before it.
  private func expect(
    _ expected: StoreError.Code, _ store: LocalStore, _ comment: Comment,
    sourceLocation: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
  ) async throws {
    let before = try store.readView()
    let clock = try store.information().clock
    let rows = [try store.rows(\.segments), try store.rows(\.placements), try store.rows(\.zones)]
    let found = await awaitedCode(body)
    #expect(found == expected, comment, sourceLocation: sourceLocation)
    let after = try store.readView()
    #expect(after == before, comment, sourceLocation: sourceLocation)
    let rowsAfter = [try store.rows(\.segments), try store.rows(\.placements), try store.rows(\.zones)]
    #expect(rowsAfter == rows, comment, sourceLocation: sourceLocation)
    let clockAfter = try store.information().clock
    #expect(clockAfter == clock, comment, sourceLocation: sourceLocation)
  }

  private func fold(
    _ expected: StoreError.Code, _ store: LocalStore, _ remote: TestRemote, _ comment: Comment,
    sourceLocation: SourceLocation = #_sourceLocation, _ change: (inout RemoteSegment) throws -> Void
  ) async throws {
    // A good one comes before the bad one: it must not stay either.
    let good = RemoteSegment(
      zone: noteZone, incarnation: testIncarnation, offset: remote.last + 1,
      hash: ContentHash(of: [9].span.bytes), receivedMilliseconds: nil,
      transactions: [try transaction(3, 1, [create("good")]).encoded()])
    var bad = RemoteSegment(
      zone: noteZone, incarnation: testIncarnation, offset: remote.last + 2,
      hash: ContentHash(of: [8].span.bytes), receivedMilliseconds: nil,
      transactions: [try transaction(1, 4, [create("bad")]).encoded()])
    try change(&bad)
    let segments = [good, bad]
    try await expect(expected, store, comment, sourceLocation: sourceLocation) {
      _ = try await store.ingest(segments)
    }
  }

  private func bytes(_ transactions: LogTransaction...) throws -> [[UInt8]] {
    try transactions.map { try $0.encoded() }
  }

  @Test("a segment that is out of order, foreign, forked, forged or damaged is refused, and nothing changes")
  func segments() async throws {
    let (store, remote) = try await makeStore()
    let token = try store.read { try $0.token(of: noteZone)?.offset }
    #expect(token == 4)
    try await fold(.outOfOrder, store, remote, "a gap of offsets") { $0.offset += 1 }
    try await fold(.outOfOrder, store, remote, "offset 0") { $0.offset = 0 }
    try await fold(.outOfOrder, store, remote, "the greatest offset") { $0.offset = .max }
    try await fold(.outOfOrder, store, remote, "a gap of sequences") {
      $0.transactions = try bytes(transaction(1, 5, [create("bad")]))
    }
    try await fold(.outOfOrder, store, remote, "the greatest sequence") {
      $0.transactions = try bytes(transaction(1, .max, [create("bad")]))
    }
    try await fold(.mismatch, store, remote, "a gap inside") {
      $0.transactions = try bytes(transaction(1, 4, [create("a")]), transaction(1, 6, [create("b")]))
    }
    try await fold(.mismatch, store, remote, "one twice") {
      $0.transactions = try bytes(transaction(1, 4, [create("a")]), transaction(1, 4, [create("a")]))
    }
    try await fold(.mismatch, store, remote, "another zone") {
      $0.transactions = try bytes(transaction(1, 4, zone: ZoneID(name: "untouched"), [create("bad")]))
    }
    try await fold(.mismatch, store, remote, "another replica") {
      $0.transactions = try bytes(transaction(1, 4, [create("a")]), transaction(2, 2, [create("b")]))
    }
    try await fold(.mismatch, store, remote, "another epoch") {
      var second = transaction(1, 5, [create("b")])
      second.epoch = 1
      $0.transactions = try bytes(transaction(1, 4, [create("a")]), second)
    }
    try await fold(.mismatch, store, remote, "a base at its own offset") {
      $0.transactions = try bytes(transaction(1, 4, base: 6, [create("bad")]))
    }
    try await fold(.mismatch, store, remote, "a base far ahead") {
      $0.transactions = try bytes(transaction(1, 4, base: .max, [create("bad")]))
    }
    try await fold(.mismatch, store, remote, "a base that goes back") {
      $0.transactions = try bytes(transaction(2, 2, base: 1, [create("bad")]))
    }
    try await fold(.mismatch, store, remote, "no base after one") {
      $0.transactions = try bytes(transaction(2, 2, [create("bad")]))
    }
    try await fold(.incarnationChanged, store, remote, "another incarnation") {
      $0.incarnation = IncarnationID(rawValue: 1)
    }
    try await fold(.zoneUnknown, store, remote, "an unknown zone") { $0.zone = ZoneID(name: "absent") }
    try await fold(.zoneUnknown, store, remote, "a long zone") {
      $0.zone = ZoneID(owner: Name(String(repeating: "x", count: 300)), name: "z")
    }
    try await fold(.mismatch, store, remote, "an empty segment") { $0.transactions = [] }
    try await fold(.fork, store, remote, "other bytes under a known sequence") {
      $0.transactions = try bytes(transaction(1, 3, [set("r", "f", 33)]))
    }
    try await fold(.fork, store, remote, "another base under a known sequence") {
      $0.transactions = try bytes(transaction(1, 3, base: 1, [set("r", "f", 3)]))
    }
    try await fold(.fork, store, remote, "other bytes under an own sequence") {
      var own = transaction(1, 2, base: 3, [set("r", "g", 7)])
      own.replica = store.identity.replica
      $0.transactions = try bytes(own)
    }
    try await fold(.mismatch, store, remote, "another hash at a known offset") {
      $0 = remote.segments[1]
      $0.hash = ContentHash(of: [1].span.bytes)
    }
    try await fold(.mismatch, store, remote, "less at a known offset") {
      $0 = remote.segments[1]
      $0.transactions.removeLast()
    }
    try await fold(.mismatch, store, remote, "more at a known offset") {
      $0 = remote.segments[1]
      $0.transactions.append(try transaction(1, 4, [create("bad")]).encoded())
    }
    try await checkSound(store)
    let report = try await store.ingest(remote.segments)
    #expect(report.known == 5)
    try await checkSound(store)
  }

  @Test("a segment with a bit flipped or an end missing is refused as damaged, or changes what it says")
  func damagedBytes() async throws {
    let (store, remote) = try await makeStore()
    let bytes = try transaction(5, 1, base: 2, [create("r"), set("r", "f", "text"), .delete(record: "r")])
      .encoded()
    var refused = 0
    for bit in 0..<bytes.count * 8 {
      var flipped = bytes
      flipped[bit / 8] ^= 1 << (bit % 8)
      let segment = RemoteSegment(
        zone: noteZone, incarnation: testIncarnation, offset: remote.last + 1,
        hash: ContentHash(of: flipped.span.bytes), receivedMilliseconds: nil, transactions: [flipped])
      // The content hash, which the replicator checks, would find these: here they must not trap.
      let before = try store.lastPosition()
      let found = await awaitedCode {
        _ = try await store.perform { store in
          var ingest = RemoteIngest(store)
          var report = IngestReport()
          try ingest.ingest(segment, &report)
          try store.fold.flush()
          throw Undo()
        }
      }
      if found?.rawValue.hasPrefix("other") == false { refused += 1 }
      let after = try store.lastPosition()
      #expect(after == before)
    }
    #expect(refused > bytes.count)
    for count in 0..<bytes.count {
      try await fold(.damaged, store, remote, "\(count) bytes of \(bytes.count)") {
        $0.transactions = [Array(bytes.prefix(count))]
      }
    }
    try await fold(.damaged, store, remote, "a byte more") { $0.transactions = [bytes + [0]] }
    try await fold(.newerFormat, store, remote, "a later version") {
      $0.transactions = [[2] + bytes.dropFirst()]
    }
  }

  private struct Undo: Error {}

  @Test("an acknowledgement that does not fit is refused, and nothing changes")
  func acknowledgements() async throws {
    let (store, remote) = try await makeStore()
    let good = Acknowledgement(
      zone: noteZone, incarnation: testIncarnation, offset: remote.last + 1,
      hash: ContentHash(of: [3].span.bytes), receivedMilliseconds: nil, sequences: 2...2)
    func refuse(
      _ expected: StoreError.Code, _ comment: Comment, _ change: (inout Acknowledgement) -> Void
    ) async throws {
      var bad = good
      change(&bad)
      let acknowledgement = bad
      try await expect(expected, store, comment) { _ = try await store.acknowledge(acknowledgement) }
    }
    try await refuse(.outOfOrder, "more than is there") { $0.sequences = 2...3 }
    try await refuse(.outOfOrder, "a gap") { $0.sequences = 3...3 }
    try await refuse(.outOfOrder, "from 0") { $0.sequences = 0...2 }
    try await refuse(.outOfOrder, "the greatest sequence") { $0.sequences = 2 ... .max }
    try await refuse(.outOfOrder, "offset 0") { $0.offset = 0 }
    try await refuse(.mismatch, "the place of another segment") { $0.offset = 2 }
    try await refuse(.incarnationChanged, "another incarnation") {
      $0.incarnation = IncarnationID(rawValue: 1)
    }
    try await refuse(.zoneUnknown, "an unknown zone") { $0.zone = ZoneID(name: "absent") }
    _ = try await store.acknowledge(good)
    _ = try await store.acknowledge(good)
    let pending = try store.read { try $0.pendingCount(in: noteZone) }
    #expect(pending == 0)
    try await checkSound(store)
  }

  @Test("what is pending is listed in order and placed by its acknowledgement, also ahead of the token")
  func pending() async throws {
    let store = try directory.store()
    try await store.makeZone()
    for number in 0..<6 { try await store.write { try $0.create(note("n\(number)"), type: "note") } }
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("theirs")])])
    let first = try #require(try remote.ship(store, limit: 2))
    _ = try await store.acknowledge(first)
    let state = try store.read { tx in
      (
        try tx.pending(in: noteZone).map(\.transaction.sequence),
        try tx.pending(in: noteZone, limit: 1).count,
        try tx.token(of: noteZone),
        try tx.placement(of: tx.entry(at: Position(rawValue: 2)).transaction.id, in: noteZone),
        try tx.placement(of: tx.entry(at: Position(rawValue: 3)).transaction.id, in: noteZone)
      )
    }
    #expect(state.0 == [3, 4, 5, 6])
    #expect(state.1 == 1)
    #expect(state.2 == nil)
    #expect(state.3?.offset == 2)
    #expect(state.4 == nil)
    _ = try await store.ingest(remote.segments)
    let token = try store.read { try $0.token(of: noteZone)?.offset }
    #expect(token == 2)
    let rest = try #require(try remote.ship(store))
    #expect(rest.sequences == 3...6)
    // The acknowledgement is lost; the segment comes back instead.
    _ = try await store.ingest(try remote.news(for: store))
    let count = try store.read { try $0.pendingCount(in: noteZone) }
    #expect(count == 0)
    try await checkSound(store)
  }

  @Test("a remote log that begins behind the first own transaction: those before stay pending")
  func hole() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    for name in ["a", "b", "c"] {
      try await store.write { try $0.create(note(name), type: "note") }
    }
    let own = try store.read { try $0.pending(in: noteZone).map(\.transaction) }
    var broken = TestRemote()
    _ = try broken.append(Array(own.dropFirst()))
    let segments = broken.segments
    try await expect(.outOfOrder, store, "a hole") { _ = try await store.ingest(segments) }
    var remote = TestRemote()
    for transaction in own { _ = try remote.append([transaction]) }
    _ = try await store.ingest(remote.segments)
    let pending = try store.read { try $0.pendingCount(in: noteZone) }
    #expect(pending == 0)
    try await checkSound(store)
  }
}
