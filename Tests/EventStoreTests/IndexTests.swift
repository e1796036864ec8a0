import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Indexes")
struct IndexTests {
  let directory = TemporaryDirectory()
  private let zone: ZoneID = "z"

  private func store(_ name: String = "store") throws -> LocalStore {
    let store = try LocalStore(directory: directory.path + "/\(name)", durability: .consistent)
    try store.writeBlockingThisThread { [zone] tx in if try !tx.hasZone(zone) { try tx.createZone(zone) } }
    return store
  }

  private static let byRank = IndexDefinition(
    "by rank", of: ["a", "b"], by: [IndexPart(.value(.value(of: "rank")))])
  /// Fields that read as something else where a reference is nullified.
  private static let otherOrFree = QueryField(.field("other", .register), formerNames: ["free"])
  private static let otherOrFirst = QueryField(
    .field("other", .register), fallback: .reference(Reference(zone: "z", record: "r1")))

  private static let definitions = [
    byRank,
    IndexDefinition(
      "by text and rank", of: ["a"],
      by: [
        IndexPart(.value(.value(of: "text")), isDescending: true), IndexPart(.value(.value(of: "rank"))),
      ]),
    IndexDefinition(
      "by tag", of: ["a"],
      by: [IndexPart(.elements(QueryField(.field("tags", .set)))), IndexPart(.value(.value(of: "rank")))]),
    IndexDefinition("by key", of: ["b"], by: [IndexPart(.elements(QueryField(.field("roles", .map))))]),
    IndexDefinition(
      "by item", of: ["a", "b"], by: [IndexPart(.elements(QueryField(.field("items", .list))))]),
    IndexDefinition("by other", of: ["a", "b"], by: [IndexPart(.value(.value(of: "other")))]),
    IndexDefinition(
      "by folded text", of: ["a", "b"],
      by: [IndexPart(.value(.value(of: "text").folded)), IndexPart(.value(.value(of: "rank")))]),
    IndexDefinition(
      "by word", of: ["a"],
      by: [IndexPart(.words(.value(of: "text"))), IndexPart(.value(.value(of: "rank")))]),
    IndexDefinition(
      "by word of prose", of: ["a", "b"], by: [IndexPart(.words(QueryField(.field("prose", .text))))]),
    IndexDefinition(
      "by each", of: ["a", "b"],
      by: [IndexPart(.eachOf([.value(of: "rank"), QueryField(.field("votes", .counter))]))]),
    IndexDefinition(
      "by each again", of: ["a", "b"],
      by: [
        IndexPart(.value(.value(of: "text"))),
        IndexPart(.eachOf([.value(of: "text"), .value(of: "rank")]), isDescending: true),
      ]),
    IndexDefinition(
      "by rank and text", of: ["b", "c"],
      by: [IndexPart(.value(.value(of: "rank"))), IndexPart(.value(.value(of: "text")))]),
    IndexDefinition(
      "by prose and other", of: ["b", "c"],
      by: [
        IndexPart(.value(QueryField(.field("prose", .text)))), IndexPart(.value(.value(of: "other"))),
        IndexPart(.value(.value(of: "rank"))),
      ]),
    IndexDefinition("by other or free", of: ["a", "b"], by: [IndexPart(.value(otherOrFree))]),
    IndexDefinition("by other or first", of: ["a", "b"], by: [IndexPart(.value(otherOrFirst))]),
    IndexDefinition("by votes", of: ["b"], by: [IndexPart(.value(QueryField(.field("votes", .counter))))]),
    IndexDefinition("by prose", of: ["b"], by: [IndexPart(.value(QueryField(.field("prose", .text))))]),
  ]

  /// Changes some records in all ways.
  private func change(_ random: inout SeededRandom, in store: LocalStore) throws {
    let seed = UInt64.random(in: 0 ... .max, using: &random)
    try store.writeBlockingThisThread { [zone] tx in
      var random = SeededRandom(seed: seed)
      for _ in 0..<Int.random(in: 1..<8, using: &random) {
        let record = RecordID(zone: zone, name: Name("r\(Int.random(in: 0..<12, using: &random))"))
        guard try tx.contains(record) else {
          try tx.create(record, type: Bool.random(using: &random) ? "a" : "b")
          continue
        }
        let rule = ReferenceRule.allCases.randomElement(using: &random)!
        let other = Value.reference(
          Reference(record: Name("r\(Int.random(in: 0..<12, using: &random))"), rule: rule))
        let long = String(repeating: "x", count: 300)
        switch Int.random(in: 0..<14, using: &random) {
        case 0: try tx.delete(record)
        case 1: try tx.set("rank", of: record, to: .int(.random(in: 0..<4, using: &random)))
        case 2: try tx.clear("rank", of: record)
        case 3:
          try tx.set(
            "text", of: record,
            to: .string(["", "a", "Á", "b a", long, long + "y"].randomElement(using: &random)!))
        case 4: try tx.insert(.int(.random(in: 0..<4, using: &random)), into: "tags", of: record)
        case 5: try tx.remove(.int(.random(in: 0..<4, using: &random)), from: "tags", of: record)
        case 6:
          try tx.put(other, at: Name("k\(Int.random(in: 0..<3, using: &random))"), in: "roles", of: record)
        case 7:
          try tx.insertElements([.int(.random(in: 0..<4, using: &random))], at: 0, in: "items", of: record)
        case 8: try tx.set("other", of: record, to: other)
        case 9: try tx.insert(other, into: "tags", of: record)
        case 10: try tx.add(.int(.random(in: -2..<3, using: &random)), to: "votes", of: record)
        case 11: try tx.set("free", of: record, to: Bool.random(using: &random) ? other : 1)
        case 12: try tx.insertText(["p", "q"].randomElement(using: &random)!, at: 0, in: "prose", of: record)
        default:
          if let count = try tx.list("items", of: record)?.count, count > 0 {
            try tx.removeElements(0..<1, from: "items", of: record)
          }
        }
      }
    }
  }

  private func expectSound(_ store: LocalStore, _ comment: Comment? = nil) throws {
    let report = try store.verify()
    #expect(report.problems == [], comment)
  }

  @Test("are what they would be if built from nothing, after any changes", arguments: 0..<6 as Range<UInt64>)
  func upkeep(seed: UInt64) async throws {
    let store = try store()
    var random = SeededRandom(seed: seed)
    if seed % 2 == 0 { try store.declareIndexesBlockingThisThread(Self.definitions) }
    for step in 0..<30 {
      try change(&random, in: store)
      if step == 10 { try store.declareIndexesBlockingThisThread(Self.definitions) }
      if step == 14 || step > 20 && Int.random(in: 0..<8, using: &random) == 0 {
        try store.buildIndexesBlockingThisThread()
      }
      if step == 24 { _ = try await store.rebuild() }
      if step % 5 == 4 { try expectSound(store, "step \(step)") }
    }
    try expectSound(store)
    #expect(try store.indexes().allSatisfy(\.isBuilt))
  }

  @Test(
    "that are built in small parts while others write are what they would be otherwise",
    arguments: 0..<2 as Range<UInt64>)
  func building(seed: UInt64) async throws {
    let store = try store()
    var random = SeededRandom(seed: seed)
    for _ in 0..<20 { try change(&random, in: store) }
    try store.declareIndexesBlockingThisThread(Self.definitions)
    #expect(try store.indexes().allSatisfy { !$0.isBuilt })
    let writer = Task.detached { [random] in
      var random = random
      for _ in 0..<200 { try change(&random, in: store) }
    }
    var build = IndexBuild(store.core)
    build.partBytes = 100
    var (steps, damage) = (0, IndexBuild.Damage())
    while try build.step(&damage) != nil { steps += 1 }
    try await writer.value
    #expect(steps > 20)
    try expectSound(store)
    #expect(try store.indexes().allSatisfy(\.isBuilt))
  }

  @Test("a build that another has overtaken writes nothing; removed indexes leave nothing")
  func overtaken() throws {
    let store = try store()
    var random = SeededRandom(seed: 5)
    for _ in 0..<20 { try change(&random, in: store) }
    try store.declareIndexesBlockingThisThread([Self.byRank])
    let stale = try store.read {
      try IndexPartReader($0, $0.readView.indexes.all()[0], bytesMax: 1 << 20).read()
    }
    let index = try store.read { try $0.readView.indexes.all()[0] }
    try store.buildIndexesBlockingThisThread()
    for _ in 0..<5 { try change(&random, in: store) }
    try store.core.performBlocking(
      .repeatable {
        let isWritten = try IndexBuild.write(stale, 0..<stale.entries.count, of: index, $0)
        #expect(!isWritten)
      })
    try expectSound(store)
    // Under the same name another one: queries do not use it before it is built.
    let other = IndexDefinition("by rank", of: ["a"], by: [IndexPart(.value(.value(of: "text")))])
    try store.declareIndexesBlockingThisThread([other])
    let query = RecordQuery(types: ["a"], condition: .compare(.value(of: "text"), .equal, "a"))
    #expect(try store.read { try $0.explain(query) }.index == nil)
    try store.buildIndexesBlockingThisThread()
    #expect(try store.read { try $0.explain(query) }.index == "by rank")
    try store.declareIndexesBlockingThisThread([], removing: ["by rank"])
    try store.buildIndexesBlockingThisThread()
    #expect(try store.indexes() == [])
    try store.read { tx in
      // What is left is the last number given out.
      let entries = try tx.transaction.statistics(of: tx.tables.indexes!).entries
      #expect(entries == 1)
    }
  }

  @Test("an index that damage keeps from being built does not keep others waiting")
  func damaged() throws {
    let store = try store()
    let record = RecordID(zone: zone, name: "r")
    try store.writeBlockingThisThread { tx in
      try tx.create(record, type: "a")
      try tx.set("rank", of: record, to: 1)
      try tx.set("text", of: record, to: "x")
    }
    let row = try #require(try store.rows(\.records).last)
    try store.overwrite(row.key, Array(row.value.dropLast()), in: \.records)
    let other = IndexDefinition("by name", of: ["c"], by: [IndexPart(.value(.value(of: "name")))])
    try store.declareIndexesBlockingThisThread([
      IndexDefinition("by text", of: ["a"], by: [IndexPart(.value(.value(of: "text")))]), other,
    ])
    #expect { try store.buildIndexesBlockingThisThread() } throws: { ($0 as? StoreError)?.code == .damaged }
    #expect(try store.indexes().map(\.isBuilt) == [false, true])
  }

  @Test("states of a store never get a number that another one had")
  func numbersOfStates() async throws {
    let store = try store()
    var numbers: [StateNumber] = []
    for _ in 0..<3 {
      _ = try await store.rebuild()
      numbers.append(try store.read { [zone] in try $0.readView.state(of: zone) })
    }
    #expect(Set(numbers).count == 3 && numbers == numbers.sorted { $0.rawValue < $1.rawValue })
  }

  @Test("long texts are in an index by their beginning, and by their words up to a length")
  func longTexts() throws {
    let store = try store()
    let prose = QueryField(.field("prose", .text))
    try store.declareIndexesBlockingThisThread([
      IndexDefinition("by prose", of: ["a"], by: [IndexPart(.value(prose))]),
      IndexDefinition("folded", of: ["a"], by: [IndexPart(.value(prose.folded))]),
      IndexDefinition("words", of: ["a"], by: [IndexPart(.words(prose))]),
    ])
    let texts = [
      String(repeating: "word ", count: 1 << 18) + "end", String(repeating: "\u{301}", count: 2000) + "End",
      // Canonically equivalent, and different words.
      "\u{915}\u{93c}\u{94d}", "\u{915}\u{94d}\u{93c}", "\u{915}\u{93c}\u{94d} \u{915}\u{94d}\u{93c}",
    ]
    try store.writeBlockingThisThread { [zone] tx in
      for (place, text) in texts.enumerated() {
        let record = RecordID(zone: zone, name: Name("r\(place)"))
        try tx.create(record, type: "a")
        try tx.insertText(text, at: 0, in: "prose", of: record)
      }
    }
    try expectSound(store)
    func found(_ condition: QueryCondition, by index: Name) throws -> [String] {
      let query = RecordQuery(types: ["a"], condition: condition)
      #expect(try store.read { try $0.explain(query) }.index == index)
      return try store.read { try $0.hits(query) }.map(\.record.name.rawValue).sorted()
    }
    #expect(try found(.word(prose, "end", isPrefix: false), by: "words") == ["r0", "r1"])
    #expect(try found(.word(prose, "\u{915}\u{93c}\u{94d}", isPrefix: false), by: "words") == ["r2", "r4"])
    #expect(try found(.word(prose, "\u{915}\u{94d}\u{93c}", isPrefix: false), by: "words") == ["r3", "r4"])
    #expect(try found(.compare(prose.folded, .equal, "end"), by: "folded") == ["r1"])
    #expect(try found(.compare(prose, .equal, .string(texts[0])), by: "by prose") == ["r0"])
    #expect(try found(.text(prose, .prefix, "word word"), by: "by prose") == ["r0"])
  }

  @Test("what cannot be an index is refused; the definition is stored as it is")
  func definitions() throws {
    let store = try store()
    func refuse(_ parts: [IndexPart], types: [Name] = ["a"]) {
      #expect {
        try store.declareIndexesBlockingThisThread([IndexDefinition("i", of: types, by: parts)])
      } throws: {
        ($0 as? StoreError)?.code == .definitionInvalid
      }
    }
    let rank = IndexPart(.value(.value(of: "rank")))
    refuse([])
    refuse([rank], types: [])
    refuse([rank, rank, rank, rank, rank, rank, rank, rank, rank])
    refuse([IndexPart(.value(QueryField(.field("name", .register), path: ["author"])))])
    refuse([IndexPart(.value(QueryField(.field("tags", .set))))])
    refuse([IndexPart(.elements(QueryField(.field("tags", .set)))), IndexPart(.words(.value(of: "text")))])
    refuse([IndexPart(.eachOf([]))])
    refuse([IndexPart(.value(.each))])
    for definition in Self.definitions { #expect(IndexDefinition(stored: definition.stored) == definition) }
    #expect(IndexDefinition(stored: .map(["name": "i"])) == nil)
    try store.declareIndexesBlockingThisThread(Self.definitions)
    #expect(try store.indexes().map(\.definition) == Self.definitions)
    #expect(try store.indexes().allSatisfy(\.isBuilt))
  }

  @Test(
    "are right after a record was made again and typed into in one write, with and without reads between",
    arguments: [false, true])
  func madeAgain(reads: Bool) throws {
    let store = try store()
    try store.declareIndexesBlockingThisThread([
      IndexDefinition(
        "sums", of: ["t0"],
        by: [
          IndexPart(.value(QueryField(.field("f2", .counter)))),
          IndexPart(.value(QueryField(.field("f2", .text)))),
        ])
    ])
    try store.writeBlockingThisThread { [zone] tx in
      let record = RecordID(zone: zone, name: "r0")
      func read() throws { if reads { _ = try tx.value(of: "f1", in: record) } }
      try tx.create(record, type: "t0")
      try tx.set("f0", of: record, to: 4)
      try read()
      try tx.delete(record)
      try tx.create(record, type: "t0")
      for (place, letter) in ["n", "f", "g"].enumerated() {
        try tx.insertText(letter, at: place, in: "f2", of: record)
        try read()
      }
      try tx.set("f1", of: record, to: 1)
      try read()
      try tx.set("f1", of: record, to: 7)
    }
    try expectSound(store)
  }

  // MARK: Queries

  private static func field(_ random: inout SeededRandom) -> QueryField {
    [
      .value(of: "rank"), .value(of: "text"), .value(of: "other"), QueryField(.field("votes", .counter)),
      QueryField(.field("prose", .text)), QueryField(.name), .value(of: "text").folded,
      otherOrFree, otherOrFirst, QueryField(.field("rank", .register), fallback: 2),
      QueryField(.field("text", .register), fallback: "A", isFolded: true),
    ].randomElement(using: &random)!
  }

  private static func value(_ random: inout SeededRandom, _ zone: ZoneID) -> Value {
    let long = String(repeating: "x", count: 300)
    return [
      .null, .int(.random(in: 0..<4, using: &random)),
      .string(["", "a", "Á", long, long + "y", "r5"].randomElement(using: &random)!),
      .reference(Reference(zone: zone, record: Name("r\(Int.random(in: 0..<12, using: &random))"))),
    ].randomElement(using: &random)!
  }

  private static func condition(_ random: inout SeededRandom, _ zone: ZoneID) -> QueryCondition {
    let value = value(&random, zone)
    switch Int.random(in: 0..<11, using: &random) {
    case 9:
      let words = ["a", "b", "A b", "pq", "x", "y"].randomElement(using: &random)!
      return .words(
        Bool.random(using: &random) ? .value(of: "text") : QueryField(.field("prose", .text)), words,
        lastIsPrefix: Bool.random(using: &random))
    case 0, 1: return .compare(field(&random), .equal, value)
    case 2, 3:
      return .compare(
        field(&random), QueryCondition.Comparison.allCases.randomElement(using: &random)!, value)
    case 4: return .oneOf(field(&random), (0..<3).map { _ in Self.value(&random, zone) })
    case 5:
      let part = ["", "x", "a", String(repeating: "x", count: 280)].randomElement(using: &random)!
      return .text(field(&random), .prefix, part)
    case 6:
      let several = [
        QueryField(.field("tags", .set)), QueryField(.field("items", .list)),
        QueryField(.field("roles", .map)),
      ].randomElement(using: &random)!
      return .contains(several, Bool.random(using: &random) ? value : "k1")
    case 7: return .not(condition(&random, zone))
    default: return .all([condition(&random, zone), condition(&random, zone)])
    }
  }

  @Test(
    "find the same records in the same order as reading all does",
    arguments: WideTests.choose(0..<8, otherwise: 0..<3))
  func queries(seed: UInt64) throws {
    let (store, plain) = (try store(), try self.store("plain"))
    var (random, again) = (SeededRandom(seed: seed), SeededRandom(seed: seed))
    try store.declareIndexesBlockingThisThread(Self.definitions)
    var used: Set<Name> = []
    for _ in 0..<10 {
      try change(&random, in: store)
      try change(&again, in: plain)
      for _ in 0..<40 {
        var query = RecordQuery(
          types: [["a"], ["b"], ["a", "b"], ["b", "c"]].randomElement(using: &random)!,
          condition: Self.condition(&random, zone),
          order: (0..<Int.random(in: 0..<3, using: &random)).map { _ in
            QueryOrder(Self.field(&random), isDescending: Bool.random(using: &random))
          })
        if Int.random(in: 0..<4, using: &random) == 0 {
          query.each = [
            [.value(of: "rank"), QueryField(.field("votes", .counter))],
            [.value(of: "text"), .value(of: "rank")],
          ].randomElement(using: &random)!
          if Bool.random(using: &random) {
            query.order.insert(QueryOrder(.each, isDescending: Bool.random(using: &random)), at: 0)
          }
          if Bool.random(using: &random) {
            let comparison = QueryCondition.Comparison.allCases.randomElement(using: &random)!
            query.condition = .all([query.condition, .compare(.each, comparison, Self.value(&random, zone))])
          }
        }
        let all = try plain.read { try $0.hits(query) }
        if Bool.random(using: &random) { query.start = all.randomElement(using: &random)?.cursor }
        if Bool.random(using: &random) { query.limit = .random(in: 0..<6, using: &random) }
        let (found, plan) = try store.read { (try $0.hits(query), try $0.explain(query)) }
        let expected = try plain.read { try $0.hits(query) }
        #expect(found == expected, "\(query), \(plan)")
        let (count, isThere) = try store.read { (try $0.count(query), try $0.exists(query)) }
        #expect(count == expected.count && isThere == !expected.isEmpty, "\(query), \(plan)")
        if let index = plan.index { used.insert(index) }
        if found != expected { return }
      }
      again = random
    }
    #expect(used.count > 8)
  }

  @Test(
    "a record that gets the type of a third head, by a write that replaces another, is in the index of that type"
  )
  func contestedTypes() async throws {
    var remote = TestRemote()
    let clocks: [Int64] = [36_000_000, 3_600_000, 0, 0]
    var stores: [LocalStore] = []
    for (number, clock) in clocks.enumerated() {
      let store = try directory.store("\(number)") {
        $0.wallMilliseconds = { clock }
        $0.makeRandom = { 77 &+ UInt64(number) }
        $0.indexes = [
          IndexDefinition("by f", of: ["second"], by: [IndexPart(.value(.value(of: "f")))])
        ]
      }
      try await store.makeAttachedZone()
      stores.append(store)
    }
    func ship(_ store: LocalStore) async throws {
      while let acknowledgement = try remote.ship(store) { _ = try await store.acknowledge(acknowledgement) }
    }
    try await stores[0].write { try $0.create(note("r"), type: "first", fields: ["f": 1]) }
    try await stores[1].write { try $0.create(note("r"), type: "second", fields: ["f": 2]) }
    try await ship(stores[0])
    _ = try await stores[2].ingest(remote.news(for: stores[2]))
    try await stores[2].write { try $0.set("f", of: note("r"), to: 3) }
    _ = try await stores[1].ingest(remote.news(for: stores[1]))
    try await ship(stores[1])
    let last = stores[3]
    _ = try await last.ingest(remote.news(for: last))
    #expect(try last.read { try $0.record(note("r"))?.type } == "first")
    _ = try await stores[2].ingest(remote.news(for: stores[2]))
    try await ship(stores[2])
    _ = try await last.ingest(remote.news(for: last))
    #expect(try last.read { try $0.record(note("r"))?.type } == "second")
    #expect(try last.verify().problems == [])
  }
}
