import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("A zone that begins with a snapshot, and has work of an imported log that was not sent")
struct SnapshotsOverImportedWork {
  private let directory = TemporaryDirectory()

  /// A store that has sent one transaction and not the next two, and one that has imported its log.
  private struct World {
    var old: LocalStore
    var new: LocalStore
    var remote: TestRemote
    /// What was not sent.
    var unsent: [LogTransaction]

    /// The same transaction with another value: what a copy of the old store has made.
    func fork(_ index: Int) -> LogTransaction {
      var transaction = unsent[index]
      transaction.operations = [set("r", "f", "of a copy")]
      return transaction
    }

    /// All of them, one entry each, after the first ones of what was not sent.
    mutating func append(_ count: Int, then others: [LogTransaction]) throws {
      for transaction in unsent.prefix(count) + others {
        _ = try remote.append([transaction], isAsWritten: true)
      }
    }
  }

  private func world() async throws -> World {
    let old = try directory.store("old")
    try await old.makeAttachedZone()
    try await old.write { try $0.create(note("r"), type: "note") }
    var remote = TestRemote()
    let sent = try #require(try remote.ship(old))
    _ = try await old.acknowledge(sent)
    for value in 2...3 {
      try await old.write { try $0.set("f", of: note("r"), to: .int(Int64(value))) }
    }
    let new = try directory.store("new")
    try await new.importLines(old.exportedLines())
    let unsent = try new.read { try $0.pending(in: noteZone).map(\.transaction) }
    try #require(
      unsent.map(\.sequence) == [2, 3] && unsent.allSatisfy { $0.replica == old.identity.replica })
    return World(old: old, new: new, remote: remote, unsent: unsent)
  }

  /// A store that has read the remote.
  private func reader(_ remote: TestRemote, _ name: String = "reader") async throws -> LocalStore {
    let store = try directory.store(name)
    try await store.makeAttachedZone()
    _ = try await store.ingest(remote.segments)
    try await store.finishRenewal()
    return store
  }

  private func begin(_ store: LocalStore, withSnapshotOf source: LocalStore) async throws {
    let manifest = try source.makeSnapshot(of: noteZone)
    try await store.begin(noteZone, with: manifest) { try source.snapshotPart($0, of: manifest) }
  }

  /// Sends what is pending, and expects that both show the same then.
  private func sendAll(of store: LocalStore, to reader: LocalStore, _ remote: inout TestRemote) async throws {
    while let sent = try await remote.shipCut(store) { _ = try await store.acknowledge(sent) }
    let news = try remote.news(for: reader)
    if !news.isEmpty { _ = try await reader.ingest(news) }
    for each in [store, reader] {
      try await each.finishRenewal()
      let report = try each.verify()
      #expect(report.isSound, "\(report)")
    }
    #expect(try store.read { try $0.pendingCount(in: noteZone) } == 0)
    #expect(try store.digest() == reader.digest())
  }

  /// Expects that a store does not begin with a snapshot, and keeps all that it has.
  private func expectRefused(_ store: LocalStore, _ source: LocalStore) async throws {
    let before = try store.readView()
    for round in 1...2 {
      let commit = try store.lastCommitID
      #expect(await awaitedCode { try await begin(store, withSnapshotOf: source) } == .laneClosed)
      // Who syncs on every commit would try again at once.
      #expect(try round == 1 || store.lastCommitID == commit)
      #expect(try store.readView() == before)
      #expect(try store.origin(of: noteZone) == nil)
    }
  }

  @Test("What the log has of it is taken as sent; what it lacks waits, and is sent", arguments: 0...2)
  func sameBranch(sent: Int) async throws {
    var world = try await world()
    try world.append(sent, then: [transaction(9, 1, base: 1, [set("r", "g", 1)])])
    let reader = try await reader(world.remote)
    try await begin(world.new, withSnapshotOf: reader)
    #expect(try world.new.read { try $0.pendingCount(in: noteZone) } == 2 - sent)
    #expect(try world.new.heads("f", note("r")) == [3])
    try await sendAll(of: world.new, to: reader, &world.remote)
    #expect(try reader.heads("f", note("r")) == [3])
    for store in [world.old, world.new, reader] { store.close() }
  }

  @Test(
    "Of what has another branch in the log nothing is dropped: the user decides, and then the zone begins",
    arguments: [ClosedLaneAnswer.takeOver, .letGo], [0, 1])
  func otherBranch(answer: ClosedLaneAnswer, same: Int) async throws {
    var world = try await world()
    try world.append(same, then: [world.fork(same), transaction(9, 1, base: 1, [set("r", "g", 1)])])
    let reader = try await reader(world.remote)
    try await expectRefused(world.new, reader)
    #expect(try await world.new.settleClosedLanes(of: noteZone, answer) == 2 - same)
    try await world.new.finishRenewal()
    try await begin(world.new, withSnapshotOf: reader)
    try await sendAll(of: world.new, to: reader, &world.remote)
    let shown = try reader.heads("f", note("r"))
    #expect(shown.contains("of a copy") && shown.contains(3) == (answer == .takeOver), "\(shown)")
    for store in [world.old, world.new, reader] { store.close() }
  }

  @Test(
    "What is at or below a floor, before what the snapshot names there, is taken as sent: nobody is asked")
  func belowAFloor() async throws {
    var world = try await world()
    // The writer has gone on. So the snapshot names only an entry of it that was not imported.
    var next = world.fork(1)
    (next.sequence, next.operations) = (4, [set("r", "f", 4)])
    try world.append(2, then: [next, transaction(9, 1, base: 4, [.compact(floor: 4)])])
    let reader = try await reader(world.remote)
    let manifest = try reader.makeSnapshot(of: noteZone)
    let head = try SnapshotHead(manifest) { try reader.snapshotPart($0, of: manifest) }
    try #require(head.entries.map(\.offset) == [4, 5])
    try await begin(world.new, withSnapshotOf: reader)
    #expect(try world.new.read { try $0.pendingCount(in: noteZone) } == 0)
    try await sendAll(of: world.new, to: reader, &world.remote)
    #expect(try world.new.heads("f", note("r")) == [4])
    for store in [world.old, world.new, reader] { store.close() }
  }

  @Test("An entry that has more than was imported cannot be compared: the user decides")
  func more() async throws {
    var world = try await world()
    try await world.old.write { try $0.set("f", of: note("r"), to: 4) }
    let sent = try #require(try world.remote.ship(world.old))
    _ = try await world.old.acknowledge(sent)
    try await expectRefused(world.new, world.old)
    #expect(try await world.new.settleClosedLanes(of: noteZone, .letGo) == 2)
    try await world.new.finishRenewal()
    try await begin(world.new, withSnapshotOf: world.old)
    try await sendAll(of: world.new, to: world.old, &world.remote)
    #expect(try world.new.heads("f", note("r")) == [4])
    for store in [world.old, world.new] { store.close() }
  }
}
