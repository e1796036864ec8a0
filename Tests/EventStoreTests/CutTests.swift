import ChildProcesses
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Cutting a segment to send")
struct CutTests {
  let directory = TemporaryDirectory()

  private func write(_ store: LocalStore, _ name: String) async throws {
    try await store.write { try $0.create(note(name), type: "note", fields: ["f": .string(name)]) }
  }

  @Test(
    "it has everything pending; once stored, it stays the same over writes and reopens until acknowledged"
  )
  func storedCut() async throws {
    var store = try directory.store()
    try await store.makeAttachedZone()
    var cut = try store.nextCut(of: noteZone)
    #expect(cut == nil)
    for name in ["a", "b"] { try await write(store, name) }
    let proposal = try #require(try store.nextCut(of: noteZone))
    #expect(!proposal.isStored)
    let header = proposal.header
    #expect(header.sequences == 1...2 && header.incarnation == testIncarnation && header.zone == noteZone)
    #expect(header.replica == store.identity.replica && header.epoch == 0)
    #expect(header.base == 0 && header.baseProof == .zero && header.previousHash == .zero)
    #expect(header.operationCount == 4 && header.codec == .none)
    #expect(header.unpackedBytes == UInt64(proposal.transactions.reduce(0) { $0 + $1.count + 1 }))
    let bytes = try store.read { tx in try (1...2).map { try tx.bytes(at: Position(rawValue: $0)) } }
    #expect(proposal.transactions == bytes)
    // A proposal that is not stored grows with new writes.
    try await write(store, "c")
    let grown = try store.nextCut(of: noteZone)
    #expect(grown?.header.sequences == 1...3)
    let stored = try await store.storeCut(header)
    #expect(stored == header)
    try await write(store, "d")
    store.close()
    store = try directory.store()
    cut = try store.nextCut(of: noteZone)
    #expect(cut == SegmentCut(header: header, isStored: true, transactions: bytes))
    // Another attempt packed it differently; another cut does not replace it.
    var packed = header
    packed.codec = .zstandard
    packed.packedBytes = header.unpackedBytes - 1
    let repacked = try await store.storeCut(packed)
    #expect(repacked == packed)
    let other = try #require(grown).header
    let refused = try await store.storeCut(other)
    #expect(refused == packed)
    cut = try store.nextCut(of: noteZone)
    #expect(cut?.header == packed)
    try await checkSound(store)

    var remote = TestRemote()
    let acknowledgement = try #require(try await remote.shipCut(store))
    let report = try await store.acknowledge(acknowledgement)
    #expect(report.token?.offset == 1 && report.token?.hash == header.contentHash)
    cut = try store.nextCut(of: noteZone)
    #expect(cut?.isStored == false && cut?.header.sequences == 3...4)
    #expect(cut?.header.previousHash == header.contentHash)
    #expect(cut?.header.base == 0)
    let late = await awaitedCode { _ = try await store.storeCut(header) }
    #expect(late == .outOfOrder)
    try await checkSound(store)
  }

  @Test("a record that comes and goes fills a cut up to what others accept, not up to half of it")
  func madeAgain() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "a")
    for _ in 1...12 {
      try await store.write { try $0.delete(note("a")) }
      try await write(store, "a")
    }
    let cut = try #require(try store.nextCut(of: noteZone))
    // The twelfth would exceed the limit of a segment.
    let makings = Limits.foldStepsMax / FoldWork.stepsOfMakingAgain - 1
    #expect(cut.header.sequences == 1...UInt64(2 * makings + 2))
    var remote = TestRemote()
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    let other = try directory.store("other")
    try await other.makeAttachedZone()
    let report = try await other.ingest(remote.segments)
    #expect(report.folded == cut.transactions.count)
  }

  @Test("its base is the greatest offset that its transactions have seen, with the log's chain there")
  func base() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    for sequence in 1...2 {
      _ = try remote.append([transaction(1, UInt64(sequence), [create(Name("theirs\(sequence)"))])])
    }
    _ = try await store.ingest(remote.segments)
    try await write(store, "a")
    let cut = try #require(try store.nextCut(of: noteZone))
    let state = try store.syncState()
    #expect(cut.header.base == 2 && cut.header.baseProof == state.zones[0].token?.chain?.hash)
    // Its own segment is read before the acknowledgement arrives.
    _ = try await remote.shipCut(store)
    let stored = try store.nextCut(of: noteZone)?.isStored
    #expect(stored == true)
    let report = try await store.ingest(try remote.news(for: store))
    #expect(report.known == 1 && report.token?.offset == 3)
    let rest = try store.nextCut(of: noteZone)
    #expect(rest == nil)
    let rows = try store.rows(\.zones).filter { $0.key[0] == 3 }
    #expect(rows == [])
    try await checkSound(store)
  }

  @Test("if the remote already has a part of it, what is left is cut again, also packed differently")
  func partlyPlaced() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    for name in ["a", "b", "c"] { try await write(store, name) }
    let header = try #require(try store.nextCut(of: noteZone)).header
    _ = try await store.storeCut(header)
    // A store that was restored from a copy had sent the first two.
    var remote = TestRemote()
    let own = try store.read { try $0.pending(in: noteZone, limit: 2).map(\.transaction) }
    _ = try remote.append(own)
    _ = try await store.ingest(remote.segments)
    var state = try #require(try store.sync())
    #expect(state.pending == 1)
    let next = try store.nextCut(of: noteZone)
    #expect(next?.isStored == false && next?.header.sequences == 3...3)
    let again = try await store.storeCut(try #require(next).header)
    var packed = again
    packed.codec = .zstandard
    packed.packedBytes = again.unpackedBytes - 1
    let stored = try await store.storeCut(packed)
    #expect(stored == packed)
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    state = try #require(try store.sync())
    #expect(state.pending == 0 && state.token?.offset == 2)
    let ids = try store.entries().map(\.transaction.id)
    let places = try store.read { tx in try ids.map { try tx.placement(of: $0, in: noteZone)?.offset } }
    #expect(places == [1, 1, 2])
    let rows = try store.rows(\.zones).filter { $0.key[0] == 3 }
    #expect(rows == [])
    // A store that fetches both segments has the same state.
    let other = try directory.store("other")
    try await other.makeAttachedZone()
    let report = try await other.ingest(remote.segments)
    #expect(report.folded == 3 && report.known == 0)
    let digests = (try store.readView().digests, try other.readView().digests)
    #expect(digests.0 == digests.1)
  }

  @Test("cuts that are not this store's, not next or of another incarnation are refused")
  func refusals() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    for name in ["a", "b"] { try await write(store, name) }
    let header = try #require(try store.nextCut(of: noteZone)).header
    func refuse(_ expected: StoreError.Code, _ change: (inout SegmentHeader) -> Void) async throws {
      var changed = header
      change(&changed)
      let found = await awaitedCode { [changed] in _ = try await store.storeCut(changed) }
      #expect(found == expected)
      let cut = try store.nextCut(of: noteZone)
      #expect(cut?.isStored == false)
    }
    try await refuse(.outOfOrder) { $0.sequences = 2...2 }
    try await refuse(.outOfOrder) { $0.sequences = 1...3 }
    try await refuse(.outOfOrder) { $0.replica = ReplicaID(rawValue: 1) }
    try await refuse(.outOfOrder) { $0.epoch = 1 }
    try await refuse(.incarnationChanged) { $0.incarnation = IncarnationID(rawValue: 1) }
    try await refuse(.zoneUnknown) { $0.zone = ZoneID(name: "absent") }
    try await store.makeZone(ZoneID(name: "local"))
    try await refuse(.incarnationChanged) { $0.zone = ZoneID(name: "local") }
    let local = try store.nextCut(of: ZoneID(name: "local"))
    #expect(local == nil)
    let absent = code { _ = try store.nextCut(of: ZoneID(name: "absent")) }
    #expect(absent == .zoneUnknown)
  }

  @Test("it ends at half of the work that a segment may have", arguments: [-1, 0, 1])
  func operations(_ excess: Int) async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    let counts = [Limits.foldStepsMax / 4 - 10, 10 + excess, 1]
    for (number, count) in counts.enumerated() {
      try await store.write { tx in
        try tx.create(note("n\(number)"), type: "note")
        for value in 1..<max(count, 1) { try tx.set("f", of: note("n\(number)"), to: .int(Int64(value))) }
      }
    }
    let cut = try #require(try store.nextCut(of: noteZone))
    let last: UInt64 = [-1: 3, 0: 2, 1: 1][excess]!
    #expect(cut.header.sequences == 1...last)
    #expect(cut.header.operationCount == UInt64(counts.prefix(Int(last)).reduce(0, +)))
    _ = try await store.storeCut(cut.header)
    let again = try store.nextCut(of: noteZone)
    #expect(again?.transactions == cut.transactions)
  }

  @Test("it ends at the bytes that a segment may have", arguments: [-1, 0, 1])
  func bytes(_ excess: Int) async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await store.write { tx in
      try tx.create(note("large"), type: "note")
      for field in 0..<7 {
        try tx.set(Name("f\(field)"), of: note("large"), to: .bytes([UInt8](repeating: 1, count: 1_048_000)))
      }
    }
    func write(_ name: String, _ count: Int) async throws {
      try await store.write { tx in
        try tx.create(note(name), type: "note", fields: ["f": .bytes([UInt8](repeating: 2, count: count))])
      }
    }
    try await write("one", 500_000)
    let before = try #require(try store.nextCut(of: noteZone)).header
    #expect(before.sequences == 1...2)
    // Another transaction is longer than the second by the size of its value: all their varints have equal
    // widths.
    let second =
      Int(before.unpackedBytes) - (try store.read { try $0.bytes(at: Position(rawValue: 1)).count }) - 4
    let room = Limits.segmentPackedBytesMax - Int(before.unpackedBytes)
    try await write("two", 500_000 + room - second + excess)
    let cut = try #require(try store.nextCut(of: noteZone))
    let last: UInt64 = excess > 0 ? 2 : 3
    #expect(cut.header.sequences == 1...last)
    if excess <= 0 {
      #expect(cut.header.unpackedBytes == UInt64(Limits.segmentPackedBytesMax + excess))
    }
  }

  @Test(
    "the cut of another process is sent, and a cut that another process has sent is gone",
    .timeLimit(.minutes(20)))
  func otherProcess() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "a")
    func cutElsewhere() -> [String] {
      let child = ChildProcess("cut", directory.path + "/store")
      let lines = child.lines()
      let end = child.wait()
      #expect(end == .exit(0))
      return lines
    }
    let first = cutElsewhere()
    #expect(first == ["1"])
    try await write(store, "b")
    var remote = TestRemote()
    let mine = try #require(try store.nextCut(of: noteZone))
    #expect(mine.isStored && mine.header.sequences == 1...1)
    let acknowledgement = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(acknowledgement)
    let proposal = try #require(try store.nextCut(of: noteZone))
    try await write(store, "c")
    let second = cutElsewhere()
    #expect(second == ["3"])
    let stored = try await store.storeCut(proposal.header)
    #expect(stored.sequences == 2...3)
    let next = try #require(try await remote.shipCut(store))
    _ = try await store.acknowledge(next)
    let third = cutElsewhere()
    #expect(third == ["nothing"])
    let late = await awaitedCode { _ = try await store.storeCut(proposal.header) }
    #expect(late == .outOfOrder)
    try await checkSound(store)
  }

  @Test("a replica's segments are folded elsewhere with their bases and order checked")
  func shipped() async throws {
    let seed = UInt64.random(in: 0...999_999)
    var generator = SeededGenerator(seed: seed)
    let stores = [try directory.store("one"), try directory.store("two")]
    for store in stores { try await store.makeAttachedZone() }
    var remote = TestRemote()
    var conflicts = 0
    for round in 0..<40 {
      let store = stores[generator.below(2)]
      for _ in 0..<generator.below(3) {
        let record = note("r\(generator.below(3))")
        try await store.write { tx in
          if try !tx.contains(record) { try tx.create(record, type: "note") }
          try tx.set("f", of: record, to: .int(Int64(round)))
        }
      }
      conflicts += try await store.ingest(try remote.news(for: store)).conflicts
      if let acknowledgement = try await remote.shipCut(store) {
        _ = try await store.acknowledge(acknowledgement)
      }
    }
    for store in stores { conflicts += try await store.ingest(try remote.news(for: store)).conflicts }
    let digests = try stores.map { try $0.digest() }
    #expect(digests[0] == digests[1], "seed \(seed)")
    #expect(conflicts > 0, "seed \(seed)")
    #expect(remote.segments.contains { $0.base > 0 && $0.previousHash != .zero }, "seed \(seed)")
    for store in stores {
      let state = try store.sync()
      #expect(state?.pending == 0 && state?.token?.offset == remote.last, "seed \(seed)")
      // Everything is fetched and compared again.
      try await store.forgetTokens()
      let forgotten = try store.sync()
      #expect(forgotten?.token == .start(of: noteZone, testIncarnation) && forgotten?.pending == 0)
      let report = try await store.ingest(remote.segments)
      #expect(report.folded == 0 && report.conflicts == 0, "seed \(seed)")
      var again = try store.sync()
      // The remote of this test does not say how long an acknowledged segment is.
      again?.snapshotDueBytes = state?.snapshotDueBytes ?? 0
      #expect(again == state, "seed \(seed)")
      let digest = try store.digest()
      #expect(digest == digests[0], "seed \(seed)")
      try await checkSound(store, "seed \(seed)")
    }
  }
}

@Suite("A segment's references to earlier segments are checked")
struct SegmentCheckTests {
  let directory = TemporaryDirectory()

  private func refuse(
    _ store: LocalStore, _ segment: RemoteSegment, _ comment: Comment,
    _ change: (inout RemoteSegment) -> Void
  ) async throws {
    let before = try store.readView()
    var changed = segment
    change(&changed)
    let found = await awaitedCode { [changed] in _ = try await store.ingest([changed]) }
    #expect(found == .mismatch, comment)
    let after = try store.readView()
    #expect(after == before, comment)
  }

  @Test("another segment at its base, or before it, is refused; if that is unknown, it is folded")
  func hashes() async throws {
    let store = try directory.store()
    try await store.makeZone()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("a")])])
    _ = try remote.append([
      transaction(2, 1, base: 1, [create("b")]), transaction(2, 2, base: 1, [create("c")]),
    ])
    _ = try await store.ingest(remote.segments)
    _ = try remote.append([transaction(2, 3, base: 2, [create("d")])])
    let next = remote.segments[2]
    let wrong = ContentHash(of: [9].span.bytes)
    let chain = try #require(try store.syncState().zones[0].token?.chain)
    try await refuse(store, next, "another base") {
      $0.base = 2
      $0.baseProof = wrong
    }
    try await refuse(store, next, "a base that is not there yet") {
      $0.base = 3
      $0.baseProof = wrong
    }
    try await refuse(store, next, "another one before") { $0.previousHash = wrong }
    try await refuse(store, next, "none before") { $0.previousHash = .zero }
    // A segment that overlaps begins inside another one, so its predecessor is unknown.
    var overlapping = next
    overlapping.transactions.insert(remote.segments[1].transactions[1], at: 0)
    overlapping.previousHash = wrong
    overlapping.base = 2
    overlapping.baseProof = chain.hash
    let report = try await store.ingest([overlapping])
    #expect(report.folded == 1 && report.known == 1)
    #expect(report.token?.offset == 3)
    // A transaction in two segments is not compared either.
    _ = try remote.append([transaction(2, 4, base: 2, [create("e")])])
    var fourth = remote.segments[3]
    fourth.previousHash = wrong
    let last = try await store.ingest([fourth])
    #expect(last.folded == 1)
    try await checkSound(store)
  }
}

@Suite("Observing commits")
struct CommitObservationTests {
  let directory = TemporaryDirectory()

  @Test("each commit of this process is reported until the observation ends, and ids only grow")
  func told() async throws {
    let store = try directory.store()
    let (first, second) = (Shared(0), Shared(0))
    var observation: CommitObservation? = store.onCommit { first.value += 1 }
    let other = store.onCommit { second.value += 1 }
    let before = try store.lastCommitID
    try await store.makeZone()
    #expect(first.value == 1)
    let between = try store.lastCommitID
    #expect(between > before)
    struct Stop: Error {}
    await #expect(throws: Stop.self) { try await store.write { _ in throw Stop() } }
    #expect(first.value == 1)
    let same = try store.lastCommitID
    #expect(same == between)
    observation = nil
    #expect(observation == nil)
    try await store.setExistencePolicy(.updateWins, of: "note")
    #expect(first.value == 1 && second.value == 2)
    other.cancel()
    try await store.makeZone(ZoneID(name: "more"))
    #expect(second.value == 2)
    store.close()
    let closed = code { _ = try store.lastCommitID }
    #expect(closed == .closed)
  }

  @Test("another process's commit changes the id", .timeLimit(.minutes(20)))
  func otherProcess() async throws {
    let store = try directory.store()
    try await store.makeZone()
    let count = Shared(0)
    let observation = store.onCommit { count.value += 1 }
    let before = try store.lastCommitID
    let child = ChildProcess("replaceZone", directory.path + "/store")
    let end = child.wait()
    #expect(end == .exit(0))
    let after = try store.lastCommitID
    #expect(after > before && count.value == 0)
    observation.cancel()
  }
}
