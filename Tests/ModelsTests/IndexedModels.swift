import Foundation
import StoreTesting
import Testing
import Tributary

private struct Meeting: Model {
  static let type: Name = "meeting"
  let title = Field<String>("title", default: "untitled").indexed
  let start = Field<Date>("start")
  let end = Field<Date?>("end")
  let room = Field<String>("room")
  let tags = SetField<String>("tags").indexed
  let notes = ProseField("notes")
  let seats = CounterField("seats").indexed

  static let indexes: [Index] = [
    Index { [$0.room, $0.start.descending] }, Index("dates") { [Each($0.start, $0.end)] },
    Index { [$0.notes.words] },
    Index("once", isUnique: true) { [$0.room.folded, $0.start] },
  ]
}

/// The model before it had an index of rooms, and when it had one of ends.
private struct FormerMeeting: Model {
  static let type: Name = "meeting"
  let title = Field<String>("title", default: "untitled").indexed
  let end = Field<Date?>("end").indexed
}

@Suite("Models with indexes")
struct IndexedModels {
  let directory = TemporaryDirectory()
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)

  private func open(_ models: [any Model.Type] = [Meeting.self]) throws -> Store {
    try Store(directory.path + "/store", .consistent, models: models, zones: [.local("a"), .local("b")])
  }

  private func fill(_ store: Store) async throws {
    let noon = noon
    try await store.write { tx in
      for hour in 0..<6 {
        try tx.create(Meeting.self, in: hour < 4 ? "a" : "b") {
          $0.title = "Meeting \(hour)"
          $0.start = noon.addingTimeInterval(Double(hour) * 3600)
          if hour % 2 == 0 { $0.end = noon.addingTimeInterval(Double(hour) * 3600 + 5400) }
          $0.room = hour < 3 ? "Café" : "cafe"
          $0.tags.insert(hour < 2 ? "early" : "late")
          $0.notes.set(hour == 5 ? "Über Größe und Maß" : "nothing")
          $0.seats.add(hour)
        }
      }
    }
  }

  @Test("a query says which index it uses, and what is left")
  func explaining() async throws {
    let store = try open()
    try await fill(store)
    let room = Meeting.where { $0.room == "cafe" && $0.title.hasPrefix("M") }.sorted(by: \.start, .reverse)
      .limit(2)
    try store.read { tx in
      let plan = try tx.explain(room)
      #expect(plan.index == "meeting: room, start desc")
      #expect(
        "\(plan)" == "index “meeting: room, start desc” of a, b: room = \"cafe\"\nfilter: title prefix \"M\"")
      let plain = try tx.explain(Meeting.where { $0.title.contains("5") }.sorted(by: \.room))
      #expect("\(plain)" == "scan all records of a, b\nfilter: title contains \"5\"\nsort: room")
      let seats = try tx.explain(Meeting.where { $0.seats > 3 && $0.tags.contains("late") })
      #expect(seats.index != nil)
    }
    #expect(try store.fetch(room).map(\.title) == ["Meeting 5", "Meeting 4"])
    #expect(
      try store.fetch(Meeting.where { $0.tags.contains("early") }).map(\.title) == ["Meeting 0", "Meeting 1"])
    #expect(try store.fetch(Meeting.where { $0.room.folded == "CAFE" }).count == 6)
    #expect(try store.fetch(Meeting.where { $0.notes.hasWords("grosse MASS") }).map(\.title) == ["Meeting 5"])
    #expect(try store.fetch(Meeting.where { $0.notes.hasWords("uber gro", lastIsPrefix: true) }).count == 1)
    #expect(try store.fetch(Meeting.where { $0.seats > 3 }).count == 2)
  }

  @Test("an event with a start and an end comes twice in a list by date, with and without an index")
  func dates() async throws {
    let store = try open()
    try await fill(store)
    let noon = noon
    let agenda = Meeting.each(Date.self) { [$0.start, $0.end] }
      .where { meeting, date in date >= noon.addingTimeInterval(3600) && meeting.room != "cafe" }.sorted()
    let entries = try store.read { try $0.fetch(agenda) }
    let texts = entries.map {
      "\($0.row.title) \($0.place == 0 ? "starts" : "ends") \(Int($0.value.timeIntervalSince(noon)))"
    }
    #expect(
      texts == [
        "Meeting 1 starts 3600", "Meeting 0 ends 5400", "Meeting 2 starts 7200", "Meeting 2 ends 12600",
      ])
    #expect(Set(entries.map(\.id)).count == 4)
    try store.read { tx in
      #expect(try tx.explain(agenda).index == "dates" && tx.explain(agenda).sort.isEmpty)
      let rest = try tx.fetch(agenda.after(entries[1].cursor))
      #expect(rest.map(\.id) == entries.dropFirst(2).map(\.id))
      #expect(try tx.fetch(agenda.limit(3)).map(\.id) == entries.prefix(3).map(\.id) && tx.count(agenda) == 4)
      // The other way round no index serves it.
      let ends = Meeting.each(Date.self) { [$0.end, $0.start] }.sorted(.reverse)
      let plain = try tx.fetch(ends)
      #expect(try tx.explain(ends).index == nil && plain.count == 9 && plain[0].row.title == "Meeting 4")
      #expect(plain[0].place == 0)
    }
  }

  private struct Part: Model {
    static let type: Name = "part"
    let kind = Field<String>("kind").indexed
    let name = Field<String>("name").indexed
    let number = Field<Int>("number").indexed
    let tags = SetField<String>("tags").indexed
  }

  @Test("of several indexes, the one that finds fewer records serves a query")
  func fewest() async throws {
    let store = try open([Part.self])
    try await store.write { tx in
      for number in 0..<1000 {
        try tx.create(Part.self, in: "a") {
          $0.kind = number < 700 ? "common" : "rare"
          $0.name = "Part \(number)"
          $0.number = number
          if number % 3 != 0 { $0.tags.insert("x") }
        }
      }
    }
    func index(_ query: Query<Part>) throws -> Name? { try store.explain(query).index }
    #expect(try index(Part.where { $0.kind == "common" && $0.name == "Part 8" }) == "part: name")
    #expect(try index(Part.where { $0.name == "Part 8" && $0.kind == "common" }) == "part: name")
    #expect(try index(Part.where { $0.kind == "common" && $0.name.hasPrefix("Part 9") }) == "part: name")
    #expect(try index(Part.where { $0.kind == "rare" && $0.name >= "A" }) == "part: kind")
    #expect(try index(Part.where { $0.number > 996 && $0.name >= "A" }) == "part: number")
    #expect(try index(Part.where { $0.tags.contains("x") && $0.number < 3 }) == "part: number")
    #expect(try index(Part.where { $0.tags.contains("y") && $0.number < 3 }) == "part: tags")
    // Few that are to be sorted are better than all in order; of many, those in order are.
    let some = Part.where { $0.name == "Part 8" && $0.kind == "common" }.sorted(by: \.number)
    #expect(try index(some.limit(2)) == "part: name")
    let many = Part.where { $0.kind == "common" && $0.tags.contains("x") }.sorted(by: \.number)
    #expect(try index(many.limit(2)) == "part: number")
    let kept = try store.fetch(many.limit(3)).map(\.number)
    #expect(kept == [1, 2, 4])
  }

  @Test("records that should be one are listed")
  func duplicates() async throws {
    let store = try open()
    try await fill(store)
    #expect(try store.read { try $0.duplicates(in: "once") } == [])
    let noon = noon
    let other = try await store.write { tx in
      try tx.create(Meeting.self, in: "a") {
        $0.room = "CAFÉ"
        $0.start = noon
      }
    }
    let groups = try store.read { try $0.duplicates(in: "once") }
    #expect(groups.count == 1 && groups[0].count == 2 && groups[0].contains(other.record))
    #expect(try store.duplicates(of: Meeting.self) == groups.map { $0.map { Ref<Meeting>($0) } })
    #expect(throws: StoreError.self) { try store.read { try $0.duplicates(in: "never") } }

    let conflict = try #require(try store.conflicts(of: other).first)
    #expect(conflict.index == "once" && conflict.field == nil && conflict.records.count == 2)
    #expect(conflict.records[1] == other.record && conflict.losers.count == 1)
    #expect(try store.conflicts(of: Meeting.all) == [conflict])
    #expect(try store.conflicts(of: Ref<Meeting>(conflict.records[0])) == [conflict])
    // The conflict is of these records as they were, whichever of them is kept.
    try await store.write { tx in tx[other].title = "late" }
    for head in [conflict.winner, conflict.losers[0]] {
      let error = await #expect(throws: StoreError.self) {
        try await store.write { tx in try tx.keep(head, of: conflict) }
      }
      #expect(error?.code == .conflictUnknown)
    }
    #expect(try store.fetch(other)?.title == "late")
    let now = try #require(try store.conflicts(of: other).first)
    try await store.write { tx in try tx.keep(now.losers[0], of: now) }
    #expect(try store.fetch(other)?.title == "late" && store.conflicts(of: Meeting.all) == [])
    #expect(try !store.read { try $0.contains(now.record) })
  }

  private struct Contact: Model {
    static let type: Name = "contact"
    let email = Field<String>("email")
    let note = Field<String>("note")
    static let indexes: [Index] = [Index("email", isUnique: true) { [$0.email] }]
  }

  @Test(
    "two devices that each keep another of two records end with one of them; records without a value are none"
  )
  func keptDifferently() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    let clock = TickingClock()
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { clock.tick() }
    let stores = try ["one", "two"].map { [configuration] in
      try Store(
        "\(directory.path)/\($0)", .consistent, models: [Contact.self], zones: [.synced("z")],
        configuration: configuration)
    }
    func sync() async throws {
      for store in stores + stores { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    try await stores[0].write { tx in
      for name in ["n1", "n2"] { try tx.create(Contact.self, in: "z", named: Name(name)) }
    }
    for (store, name) in zip(stores, ["b", "a"]) {
      try await store.write { tx in
        try tx.create(Contact.self, in: "z", named: Name(name)) { $0.email = "ann@example.org" }
      }
    }
    try await sync()
    let found = try stores.map { try $0.conflicts(of: Contact.all) }
    #expect(found[0] == found[1] && found[0].count == 1 && found[0][0].records.map(\.name) == ["b", "a"])
    for (store, place) in zip(stores, [0, 1]) {
      let conflict = found[0][0]
      try await store.write { tx in
        try tx.keep(place == 0 ? conflict.winner : conflict.losers[0], of: conflict)
      }
      #expect(try store.count(Contact.where { $0.email == "ann@example.org" }) == 1)
    }
    try await sync()
    let left = try stores.map { try $0.fetch(Contact.where { $0.email == "ann@example.org" }).map(\.id) }
    #expect(left[0] == left[1] && left[0].count == 1)
  }

  @Test("an index that has all fields of a condition tells without the records")
  func covering() async throws {
    let store = try open()
    try await fill(store)
    let noon = noon
    let late = Meeting.where { $0.room == "Café" && !($0.start < noon + 3600) }
    let plan = try store.explain(late)
    #expect(plan.isCovered && plan.index == "meeting: room, start desc")
    #expect("\(plan)".contains("\nfilter by the index: "))
    #expect(try store.fetch(late).map(\.title) == ["Meeting 1", "Meeting 2"] && store.count(late) == 2)
    let other = Meeting.where { $0.room == "Café" && $0.end == nil }
    #expect(try !store.explain(other).isCovered && store.fetch(other).map(\.title) == ["Meeting 1"])
  }

  @Test("another version of the models changes the indexes: those that stay are not built again")
  func versions() async throws {
    try await fill(try open())
    let former = try open([FormerMeeting.self])
    #expect(try former.local.indexes().map(\.definition.name) == ["meeting: title", "meeting: end"])
    #expect(try former.local.indexes().allSatisfy(\.isBuilt))
    former.close()
    let store = try open()
    #expect(try store.local.indexes().count == 7 && store.local.indexes().allSatisfy(\.isBuilt))
    #expect(try store.local.verify().problems == [])
    #expect(try store.count(Meeting.where { $0.room == "cafe" }) == 3)
  }

  @Test("an index of many records is built while the app works")
  func background() async throws {
    do {
      let plain = try open([])
      try await plain.write { tx in
        for number in 0..<10_100 {
          try tx.create(RecordID(zone: "a", name: Name("m\(number)")), type: "meeting", fields: ["room": "r"])
        }
      }
      plain.close()
    }
    let store = try open()
    try await store.write { tx in try tx.create(Meeting.self, in: "b") { $0.room = "r" } }
    try await store.buildIndexes()
    #expect(try store.local.indexes().allSatisfy(\.isBuilt))
    #expect(try store.count(Meeting.where { $0.room == "r" }) == 10_101)
    #expect(try store.local.verify().problems == [])
  }
}
