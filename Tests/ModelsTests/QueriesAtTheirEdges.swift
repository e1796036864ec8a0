import Foundation
import StoreTesting
import Testing
import Tributary

private struct Person: Model {
  static let type: Name = "person"
  let name = Field<String>("name")
}

private struct Volume: Model {
  static let type: Name = "volume"
  let title = Field<String>("title", default: "untitled")
  let year = Field<Int>("year")
  let pageCount = Field<Int?>("pageCount")
  let due = Field<Date?>("due")
  let weight = Field<Double>("weight")
  let author = Field<Ref<Person>?>("author", .nullify)
  let editor = Field<Ref<Person>?>("editor", .nullify)
  let next = Field<Ref<Volume>?>("next", .none)
  let words = SetField<String>("words").indexed
  let roles = MapField<String>("roles")
  let pages = ListField<Item>("pages").mergingMembers

  static let indexes: [Index] = [
    Index("people") { [$0.year, Each($0.author, $0.editor)] }, Index { [$0.title.words] },
    Index { [$0.year, $0.due] }, Index { [$0.weight] },
    Index("once", isUnique: true) { [$0.title] }, Index { [$0.title, $0.pageCount.descending] },
  ]
}

@Suite("Queries, sets and maps at their edges")
struct QueriesAtTheirEdges {
  let directory = TemporaryDirectory()

  private func open(_ name: String = "store", _ clock: TickingClock? = nil) throws -> Store {
    var configuration = StoreConfiguration()
    if let clock { configuration.wallMilliseconds = { clock.tick() } }
    return try Store(
      directory.path + "/" + name, .consistent, models: [Person.self, Volume.self], zones: [.synced("home")],
      configuration: configuration)
  }

  /// The same query, which no index serves: none has records of the further type.
  private func scanned(_ query: RecordQuery) -> RecordQuery {
    var query = query
    query.types?.append("none")
    return query
  }

  @Test("records come for references only while their records are there", arguments: UInt64(0)..<6)
  func eachReference(seed: UInt64) async throws {
    let store = try open()
    try await store.write { tx in
      var random = SeededRandom(seed: seed)
      let people = try (0..<4).map { _ in try tx.create(Person.self, in: "home") }
      for _ in 0..<20 {
        try tx.create(Volume.self, in: "home") {
          $0.year = Int.random(in: 2000...2001, using: &random)
          if Bool.random(using: &random) { $0.author = people.randomElement(using: &random) }
          if Bool.random(using: &random) { $0.editor = people.randomElement(using: &random) }
        }
      }
      for person in people where Bool.random(using: &random) { try tx.delete(person) }
    }
    let all = Volume.each(Ref<Person>.self) { [$0.author, $0.editor] }
    for query in [
      all.where { volume, _ in volume.year == 2000 }, all, all.where { volume, _ in volume.year > 1 },
    ] {
      for limit in [nil, 1, 3] as [Int?] {
        var base = query.base
        base.limit = limit
        try store.read { tx in
          let (found, all) = (try tx.hits(base), try tx.hits(scanned(base)))
          #expect(found.map(\.record) == all.map(\.record) && found.map(\.each) == all.map(\.each))
          #expect(try tx.count(base) == all.count)
        }
      }
    }
    let plan = try store.read { try $0.explain(all.where { volume, _ in volume.year == 2000 }.base) }
    #expect("\(plan)".contains("people"))
  }

  @Test("elements and keys that Swift calls equal are one, on every device")
  func equivalentTexts() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    let clock = TickingClock()
    let (one, other) = (try open("one", clock), try open("other", clock))
    func sync() async throws {
      for store in [one, other, one] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
    }
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}")
    let volume = try await one.write { try $0.create(Volume.self, in: "home") }
    try await sync()
    try await one.write { tx in
      tx[volume].words.insert(composed)
      tx[volume].words.insert("tea")
      tx[volume].roles[composed] = "one"
    }
    try await other.write { tx in
      tx[volume].words.insert(decomposed)
      tx[volume].roles[decomposed] = "other"
    }
    try await sync()
    for store in [one, other] {
      let row = try #require(try store.fetch(volume))
      #expect(row.words == [composed, "tea"] && row.roles.count == 1)
      // The later write, and the element with the least bytes, whatever this process hashes to.
      #expect(row.roles[composed] == "other")
      #expect(row.words.contains { Array($0.utf8) == Array(decomposed.utf8) })
    }
    try await one.write { tx in
      #expect(tx[volume].words.contains(composed) && tx[volume].roles[composed] == "other")
      tx[volume].roles[composed] = "both"
      #expect(tx[volume].roles[decomposed] == "both")
      tx[volume].words.remove(composed)
      #expect(!tx[volume].words.contains(decomposed))
      tx[volume].words.insert(decomposed)
      tx[volume].words.insert(composed)
    }
    try await one.write { $0[volume].words.set([]) }
    try await one.write { $0[volume].roles[decomposed] = nil }
    try await sync()
    for store in [one, other] {
      let row = try #require(try store.fetch(volume))
      #expect(row.words.isEmpty && row.roles.isEmpty)
    }
  }

  @Test("a reference where a text should be is found by the words of what is shown")
  func referenceForText() async throws {
    let store = try open()
    let volume = try await store.write { tx in
      let volume = try tx.create(Volume.self, in: "home")
      let gone = Reference(record: "gone", rule: .nullify)
      try tx.set("title", of: volume.record, to: .reference(gone))
      try tx.create(Volume.self, in: "home") { $0.title = "another untitled" }
      return volume
    }
    #expect(try store.fetch(volume)?.title == "untitled")
    let query = Volume.where { $0.title.hasWords("untitled") }
    #expect(try store.count(query) == 2)
    #expect(try store.keys(query).count == 2)
    // A folded field shows a reference as it is.
    let folded = RecordQuery(
      types: ["volume"],
      condition: .compare(
        QueryField(.field("author", .register), isFolded: true), .equal,
        .reference(Reference(zone: "home", record: "x"))))
    try await store.write { try $0.set("author", of: volume.record, to: .reference(Reference(record: "x"))) }
    #expect(try store.read { try $0.count(folded) } == 1)
  }

  @Test("pages in reverse give each record once, also of equal values")
  func pagesInReverse() async throws {
    let store = try open()
    try await store.write { tx in
      for number in 0..<90 {
        try tx.create(Volume.self, in: "home") { $0.weight = Double(number / 40) }
      }
    }
    let query = Volume.all.sorted(by: \.weight, .reverse)
    let whole = try store.keys(query)
    #expect(whole.count == 90)
    for size in [1, 7, 40] {
      var (found, cursor): ([Ref<Volume>], QueryCursor?) = ([], nil)
      repeat {
        let page = try store.page(query.limit(size).after(cursor))
        found += page.rows.map(\.id)
        cursor = page.next
      } while cursor != nil
      #expect(found == whole, "pages of \(size)")
    }
    // The cursor of a wider query, whose record has another value where this one wants a certain one.
    try await store.write { tx in
      for (number, volume) in whole.enumerated() where number % 2 == 0 {
        tx[volume].due = Date(timeIntervalSince1970: Double(number))
      }
    }
    let wide = Volume.where { $0.year == 0 }.sorted(by: \.due)
    let cursor = try #require(try store.page(wide.limit(1)).next)
    for narrow in [wide.where { $0.due == nil }, wide.where { $0.due != nil }] {
      let base = narrow.after(cursor).base
      try store.read { tx throws in
        #expect(try tx.hits(base).map(\.record) == tx.hits(scanned(base)).map(\.record))
      }
    }
  }

  @Test("of several words the one that the fewest records have is looked for")
  func rarestWord() async throws {
    let store = try open()
    try await store.write { tx in
      for number in 0..<600 {
        try tx.create(Volume.self, in: "home") {
          $0.title = "volume \(number)"
          $0.words.set(["all", "n\(number % 50)"])
        }
      }
    }
    for words in ["volume 77", "77 volume"] {
      let query = Volume.where { $0.title.hasWords(words) }
      #expect(try store.count(query) == 1)
      let plan = try store.explain(query).description
      #expect(plan.prefix { $0 != "\n" }.contains("title has the word \"77\""), "\(plan)")
    }
    let query = Volume.where { $0.words.contains("all") && $0.words.contains("n7") }
    #expect(try store.count(query) == 12)
    let plan = try store.explain(query).description
    #expect(plan.prefix { $0 != "\n" }.contains("words contains \"n7\""), "\(plan)")
  }

  @Test("conditions that are too deep are an error")
  func tooDeep() async throws {
    let store = try open()
    func condition(_ depth: Int) -> QueryCondition {
      (0..<depth).reduce(.compare(.value(of: "year"), .equal, 1)) { inner, step in
        step % 2 == 0 ? .not(inner) : .any([inner, .always(false)])
      }
    }
    func code(_ condition: QueryCondition) -> StoreError.Code? {
      let error = #expect(throws: StoreError.self) {
        try store.read { try $0.count(RecordQuery(condition: condition)) }
      }
      return error?.code
    }
    #expect(try store.read { try $0.count(RecordQuery(condition: condition(100))) } == 0)
    for depth in [101, 2000] { #expect(code(condition(depth)) == .valueInvalid) }
    let path = QueryField(.field("year", .register), path: [Name](repeating: "next", count: 2000))
    #expect(code(.compare(path, .equal, 1)) == .valueInvalid)
    let order = RecordQuery(order: [QueryOrder(path)])
    #expect(throws: StoreError.self) { try store.read { try $0.hits(order) } }
    #expect(throws: StoreError.self) { try store.read { try $0.values(of: path, RecordQuery()) } }
    // Members that point at themselves end at the last step.
    let volume = try await store.write { tx in
      let volume = try tx.create(Volume.self, in: "home") { $0.year = 7 }
      tx[volume].next = volume
      return volume
    }
    let circle = QueryField(.field("year", .register), path: [Name](repeating: "next", count: 100))
    let found = try store.read {
      try $0.hits(RecordQuery(types: ["volume"], condition: .compare(circle, .equal, 7)))
    }
    #expect(found.map(\.record) == [volume.record])
  }

  @Test("many values, odd numbers and long parts of texts are compared as few and short ones")
  func oddOperands() async throws {
    let store = try open()
    let nan = Double(bitPattern: 0xfff8_0000_0000_0001)
    try await store.write { tx in
      for number in 0..<50 {
        try tx.create(Volume.self, in: "home") {
          $0.year = number
          $0.weight = number == 0 ? .nan : number == 1 ? -0.0 : Double(number) - 25
          $0.title =
            String(repeating: "ab", count: number) + "c" + String(repeating: "ab", count: 50 - number)
        }
      }
    }
    let many = (0..<5000).map { $0 * 3 }
    #expect(try store.count(Volume.where { $0.year.in(many) }) == 17)
    try store.read { tx throws in
      for number in [nan, .nan, -0.0, 0.0, -.infinity, 3] {
        for query in [
          Volume.where { $0.weight > number }, Volume.where { $0.weight <= number },
          Volume.where { $0.weight == number }, Volume.where { $0.weight.in([number, 3]) },
        ] { #expect(try tx.count(query.base) == tx.count(scanned(query.base)), "\(query)") }
      }
      for (before, after) in [(0, 9), (9, 9), (12, 20), (49, 1), (20, 31)] {
        let part = String(repeating: "ab", count: before) + "c" + String(repeating: "ab", count: after)
        let expected = (0..<50).count { $0 >= before && 50 - $0 >= after }
        #expect(try tx.count(Volume.where { $0.title.contains(part) }) == expected, "\(before) \(after)")
      }
    }
  }

  @Test("records with equal values of many bytes are listed as conflicts")
  func longDuplicates() async throws {
    let store = try open()
    let beginning = String(repeating: "x", count: 300)
    try await store.write { tx in
      for number in 0..<90 {
        try tx.create(Volume.self, in: "home") {
          $0.title = beginning + "\(number / 2 * 2 == 40 ? 40 : number)"
        }
      }
    }
    let conflicts = try store.conflicts(of: Volume.all)
    #expect(conflicts.map(\.records.count) == [2] && conflicts[0].index == "once")
    // What is behind a long value is not in the keys.
    let title = beginning + "7"
    for counts in [[nil, 3], [1, 2, 3, nil], [nil]] as [[Int?]] {
      let query = Volume.where { $0.title == title && $0.pageCount.in(counts) }
      #expect(try store.keys(query).count == 1 && store.count(query) == 1)
    }
    let few = try store.conflicts(of: Volume.where { $0.title.hasSuffix("x40") })
    #expect(few == conflicts)
  }

  @Test("elements of a list whose members merge are changed and removed by themselves")
  func manyMembers() async throws {
    let store = try open()
    let volume = try await store.write { tx in
      try tx.create(Volume.self, in: "home") { volume in
        volume.pages.append(contentsOf: (0..<40).map { Item(text: "page \($0)") })
      }
    }
    try await store.write { tx throws in
      for element in tx[volume].pages.elements { tx[volume].pages[id: element.id]?.done = true }
      #expect(tx[volume].pages.elements.allSatisfy { $0.done })
      tx[volume].pages.remove(10..<30)
      // What is removed leaves no members behind.
      #expect(try tx.entries(of: "pages", in: volume.record)?.count == 20)
    }
    #expect(
      try store.fetch(volume)?.pages.map(\.text) == (Array(0..<10) + Array(30..<40)).map { "page \($0)" })
    await #expect(throws: StoreError.self) {
      try await store.write { tx in tx[volume].pages.remove(0..<Int.max) }
    }
  }
}
