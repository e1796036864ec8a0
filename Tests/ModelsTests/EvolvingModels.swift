import Foundation
import StoreTesting
import Synchronization
import Testing
import Tributary

private struct OldNote: Model {
  static let type: Name = "note"
  let title = Field<String>("title")
  let year = Field<String>("year")
  let isUrgent = Field<Bool>("priority")
  let likes = Field<Int>("likes")
  let tags = Field<[String]>("tags")
}

private enum Priority: String, FieldValue { case normal, high }

private struct NewNote: Model {
  static let type: Name = "note"
  let headline = Field<String>("headline", formerly: "title").indexed
  let year = Field<Int>("year").upcasting(.number).indexed
  let priority = Field<Priority>("priority", default: .normal)
    .upcasting(.values([true: "high", false: "normal"])).indexed
  let likes = CounterField("likes", startingAt: "likes").indexed
  let tags = SetField<String>("tags", startingWith: "tags").indexed
}

@Suite("Models of two versions of an app")
struct EvolvingModels {
  let directory = TemporaryDirectory()

  private let clock = TickingClock()

  private func store(_ name: String, _ model: any Model.Type, schema: UInt64?) throws -> Store {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { [clock] in clock.tick() }
    return try Store(
      directory.path + "/" + name, .consistent, models: [model], zones: [.synced("z"), .local("own")],
      schema: schema, configuration: configuration)
  }

  private let remote = MemoryRemote(identity: RemoteID(rawValue: 5))

  private func sync(_ stores: Store..., times: Int = 2) async throws {
    for _ in 0..<times {
      for store in stores { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
  }

  @Test(
    "read what the other wrote: under a former name, as another value, kind and collection; nothing is lost")
  func inTurn() async throws {
    let (old, new) = (try store("old", OldNote.self, schema: 1), try store("new", NewNote.self, schema: 2))
    let note = try await old.write { tx in
      try tx.create(OldNote.self, in: "z", named: "n") {
        $0.title = "a"
        $0.year = "1999"
        $0.isUrgent = true
        $0.likes = 5
        $0.tags = ["x", "y"]
      }
    }
    let ref = Ref<NewNote>(note.record)
    try await sync(old, new)
    var row = try #require(try new.fetch(ref))
    #expect(row.headline == "a" && row.year == 1999 && row.priority == .high)
    #expect(row.likes == 5 && row.tags == ["x", "y"])
    let queries: [Query<NewNote>] = [
      NewNote.where { $0.year == 1999 }, NewNote.where { $0.priority == .high },
      NewNote.where { $0.likes == 5 },
      NewNote.where { $0.tags.contains("x") }, NewNote.where { $0.headline == "a" },
      NewNote.where { $0.tags.count == 2 },
    ]
    for query in queries { #expect(try new.keys(query) == [ref], "\(query)") }
    for query in queries.dropLast() { #expect(try new.explain(query).index != nil, "\(query)") }

    try await new.write { tx in
      tx[ref].likes.add(2)
      #expect(tx[ref].likes.value == 7)
      tx[ref].headline = "b"
      tx[ref].year = 2001
      tx[ref].tags.remove("x")
      #expect(tx[ref].tags.elements == ["y"])
    }
    try await sync(new, old)
    try await old.write { tx in
      tx[note].likes = 6
      tx[note].isUrgent = false
      tx[note].tags = ["z"]
    }
    try await sync(old, new)
    row = try #require(try new.fetch(ref))
    #expect(row.headline == "b" && row.year == 2001 && row.likes == 8 && row.tags == ["y", "z"])
    #expect(row.priority == .normal)
    #expect(try new.keys(NewNote.where { $0.likes == 8 && $0.tags.contains("z") }) == [ref])
    #expect(try new.local.verify().problems == [] && old.local.verify().problems == [])
  }

  @Test(
    "a zone may take writes of newer versions alone; older ones read it, and what they wrote before counts")
  func minimum() async throws {
    let (old, new) = (try store("old", OldNote.self, schema: 1), try store("new", NewNote.self, schema: 2))
    let note = try await old.write { try $0.create(OldNote.self, in: "z", named: "n") }
    try await sync(old, new)
    try await new.write { try $0.requireSchema(2, in: "z") }
    // Not synced yet: this counts.
    try await old.write { $0[note].title = "late" }
    try await sync(new, old)
    await #expect {
      try await old.write { $0[note].title = "too late" }
    } throws: {
      ($0 as? StoreError)?.code == .schemaTooOld
    }
    try await old.write { _ = try $0.create(OldNote.self, in: "own") }
    #expect(try old.fetch(note)?.title == "late" && new.fetch(Ref<NewNote>(note.record))?.headline == "late")
    #expect(try old.read { try $0.minimumSchema(of: "z") } == 2)
    #expect(try old.read { try $0.minimumSchema(of: "nowhere") } == 0)
    try await new.write { $0[Ref<NewNote>(note.record)].headline = "new" }
    await #expect(throws: StoreError.self) { try await old.write { try $0.requireSchema(9, in: "z") } }
  }

  private static let doubling = MigrationStep.records(of: OldNote.self) { tx, note in
    try tx.add(.int(Int64(tx[note].likes)), to: "sum", of: note.record)
  }

  @Test(
    "a migration runs once in a zone, by the device whose claim comes first, and continues where it was cut short"
  )
  func migrations() async throws {
    let (a, b) = (try store("a", OldNote.self, schema: 1), try store("b", OldNote.self, schema: 1))
    try await a.write { tx in
      for number in 0..<600 {
        _ = try tx.create(OldNote.self, in: "z", named: Name("n\(number)")) { $0.likes = number }
      }
    }
    try await sync(a, b)
    struct Cut: Error {}
    let cutting = MigrationStep.records(of: OldNote.self) { tx, note in
      if note.name == "n400" { throw Cut() }
      try tx.add(.int(Int64(tx[note].likes)), to: "sum", of: note.record)
    }
    #expect(try await a.migrate(to: 2, [cutting]) == ["z"])
    #expect(try await b.migrate(to: 2, [Self.doubling]) == ["z"])
    #expect(try await a.migrate(to: 2, [cutting]) == ["z"])
    try await sync(b, a, times: 1)
    #expect(try await a.migrate(to: 2, [cutting]) == ["z"])
    await #expect(throws: Cut.self) {
      _ = try await b.migrate(to: 2, [cutting])
    }
    #expect(try await b.migrate(to: 2, [Self.doubling]) == [])
    try await sync(b, a)
    #expect(try await a.migrate(to: 2, [Self.doubling]) == [])
    for store in [a, b] {
      let sums = try store.read { tx in
        try (0..<600).map { try tx.counter("sum", of: RecordID(zone: "z", name: Name("n\($0)")))?.value }
      }
      #expect(sums == (0..<600).map { .int(Int64($0)) })
    }
    #expect(try await a.migrate(to: 3, [Self.doubling], in: ["own"]) == [])
  }

  @Test("a device that does not end its migration is replaced, and the others do not wait for each other")
  func patience() async throws {
    let clock = Mutex<Int64>(1_800_000_000_000)
    func open(_ name: String) throws -> Store {
      var configuration = StoreConfiguration()
      configuration.wallMilliseconds = { clock.withLock { $0 } }
      return try Store(
        directory.path + "/" + name, .consistent, models: [OldNote.self], zones: [.synced("z")],
        configuration: configuration)
    }
    let (gone, b, c) = (try open("gone"), try open("b"), try open("c"))
    try await gone.write { _ = try $0.create(OldNote.self, in: "z", named: "n") { $0.likes = 3 } }
    try await sync(gone, b, c)
    #expect(try await gone.migrate(to: 2, [Self.doubling]) == ["z"])
    try await sync(gone, b, c)
    var done: Set<Int> = []
    for hour in 0..<60 where done.count < 2 {
      for (place, store) in [b, c].enumerated() {
        if try await store.migrate(to: 2, [Self.doubling]).isEmpty { done.insert(place) }
        try await sync(b, c)
      }
      #expect(hour > 23 || done.isEmpty)
      clock.withLock { $0 += 3_600_000 }
    }
    #expect(done == [0, 1])
    let sum = try c.read { try $0.counter("sum", of: RecordID(zone: "z", name: "n"))?.value }
    #expect(sum == 3)
  }

  @Test("a step does not visit what it makes or has deleted; a zone without anything to do is not marked")
  func steps() async throws {
    let store = try store("a", OldNote.self, schema: 1)
    #expect(try await store.migrate(to: 2, [Self.doubling], in: ["own"]) == [])
    try await store.write { tx in
      for number in 0..<3 { _ = try tx.create(OldNote.self, in: "own", named: Name("n\(number)")) }
    }
    let making = MigrationStep.records(of: OldNote.self) { tx, note in
      _ = try tx.create(OldNote.self, in: note.zone)
      if note.name == "n0" { try tx.delete(Ref<OldNote>(in: note.zone, "n1")) }
      tx[note].title = "visited"
    }
    // What came since the first call is migrated: there was nothing then.
    #expect(try await store.migrate(to: 2, [making], in: ["own"]) == [])
    let notes = try store.fetch(OldNote.self, in: "own")
    #expect(notes.count == 4 && notes.filter { $0.title == "visited" }.map(\.id.name) == ["n0", "n2"])
    #expect(try await store.migrate(to: 1, [making], in: ["own"]) == [])
    #expect(try store.fetch(OldNote.self, in: "own").count == 4)
  }

  private struct Shape: Codable, Hashable, Sendable {
    enum Kind: Codable, Hashable {
      case circle(Int)
      case square(Int)
    }
    var kind = Kind.square(1)
    var name: String? = "none"
    var color = "red"
    var parts: [String: Int] = ["a": 1]
  }

  private struct FormerShape: Codable, Hashable, Sendable {
    enum Kind: Codable, Hashable {
      case circle(Int)
      case square(Int)
    }
    var kind = Kind.circle(2)
    var parts: [String: Int] = [:]
  }

  private struct Drawing: Model {
    static let type: Name = "drawing"
    let shape = Field<Shape>("shape", default: Shape())
    let count = CounterField("count", startingAt: "count")
    let tags = SetField<String>("tags", startingWith: "tags")
  }

  private struct FormerDrawing: Model {
    static let type: Name = "drawing"
    let shape = Field<FormerShape>("shape", default: FormerShape())
    let tags = Field<[String]>("tags")
  }

  @Test(
    "what a value lacks is filled in, and nothing else; a counter and a set without a former register count once"
  )
  func filled() async throws {
    let store = try store("a", FormerDrawing.self, schema: 1)
    let former = try await store.write { tx in
      try tx.create(FormerDrawing.self, in: "own") {
        $0.shape = FormerShape()
        $0.tags = ["a", "b"]
      }
    }
    store.close()
    let now = try Store(directory.path + "/a", .consistent, models: [Drawing.self])
    let ref = Ref<Drawing>(former.record)
    let row = try #require(try now.fetch(ref))
    #expect(row.shape == Shape(kind: .circle(2), name: nil, color: "red", parts: [:]))
    struct Tags: Codable {
      var tags: Set<String>
    }
    try await now.write { tx in
      tx[ref].count.add(3)
      #expect(tx[ref].tags.contains("a"))
      try tx.update(ref, with: Tags(tags: ["b", "c"]))
    }
    #expect(try now.fetch(ref)?.count == 3 && now.fetch(ref)?.tags == ["b", "c"])
    #expect(try now.count(Drawing.where { $0.count == 3 && $0.tags.count == 2 }) == 1)
    try await now.write { tx in for number in 0..<300 { tx[ref].tags.insert("t\(number)") } }
    #expect(try now.fetch(ref)?.tags.count == 302)
  }

  private struct Circular: Model {
    static let type: Name = "circular"
    let number = Field<Int>("number").upcasting(.values([1: 2, 2: 3]))
  }

  @Test("an upcast that would change what this version writes is refused")
  func circular() throws {
    #expect {
      try Store(directory.path + "/refused", .consistent, models: [Circular.self])
    } throws: {
      ($0 as? StoreError)?.code == .definitionInvalid
    }
  }

  @Test("what a store does once is done once")
  func once() async throws {
    let store = try store("a", OldNote.self, schema: 1)
    let step = MigrationStep.inStore { tx in try tx.create(RecordID(zone: "own", name: "once"), type: "mark")
    }
    #expect(try await store.migrate(to: 2, [step]) == [])
    #expect(try await store.migrate(to: 2, [step]) == [])
    try await store.write { try $0.delete(RecordID(zone: "own", name: "once")) }
    #expect(try await store.migrate(to: 2, [step]) == [])
    #expect(try store.read { try !$0.contains(RecordID(zone: "own", name: "once")) })
    let inZones = MigrationStep.inZone { tx, zone in
      try tx.create(RecordID(zone: zone, name: "in zone"), type: "mark")
    }
    #expect(try await store.migrate(to: 3, [inZones], in: ["own"]) == [])
    #expect(try await store.migrate(to: 3, [inZones], in: ["own"]) == [])
  }

  @Test("a dry run tells what a new version would show otherwise, and not at all, and changes nothing")
  func dryRun() async throws {
    let store = try store("a", OldNote.self, schema: 1)
    try await store.write { tx in
      for (name, year) in [("n1", "1999"), ("n2", "long ago")] {
        _ = try tx.create(OldNote.self, in: "own", named: Name(name)) {
          $0.title = name
          $0.year = year
          $0.likes = 1
        }
      }
      try tx.set("color", of: RecordID(zone: "own", name: "n1"), to: "red")
    }
    let before = try store.read { try $0.digest(of: "own") }
    let report = try await store.dryRun(
      [NewNote.self],
      [
        .records(of: NewNote.self) { tx, note in
          if note.name == "n1" { tx[note].headline = "changed" }
        }
      ])
    #expect(report.recordCount == 2 && report.undecodableCount == 1)
    #expect(report.undecodable.map(\.record.name) == ["n2"] && report.undecodable.map(\.field) == ["year"])
    #expect(report.changed.filter { $0.field == "headline" }.count == 2)
    #expect(report.changed.filter { $0.field == "year" }.map(\.record.name) == ["n1"])
    #expect(report.changed.filter { $0.field == "likes" }.count == 2)
    #expect(report.changedCount == report.changed.count)
    #expect(report.migrated == [RecordID(zone: "own", name: "n1")] && report.migratedCount == 1)
    #expect(report.unread == ["note": ["color": 1]])
    #expect(try store.read { try $0.digest(of: "own") } == before)
  }

  @Test("what two versions write to a field under two names at once is a conflict; in turn it is none")
  func namesInConflict() async throws {
    let (old, new) = (try store("old", OldNote.self, schema: 1), try store("new", NewNote.self, schema: 2))
    let note = try await old.write { tx in
      try tx.create(OldNote.self, in: "z", named: "n") { $0.title = "first" }
    }
    let ref = Ref<NewNote>(note.record)
    try await sync(old, new)
    try await new.write { $0[ref].headline = "second" }
    #expect(try new.conflicts(of: ref) == [])
    try await sync(new, old)
    try await old.write { $0[note].title = "third" }
    try await sync(old, new)
    #expect(try new.fetch(ref)?.headline == "third" && new.conflicts(of: ref) == [])

    for isOldLater in [false, true] {
      for store in isOldLater ? [new, old] : [old, new] {
        try await store.write { tx in
          if store === old { tx[note].title = "of old" } else { tx[ref].headline = "of new" }
        }
      }
      try await sync(old, new)
      let conflict = try #require(try new.conflicts(of: ref).first)
      let expected: [Value] = isOldLater ? ["of old", "of new"] : ["of new", "of old"]
      #expect(try new.conflicts(of: NewNote.all) == [conflict] && conflict.field == "headline")
      #expect(([conflict.winner] + conflict.losers).map(\.content.value) == expected)
      #expect(try new.fetch(ref)?.headline == (isOldLater ? "of old" : "of new"))
      // The winner of the second one was written under the former name.
      try await new.write { tx in
        try tx.keep(isOldLater ? conflict.winner : conflict.losers[0], of: conflict)
      }
      #expect(try new.fetch(ref)?.headline == "of old" && new.conflicts(of: ref) == [])
      let error = await #expect(throws: StoreError.self) {
        try await new.write { tx in
          var gone = conflict.losers[0]
          gone = CellHead(
            operation: OperationID(transaction: gone.operation.transaction, index: 99),
            timestamp: gone.timestamp, content: gone.content)
          try tx.keep(gone, of: conflict)
        }
      }
      #expect(error?.code == .conflictUnknown)
      try await sync(old, new)
      #expect(try new.conflicts(of: ref) == [])
    }
    try await new.write { tx in try tx.delete(ref) }
    #expect(try new.conflicts(of: ref) == [])
  }

  private struct Kinds: Model {
    static let type: Name = "kinds"
    let text = Field<String>("text")
    let prose = ProseField("prose")
    let likes = CounterField("likes")
    let list = ListField<String>("list")
    let same = SetField<String>("same")
  }

  private struct OtherKinds: Model {
    static let type: Name = "kinds"
    let text = ProseField("text")
    let prose = Field<String>("prose")
    let likes = Field<Int>("likes")
    let list = SetField<String>("list")
    let same = SetField<String>("same")
  }

  @Test("a dry run tells which fields are of another kind than what is stored")
  func otherKinds() async throws {
    let store = try store("a", Kinds.self, schema: 1)
    try await store.write { tx in
      try tx.create(Kinds.self, in: "own", named: "k") {
        $0.text = "text"
        $0.prose.set("prose")
        $0.likes.add(3)
        $0.list.append("a")
        $0.same.insert("b")
      }
    }
    #expect(try await store.dryRun([Kinds.self]).unread == [:])
    let report = try await store.dryRun([OtherKinds.self])
    #expect(report.unread == ["kinds": ["text": 1, "list": 1]])
    #expect(Set(report.changed.map(\.field)) == ["prose", "likes"] && report.undecodableCount == 0)
    // What the other version writes is not read either.
    store.close()
    let other = try self.store("a", OtherKinds.self, schema: 2)
    try await other.write { tx in
      let ref = Ref<OtherKinds>(in: "own", "k")
      tx[ref].text.set("new")
      tx[ref].list.insert("b")
    }
    #expect(try await other.dryRun([Kinds.self]).unread == ["kinds": ["text": 1, "list": 1]])
  }
}
