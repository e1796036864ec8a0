import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Restoring losers of a record's existence")
struct LosersThatAreRestored {
  let directory = TemporaryDirectory()

  /// A store with a record that has every kind of field. Its deletion elsewhere won over a change that it had
  /// not seen.
  private func makeStore(_ name: String) async throws -> (LocalStore, TestRemote) {
    let store = try directory.store(name) { $0.wallMilliseconds = { 1_500_000 } }
    try await store.makeZone()
    var remote = TestRemote()
    try await store.write { tx in
      try tx.create(note("r"), type: "note", fields: ["title": "Milk"])
      try tx.create(note("bare"), type: "note")
      try tx.create(note("merging"), type: "note")
      for record in [note("r"), note("merging")] {
        try tx.insertText("whole", at: 0, in: "body", of: record)
        try tx.insertElements(["a", "b"], at: 0, in: "items", of: record)
        try tx.add(3, to: "likes", of: record)
        try tx.insert("red", into: "tags", of: record)
        try tx.put(1, at: "k", in: "map", of: record)
        try tx.contribute(5, to: "stars", of: record)
      }
    }
    let shipped = try #require(try remote.ship(store))
    _ = try await store.acknowledge(shipped)
    _ = try remote.append([
      transaction(
        7, 1, base: 1, at: 1_600_000,
        [
          set("r", "title", "Oat milk"), .delete(record: "r"), .delete(record: "bare"),
          .delete(record: "merging"),
        ])
    ])
    // The deletion has not seen it, and it is earlier.
    try await store.write { tx in
      try tx.set("title", of: note("r"), to: "Soy milk")
      try tx.remove("none", from: "tags", of: note("bare"))
      try tx.add(1, to: "likes", of: note("merging"))
    }
    _ = try await store.ingest([remote.segments[1]])
    return (store, remote)
  }

  private func existenceConflict(_ record: RecordID, _ store: LocalStore) throws -> Conflict? {
    try store.read { try $0.conflicts(of: record) }.first { $0.field == nil }
  }

  @Test(
    "a record whose deletion won is restored completely, with the conflicts of its fields",
    arguments: ["r", "bare", "merging"])
  func comesBack(_ name: String) async throws {
    let (store, _) = try await makeStore("store")
    let record = note(name)
    let hidden = try store.read { try $0.recordOrHidden(record) }
    let conflict = try #require(try existenceConflict(record, store))
    #expect(conflict.winner.content == .dead && conflict.losers.map(\.content) == [.alive(type: "note")])
    #expect(try store.read { try $0.record(record) } == nil)
    let fieldConflicts = try store.read { try $0.conflicts(of: record) }.filter { $0.field != nil }
    #expect(fieldConflicts.map(\.field) == (name == "r" ? ["title"] : []))
    // A field of a deleted record cannot be restored before the record.
    if let first = fieldConflicts.first {
      await #expect(throws: StoreError.self) {
        try await store.write { try $0.restore(first.losers[0].operation, in: first.field, of: record) }
      }
    }

    try await store.write { try $0.restore(conflict.losers[0].operation, of: record) }
    let back = try #require(try store.read { try $0.record(record) })
    #expect(back == hidden)
    if name == "merging" {
      #expect(back["body"] == "whole" && back["likes"] == 4 && back["stars"] == .array([5]))
    }
    #expect(try store.read { try $0.conflicts(of: record) } == fieldConflicts)
    for conflict in fieldConflicts {
      try await store.write { try $0.restore(conflict.losers[0].operation, in: conflict.field, of: record) }
    }
    #expect(try store.read { try $0.conflicts(of: record) } == [])
    #expect(try store.read { try $0.explain(record) }?.heads.count == 1)
    try await checkSound(store)
  }

  @Test("a record of very many fields keeps a set with a reserved name")
  func wideRecord() async throws {
    let store = try directory.store("wide") { $0.wallMilliseconds = { 2_000_000 } }
    try await store.makeZone()
    var remote = TestRemote()
    let fields = (0..<300).map { set("r", Name("f\($0)"), .string(String(repeating: "x", count: 100))) }
    let marked = LogOperation.update(record: "r", type: "note", field: "existence", .insert("deleted"))
    _ = try remote.append([transaction(1, 1, [create("r")] + fields + [marked])])
    _ = try remote.append([transaction(2, 1, base: 1, at: 1_600_000, [.delete(record: "r")])])
    _ = try remote.append([transaction(3, 1, base: 1, at: 1_500_000, [set("r", "f0", "y")])])
    _ = try await store.ingest(remote.segments)
    let conflict = try #require(try existenceConflict(note("r"), store))
    try await store.write { try $0.restore(conflict.losers[0].operation, of: note("r")) }
    let back = try #require(try store.read { try $0.record(note("r")) })
    #expect(back["existence"] == .array(["deleted"]))
    try await checkSound(store)
  }

  @Test("every store that folds both has the record at the end")
  func convergence() async throws {
    var (store, remote) = try await makeStore("one")
    let conflict = try #require(try existenceConflict(note("r"), store))
    try await store.write { try $0.restore(conflict.losers[0].operation, of: note("r")) }
    let shipped = try #require(try remote.ship(store))
    _ = try await store.acknowledge(shipped)
    // Earlier versions know the operation.
    #expect(try store.read { try $0.readView.meta.unfoldedKinds() }.isEmpty)
    let other = try directory.store("other")
    try await other.makeZone()
    _ = try await other.ingest(remote.segments)
    #expect(try other.read { try $0.record(note("r")) } == store.read { try $0.record(note("r")) })
    #expect(try other.read { try $0.contains(note("r")) })
    #expect(try other.digest() == store.digest())
  }

  @Test("a winning edit can be undone, and so can a move that lost or won")
  func otherWays() async throws {
    let place = RecordID(zone: ZoneID(name: "other"), name: "r")
    let cases: [(LogOperation, UInt64)] = [
      (.delete(record: "r"), 1_400_000), (.moveAway(record: "r", to: place), 1_400_000),
      (.moveAway(record: "r", to: place), 1_600_000),
    ]
    for (index, (end, at)) in cases.enumerated() {
      let store = try directory.store("\(index)") { $0.wallMilliseconds = { 1_500_000 } }
      try await store.makeZone()
      var remote = TestRemote()
      try await store.write { try $0.create(note("r"), type: "note", fields: ["title": "Milk"]) }
      let shipped = try #require(try remote.ship(store))
      _ = try await store.acknowledge(shipped)
      try await store.write { try $0.set("title", of: note("r"), to: "Soy milk") }
      _ = try remote.append([transaction(7, 1, base: 1, at: at, [end])])
      _ = try await store.ingest([remote.segments[1]])
      let wasThere = try store.read { try $0.contains(note("r")) }
      #expect(wasThere == (at < 1_500_000))
      let conflict = try #require(try existenceConflict(note("r"), store))
      let loser = conflict.losers[0]
      try await store.write { try $0.restore(loser.operation, of: note("r")) }
      #expect(try store.read { try $0.contains(note("r")) } == !wasThere)
      #expect(try store.read { try $0.existence(of: note("r")) }.map(\.content) == [loser.content])
      #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
      try await checkSound(store)
    }
  }

  @Test("the reserved set's element is never removed from a set of the app")
  func ownSet() async throws {
    let (store, _) = try await makeStore("store")
    let other = try #require(try existenceConflict(note("bare"), store))
    try await store.write { try $0.restore(other.losers[0].operation, of: note("bare")) }
    try await store.write { tx in
      try tx.insert("deleted", into: "existence", of: note("bare"))
      try tx.delete(note("bare"))
    }
    let dead = try store.read { try $0.existence(of: note("bare")) }
    // As if the deletion had been concurrent: only the internal call of the conflict matters.
    try await store.perform { store in
      let write = LocalWrite(store)
      write.begin()
      let draft = try write.draft(for: noteZone)
      try Name("bare").withBytes { try write.revive($0, type: "note", in: draft) }
      try write.end(author: nil, label: nil, schemaVersion: nil)
    }
    #expect(dead.map(\.content) == [.dead])
    #expect(try store.read { try $0.elements(of: "existence", in: note("bare")) } == ["deleted"])
    try await checkSound(store)
  }

  @Test("conflicts of a record that all have deleted are not listed")
  func deletedLater() async throws {
    let store = try directory.store("store") { $0.wallMilliseconds = { 3_000_000 } }
    try await store.makeZone()
    var remote = TestRemote()
    _ = try remote.append([transaction(1, 1, [create("r"), set("r", "title", 0)])])
    for replica: UInt128 in 2...3 {
      _ = try remote.append([
        transaction(
          replica, 1, base: 1,
          [
            set("r", "title", .int(Int64(replica))),
            .update(
              record: "r", type: "note", field: "map", .put(key: "k", .int(Int64(replica)))),
          ])
      ])
    }
    _ = try await store.ingest(remote.segments)
    #expect(try store.read { try $0.conflicts(in: noteZone).count } == 2)
    #expect(try store.information().zones.first?.conflicts == 2)
    try await store.write { try $0.delete(note("r")) }
    #expect(try store.read { try $0.conflicts(in: noteZone) } == [])
    #expect(try store.read { try $0.conflicts(of: note("r")) } == [])
    #expect(try store.information().zones.first?.conflicts == 0)
    try await checkSound(store)
  }

  @Test("a record that is created again has no earlier fields, and emptied fields are absent everywhere")
  func madeAgain() async throws {
    let store = try directory.store("store")
    try await store.makeZone()
    try await store.write { tx in
      try tx.create(note("r"), type: "note", fields: ["title": "Milk"])
      try tx.insertText("body", at: 0, in: "body", of: note("r"))
      try tx.insertElements(["a"], at: 0, in: "items", of: note("r"))
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      let read = try (
        tx.record(note("r"))?.fields, tx.text(of: "body", in: note("r")), tx.list("items", of: note("r"))
      )
      #expect(read.0 == [:] && read.1 == nil && read.2 == nil)
    }
    try store.read { (tx: borrowing ReadTransaction) throws -> Void in
      #expect(try tx.record(note("r"))?.fields == [:])
      #expect(try tx.records(in: noteZone).map(\.fields) == [[:]])
      #expect(try tx.text(of: "body", in: note("r")) == nil)
      #expect(try tx.text(in: 0..<0, of: "body", in: note("r")) == nil)
      #expect(try tx.list("items", of: note("r")) == nil)
      #expect(try tx.element(at: 0, of: "items", in: note("r")) == nil)
      #expect(try tx.value(of: "body", in: note("r")) == nil)
      #expect(try tx.count(of: "items", in: note("r"), as: .list) == 0)
      #expect(try tx.fields(of: note("r")) == [])
    }
    let view = try store.read { tx in try tx.withRecord(note("r")) { view in try view.value(of: "items") } }
    #expect(view == .some(nil))
    // Only what is inserted again is visible.
    try await store.write { try $0.insertText("new", at: 0, in: "body", of: note("r")) }
    #expect(try store.read { try $0.record(note("r"))?.fields } == ["body": "new"])
    try await checkSound(store)
  }
}
