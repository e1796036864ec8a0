import Testing

@testable import EventStore
@testable import LMDB
@testable import OperationFormat
@testable import StoreTesting

@Suite("A store's own segments follow the rules of the log, or are rejected here too")
struct RulesOfOwnSegments {
  let directory = TemporaryDirectory()

  private func write(_ store: LocalStore, _ name: String) async throws {
    try await store.write { try $0.create(note(name), type: "note") }
  }

  /// What a store sends next, with its header, as the remote acknowledges it.
  private func ship(_ store: LocalStore, at offset: UInt64) async throws -> Acknowledgement {
    let cut = try #require(try store.nextCut(of: noteZone))
    let header = try await store.storeCut(cut.header)
    return Acknowledgement(
      zone: noteZone, incarnation: testIncarnation, offset: offset, hash: header.contentHash,
      receivedMilliseconds: nil, sequences: header.sequences,
      writer: StoreIdentity(replica: header.replica, epoch: header.epoch), header: header)
  }

  private enum Lie: CaseIterable { case none, base, previous }

  @Test(
    "An acknowledgement that moves the token checks the rules first: a bad segment is rejected and issued again",
    arguments: Lie.allCases)
  private func acknowledged(lie: Lie) async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "first")
    _ = try await store.acknowledge(try await ship(store, at: 1))
    try await write(store, "second")
    var acknowledgement = try await ship(store, at: 2)
    if lie == .base { acknowledgement.header?.baseProof = .zero }
    if lie == .previous { acknowledgement.header?.previousHash = .zero }
    let report = try await store.acknowledge(acknowledgement)
    let isRejected = lie != .none
    #expect(report.rejected == (isRejected ? 1 : 0) && report.token?.offset == 2)
    #expect(try store.isOwnLaneClosed(of: noteZone) == isRejected)
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == (isRejected ? 1 : 0))
    if isRejected {
      let rejected = try store.read { try $0.rejectedSegments(in: noteZone) }
      #expect(rejected.map(\.offset) == [2] && rejected.map(\.reason) == [lie == .base ? .base : .previous])
      #expect(try await store.renewLane(of: noteZone) == 1)
      try await store.finishRenewal()
      let again = try await store.acknowledge(try await ship(store, at: 3))
      #expect(again.rejected == 0 && again.token?.offset == 3)
    }
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 0)
    try await checkSound(store)
  }

  @Test("Places that are removed are removed with their receive times")
  func retimed() async throws {
    let store = try directory.store { $0.wallMilliseconds = { 10_000_000 } }
    try await store.makeAttachedZone()
    try await write(store, "first")
    var acknowledgement = try await ship(store, at: 2)
    acknowledgement.receivedMilliseconds = 1000
    let report = try await store.acknowledge(acknowledgement)
    #expect(report.rejected == 0 && report.token?.offset == 0)
    let capped = try store.read { try $0.digest(of: noteZone) }
    // An earlier segment closes its lane.
    var transaction = transaction(0, 5, [create("second")])
    transaction.replica = store.identity.replica
    var remote = TestRemote()
    let segment = try remote.append([transaction])
    let reason = await #expect(throws: StoreError.self) { try await store.ingest([segment]) }?.rejection
    #expect(reason == .hole)
    _ = try await store.reject(segment, .hole)
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 1)
    let uncapped = try store.read { try $0.digest(of: noteZone) }
    #expect(uncapped != capped)
    let verified = try store.verify()
    #expect(verified.isSound, "\(verified)")
    _ = try await store.rebuild()
    #expect(try store.read { try $0.digest(of: noteZone) } == uncapped)
  }

  /// A transaction of a write, as a repeated commit has it.
  private func kept(_ store: LocalStore, epoch: UInt32 = 0, _ operations: [LogOperation]) throws
    -> KeptTransaction
  {
    let bytes = try LogTransaction(
      replica: store.identity.replica, epoch: epoch, sequence: 2, zone: noteZone,
      timestamp: Timestamp(milliseconds: 2_000_000, counter: 0), operations: operations
    ).encoded()
    var reader = ByteReader(bytes.span.bytes)
    let header = try TransactionHeader.read(from: &reader)
    return KeptTransaction(
      header: header, position: .start, arrivalDelay: 0,
      body: bytes.span.bytes.extracting(reader.position...).bytes)
  }

  private func again(_ store: LocalStore, _ kept: KeptTransaction) async throws -> TransactionHeader? {
    try await store.perform { store in
      let write = LocalWrite(store)
      try KeptWrite(write).append([kept], [])
      return write.kept.first?.header
    }
  }

  @Test("A commit that is repeated after another process took the next epoch uses that epoch")
  func againAfterRenewal() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "first")
    let old = try kept(store, [create("second")])
    let units = try kept(
      store, [.update(record: "first", type: "note", field: "body", .insertText("x", after: nil))])
    var transaction = transaction(0, 5, [create("other")])
    transaction.replica = store.identity.replica
    var remote = TestRemote()
    _ = try await store.reject(try remote.append([transaction]), .hole)
    #expect(try await store.renewLane(of: noteZone) == 1)
    try await store.finishRenewal()
    let header = try await again(store, old)
    #expect(header?.epoch == 1 && header?.sequence == 2 && header?.parent == nil)
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 2)
    let cut = try store.nextCut(of: noteZone)
    #expect(cut?.transactions.count == 2)
    // Its units were numbered in the epoch before.
    let code = await awaitedCode { _ = try await again(store, units) }
    #expect(code == .commitFailed)
    try await checkSound(store)
  }

  @Test("A repeated commit has seen what the transaction before it has seen")
  func againAfterReading() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    try await write(store, "first")
    let old = try kept(store, [create("third")])
    var remote = TestRemote()
    _ = try await store.ingest([try remote.append([transaction(7, 1, [create("theirs")])])])
    try await write(store, "second")
    let header = try await again(store, old)
    #expect(header?.sequence == 3 && header?.base?.offset == 1)
    while let acknowledgement = try await remote.shipCut(store) {
      #expect(try await store.acknowledge(acknowledgement).rejected == 0)
    }
    let reader = try directory.store("reader")
    try await reader.makeAttachedZone()
    _ = try await reader.ingest(remote.segments)
    #expect(try reader.read { try $0.digest(of: noteZone) } == store.read { try $0.digest(of: noteZone) })
    try await checkSound(store)
  }

  @Test("A commit that is repeated after another process read a shorter log has no base beyond that log")
  func againAfterRereading() async throws {
    let store = try directory.store()
    try await store.makeAttachedZone()
    var remote = TestRemote()
    for sequence: UInt64 in 1...3 {
      _ = try remote.append([transaction(7, sequence, [create(Name("theirs \(sequence)"))])])
    }
    _ = try await store.ingest(remote.segments)
    var old = try kept(store, [create("mine")])
    old.header.sequence = 1
    old.header.base = Base(incarnation: testIncarnation, offset: 3)
    _ = try await store.beginRereading(noteZone, from: 3)
    try await store.endRereading(noteZone)
    try await store.finishRenewal()
    let header = try await again(store, old)
    #expect(header?.base?.offset == 2)
    try await checkSound(store)
  }

  #if DEBUG
    /// The calls of LMDB for folding a segment while a log with this many lanes is read again.
    private func calls(lanes: UInt64) async throws -> Int {
      let plan = FaultPlan()
      let store = try directory.store("\(lanes)") { $0.faults = plan }
      try await store.makeAttachedZone()
      var remote = TestRemote()
      for lane in 1...lanes {
        _ = try remote.append([transaction(UInt128(lane), 1, [set("shared", "field", .int(Int64(lane)))])])
      }
      _ = try await store.ingest(remote.segments)
      _ = try await store.beginRereading(noteZone, from: 1)
      let before = plan.count
      _ = try await store.ingest([remote.segments[0]])
      let count = plan.count - before
      _ = try await store.ingest(Array(remote.segments.dropFirst()))
      try await store.endRereading(noteZone)
      try await store.finishRenewal()
      #expect(try store.read { try $0.pendingCount(in: noteZone) } == 0)
      try await checkSound(store)
      return count
    }

    @Test("A segment that is read again checks only its own lane, whatever others wait")
    func manyLanes() async throws {
      let (few, many) = (try await calls(lanes: 8), try await calls(lanes: 200))
      #expect(many <= few + 20, "\(few) and \(many) calls")
    }

    @Test("The end of a rereading takes work only for the removed lanes, however many lanes there are")
    func manyLanesThatWent() async throws {
      func calls(lanes: UInt64) async throws -> Int {
        let plan = FaultPlan()
        let store = try directory.store("went \(lanes)") { $0.faults = plan }
        try await store.makeAttachedZone()
        var remote = TestRemote()
        for lane in 1...lanes {
          _ = try remote.append([transaction(UInt128(lane), 1, [set(Name("r\(lane)"), "field", 1)])])
        }
        _ = try await store.ingest(remote.segments)
        _ = try await store.beginRereading(noteZone, from: 1)
        let before = plan.count
        try await store.endRereading(noteZone)
        let count = plan.count - before
        try await store.finishRenewal()
        #expect(try store.read { try $0.record(note("r1")) } == nil)
        return count
      }
      let (few, many) = (try await calls(lanes: 60), try await calls(lanes: 120))
      #expect(many <= few * 5 / 2, "\(few) and \(many) calls")
    }
  #endif
}
