import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

@Suite("A segment with more work than one commit may have")
struct FoldsBeside {
  let directory = TemporaryDirectory()
  private let record = note("r")

  /// A remote log in which a record has many rows of each kind, and then is created again.
  ///
  /// - Parameter seen: the last offset of the log that the replica has seen that creates it again; nil for
  ///   none.
  private func makeRemote(seen: UInt64?, of zone: ZoneID = noteZone) throws -> TestRemote {
    var remote = TestRemote()
    remote.zone = zone
    func update(_ field: Name, _ change: FieldChange) -> LogOperation {
      .update(record: "r", type: "note", field: field, change)
    }
    var operations = [create("r"), set("r", "f", 1)]
    operations += (0..<60).map { update("tags", .insert(.int($0))) }
    operations += (0..<20).map { update("places", .put(key: Name("k\($0)"), .int($0))) }
    operations.append(update("items", .insertElements((0..<30).map { .int($0) }, after: nil)))
    for index in 0..<20 { operations.append(update("body", .insertText("line \(index)", after: nil))) }
    _ = try remote.append([transaction(1, 1, zone: zone, operations)])
    // One transaction of each replica, none of which has seen another, so that they are concurrent: heads in
    // their own rows.
    for replica in UInt128(10)..<50 {
      let operations = [
        set("r", "f", .int(Int64(replica))), update("likes", .add(.int(1))),
        update("places", .put(key: "k0", .int(Int64(replica)))),
      ]
      _ = try remote.append([transaction(replica, 1, zone: zone, operations)])
    }
    _ = try remote.append([
      transaction(2, 1, base: seen, zone: zone, [create("r"), set("r", "g", 1)])
    ])
    return remote
  }

  /// Folds a whole remote log; returns how many commits its last segment took, and whether it was folded
  /// beside the records.
  private func fold(
    _ remote: TestRemote, into store: LocalStore, _ commits: borrowing Atomic<Int>
  ) async throws -> (commits: Int, beside: Int) {
    var last: (commits: Int, beside: Int) = (0, 0)
    for segment in remote.segments {
      let before = commits.load(ordering: .relaxed)
      let report = try await store.ingest([segment])
      last = (commits.load(ordering: .relaxed) - before, report.foldedBeside)
    }
    return last
  }

  @Test("is folded in many commits, with the same result", arguments: [41, 20, 1, nil] as [UInt64?])
  func same(seen: UInt64?) async throws {
    let remote = try makeRemote(seen: seen)
    final class Commits: Sendable { let count = Atomic(0) }
    let (commits, others) = (Commits(), Commits())
    let bounded = try directory.store("bounded") { configuration in
      configuration.foldBoundStepsMax = 80
      configuration.writeLockDidChange = { if $0 { commits.count.add(1, ordering: .relaxed) } }
    }
    let plain = try directory.store("plain") { configuration in
      configuration.writeLockDidChange = { if $0 { others.count.add(1, ordering: .relaxed) } }
    }
    for store in [bounded, plain] { try await store.makeZone() }
    let many = try await fold(remote, into: bounded, commits.count)
    let one = try await fold(remote, into: plain, others.count)
    #expect(many.beside == 1 && many.commits > 20, "\(many)")
    #expect(one.commits == 1 && one.beside == 0)
    #expect(try bounded.digest() == plain.digest())
    for store in [bounded, plain] {
      let report = try store.verify()
      #expect(report.problems == [] && report.transactions == 42)
      _ = try await store.rebuild()
      #expect(try store.digest() == plain.digest())
    }
  }

  @Test("is folded once with all later segments, and earlier segments are not tried repeatedly")
  func many() async throws {
    final class Commits: Sendable { let count = Atomic(0) }
    var remote = try makeRemote(seen: nil)
    for sequence in UInt64(2)...20 { _ = try remote.append([transaction(2, sequence, [create("r")])]) }
    let store = try directory.store("bounded")
    let plain = try directory.store("plain")
    for store in [store, plain] { try await store.makeZone() }
    for segment in remote.segments { _ = try await plain.ingest([segment]) }
    store.close()
    let commits = Commits()
    let bounded = try directory.store("bounded") { configuration in
      configuration.foldBoundStepsMax = 80
      configuration.writeLockDidChange = { if $0 { commits.count.add(1, ordering: .relaxed) } }
    }
    var left = remote.segments[...]
    var reports: [IngestReport] = []
    while !left.isEmpty {
      reports.append(try await bounded.ingest(Array(left), isMoreToCome: true))
      left = left.dropFirst(reports.last!.segments)
    }
    // The segments before it, and then it with those after it: each was tried once before.
    #expect(reports.map(\.segments) == [41, 20], "\(reports)")
    #expect(reports.map(\.foldedBeside) == [0, 20])
    #expect(commits.count.load(ordering: .relaxed) == 4)
    try await bounded.finishRenewal()
    let all = commits.count.load(ordering: .relaxed)
    #expect(try bounded.digest() == plain.digest())
    #expect(try bounded.verify().problems == [])
    // Each reads the same rows without a result: linear in them.
    #expect(all < 20 * 40, "\(all) commits")
  }

  @Test("local writes before it is folded have not seen it, and all replicas agree afterwards")
  func window() async throws {
    var remote = try makeRemote(seen: 41)
    let heavy = remote.segments[41]
    let store = try directory.store("writer") { $0.foldBoundStepsMax = 80 }
    let reader = try directory.store("reader")
    for store in [store, reader] { try await store.makeZone() }
    for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
    let report = try await store.ingest([heavy], isMoreToCome: true)
    #expect(report.token?.offset == 42 && report.foldedBeside == 1)
    let again = try await store.ingest([heavy], isMoreToCome: true)
    #expect(again.known == 1 && again.token?.offset == 42)
    #expect(try store.read { try $0.isFoldingAgain() })
    #expect(try store.verify().problems == [])
    // It still has its old state, and a write of a field depends on that.
    #expect(try store.value("g", record) == nil)
    let record = record
    try await store.write { try $0.set("f", of: record, to: "mine") }
    let mine = try #require(try store.entries().last?.transaction)
    #expect(mine.base?.offset == 41)
    // Sending meanwhile does not make it seen.
    let acknowledgement = try #require(try remote.ship(store))
    _ = try await store.acknowledge(acknowledgement)
    try await store.write { try $0.set("h", of: record, to: "mine") }
    #expect(try store.entries().last?.transaction.base?.offset == 41)
    _ = try await store.acknowledge(try #require(try remote.ship(store)))
    try await store.finishRenewal()
    #expect(try store.value("g", record) == 1)
    #expect(try store.value("f", record) == "mine")
    try await store.write { try $0.set("i", of: record, to: "mine") }
    #expect(try store.entries().last?.transaction.base?.offset == 44)
    _ = try await store.acknowledge(try #require(try remote.ship(store)))
    for segment in remote.segments { _ = try await reader.ingest([segment]) }
    #expect(try store.digest() == reader.digest())
    #expect(try store.verify().problems == [])
  }

  @Test("a process that opens the store meanwhile does not wait for it, and the next segment does")
  func opened() async throws {
    let remote = try makeRemote(seen: 41)
    let heavy = remote.segments[41]
    do {
      let store = try directory.store { $0.foldBoundStepsMax = 80 }
      try await store.makeZone()
      for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
      _ = try await store.ingest([heavy], isMoreToCome: true)
      store.close()
    }
    let store = try directory.store()
    #expect(try store.read { try $0.isFoldingAgain() })
    #expect(try store.value("g", record) == nil)
    let report = try await store.ingest([heavy])
    #expect(report.known == 1)
    #expect(try !store.read { try $0.isFoldingAgain() })
    #expect(try store.value("g", record) == 1)
    #expect(try store.verify().problems == [])
  }

  private func body(of store: LocalStore) throws -> String? {
    let record = record
    return try store.read { try $0.text(of: "body", in: record) }
  }

  @Test(
    "writes before a store's own lost transactions are folded have not seen them or their units",
    arguments: [false, true])
  func ownLane(hasNextEpoch: Bool) async throws {
    var remote = try makeRemote(seen: 41)
    let store = try directory.store("writer") { $0.foldBoundStepsMax = 80 }
    let reader = try directory.store("reader")
    for store in [store, reader] { try await store.makeZone() }
    for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
    // The store was restored from a backup: it has forgotten its writes.
    let lost = LogOperation.update(record: "r", type: "note", field: "body", .insertText("LOST", after: nil))
    let own = transaction(store.identity.replica.rawValue, 1, base: 42, [lost])
    _ = try remote.append([own])
    if hasNextEpoch {
      var next = transaction(store.identity.replica.rawValue, 1, base: 42, [lost])
      next.epoch = 1
      next.parent = own.id
      _ = try remote.append([next])
    }
    let count = hasNextEpoch ? 3 : 2
    let report = try await store.ingest(Array(remote.segments.suffix(count)), isMoreToCome: true)
    #expect(report.foldedBeside == count)
    for text in ["hello", "bye"] {
      let record = record
      try await store.write { tx in
        let count = try tx.text(of: "body", in: record)?.unicodeScalars.count ?? 0
        try tx.removeText(0..<count, from: "body", of: record)
        try tx.insertText(text, at: 0, in: "body", of: record)
      }
    }
    #expect(try body(of: store) == "bye")
    let written = try #require(try store.entries().last?.transaction)
    #expect(written.epoch == UInt32(count - 1) && written.base?.offset == 41)
    try await store.finishRenewal()
    let text = try #require(try body(of: store))
    #expect(text.contains("bye") && text.count == 3 + 4 * (count - 1))
    while let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    for segment in remote.segments { _ = try await reader.ingest([segment]) }
    #expect(try store.digest() == reader.digest())
    for store in [store, reader] { #expect(try store.verify().problems == []) }
  }

  @Test("a log exported before it is folded gives a store that has seen all of it")
  func exported() async throws {
    var remote = try makeRemote(seen: 41)
    let store = try directory.store("exported") { $0.foldBoundStepsMax = 80 }
    try await store.makeZone()
    for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
    _ = try await store.ingest([remote.segments[41]], isMoreToCome: true)
    let imported = try directory.store("imported")
    try await imported.importLines(store.exportedLines())
    _ = try await imported.ingest([remote.append([transaction(3, 1, [set("r", "h", 1)])])])
    #expect(try imported.verify().problems == [])
    let record = record
    try await imported.write { try $0.set("f", of: record, to: "mine") }
    #expect(try imported.entries().last?.transaction.base?.offset == 43)
  }

  @Test("an operation that is paused in a zone which is then deleted leaves nothing to the next one")
  func deleted() async throws {
    let store = try directory.store { $0.foldBoundStepsMax = 80 }
    let other = ZoneID(name: "other")
    for zone in [noteZone, other] { try await store.makeZone(zone) }
    let (record, heavy) = (record, RecordID(zone: other, name: "heavy"))
    try await store.write { try $0.create(record, type: "note", fields: ["f": 1]) }
    try await store.write { tx in
      try tx.create(heavy, type: "note")
      for number in 0..<2000 { try tx.insert(.int(Int64(number)), into: "tags", of: heavy) }
    }
    try await store.write { try $0.delete(record) }
    try await store.write { tx in
      try tx.delete(heavy)
      try tx.create(heavy, type: "note")
    }
    try await store.write { try $0.create(record, type: "note") }
    _ = try await store.perform { try Rebuild($0).start() }
    while try await store.perform(
      { store in
        _ = try Rebuild(store).step()
        return try store.storage.meta.unfinishedRebuild()?.progress.next == nil
      })
    {}
    try await store.write { try $0.deleteZone(other) }
    _ = try await store.rebuild()
    #expect(try store.value("f", record) == nil)
    #expect(try store.verify().problems == [])
  }

  @Test("other zones do not wait for it")
  func others() async throws {
    let remote = try makeRemote(seen: 41)
    let store = try directory.store { $0.foldBoundStepsMax = 80 }
    let other = ZoneID(name: "other")
    for zone in [noteZone, other] { try await store.makeZone(zone) }
    for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
    _ = try await store.ingest([remote.segments[41]], isMoreToCome: true)
    var second = TestRemote()
    second.zone = other
    second.incarnation = IncarnationID(rawValue: 0xDEF)
    let segment = try second.append([transaction(9, 1, zone: other, [create("r")])])
    let report = try await store.ingest([segment])
    #expect(report.folded == 1 && report.foldedBeside == 0)
    #expect(try store.read { try $0.contains(RecordID(zone: other, name: "r")) })
    #expect(try store.read { try $0.isFoldingAgain() })
    try await store.finishRenewal()
    #expect(try store.value("g", record) == 1)
    #expect(try store.verify().problems == [])
  }

  @Test("several zones are folded together, and the others still do not wait")
  func several() async throws {
    let (other, third) = (ZoneID(name: "other"), ZoneID(name: "third"))
    let store = try directory.store { $0.foldBoundStepsMax = 80 }
    for zone in [noteZone, other, third] { try await store.makeZone(zone) }
    for zone in [noteZone, other] {
      let remote = try makeRemote(seen: 41, of: zone)
      for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
      _ = try await store.ingest([remote.segments[41]], isMoreToCome: true)
      // Some of it is done before the next one arrives.
      _ = try await store.perform { try Rebuild($0).step() }
    }
    let place = try await store.perform { try $0.storage.meta.unfinishedRebuild()?.progress }
    #expect(place?.isPartial == true)
    var light = TestRemote()
    light.zone = third
    let report = try await store.ingest([light.append([transaction(9, 1, zone: third, [create("r")])])])
    #expect(report.folded == 1 && report.foldedBeside == 0)
    #expect(try store.read { try $0.readView.zones.areOnlyBehindTokens() })
    try await store.finishRenewal()
    #expect(try !store.read { try $0.isFoldingAgain() })
    for zone in [noteZone, other] {
      #expect(try store.value("g", RecordID(zone: zone, name: "r")) == 1)
    }
    #expect(try store.verify().problems == [])
  }

  @Test("a rebuild that another has completed does not begin again")
  func ended() async throws {
    let store = try directory.store()
    try await store.makeZone(noteZone)
    let report = try await store.perform { try Rebuild($0).resume() }
    #expect(report == RebuildReport())
    #expect(try await store.perform { try $0.storage.meta.unfinishedRebuild() == nil })
  }

  @Test("a requested rebuild folds every zone again, even if one zone was being folded")
  func whole() async throws {
    let remote = try makeRemote(seen: 41)
    let store = try directory.store { $0.foldBoundStepsMax = 80 }
    let other = ZoneID(name: "other")
    for zone in [noteZone, other] { try await store.makeZone(zone) }
    try await store.write { try $0.create(RecordID(zone: other, name: "r"), type: "note") }
    for segment in remote.segments.dropLast() { _ = try await store.ingest([segment]) }
    _ = try await store.ingest([remote.segments[41]], isMoreToCome: true)
    let report = try await store.rebuild()
    #expect(!report.wasResumed && report.transactions == 43)
    #expect(try !store.read { try $0.isFoldingAgain() })
    #expect(try store.value("g", record) == 1)
    #expect(try store.verify().problems == [])
  }
}
