import Foundation
import StoreTesting
import Testing
import Tributary

/// Its field is one of posts too.
private struct Letter: Model {
  static let type: Name = "letter"
  let body = ProseField("body")
}

@Suite("Records of models")
struct RowTests {
  let directory = TemporaryDirectory()

  @Test("each kind of field is written and read as its model says, in the write and after it")
  func kinds() async throws {
    let store = try directory.store()
    let date = Date(timeIntervalSince1970: 1_800_000_000.25)
    let (post, swift) = try await store.write { tx in
      let swift = try tx.create(Tag.self, in: "blog") { $0.name = "swift" }
      let post = try tx.create(Post.self, in: "blog") {
        $0.headline = "Hello"
        $0.date = date
        $0.rank = 3
        $0.rank? += 1
        $0.mood = .busy
        $0.draft = Item(text: "later")
        $0.tags.insert(swift)
        $0.author = swift
      }
      tx[post].likes.add(2)
      tx[post].likes.add(-1)
      tx[post].balance.add(DecimalNumber("0.1")!)
      tx[post].balance.add(DecimalNumber("0.2")!)
      tx[post].body.set("Good day")
      tx[post].body.set("Good morning")
      tx[post].words.set(["a", "b"])
      tx[post].words.set(["b", "c"])
      tx[post].items.append(contentsOf: [Item(text: "milk"), Item(text: "bread")])
      tx[post].roles["ann"] = "editor"
      tx[post].roles["bob"] = "reader"
      tx[post].roles["bob"] = nil
      tx[post].stars.contribute(4)
      tx[post].stars.contribute(3)
      #expect(tx[post].headline == "Hello" && tx[post].rank == 4 && tx[post].likes.value == 1)
      #expect(tx[post].body.text == "Good morning" && tx[post].words.elements == ["b", "c"])
      #expect(tx[post].tags.contains(swift) && tx[post].stars.value == 7 && tx[post].items.count == 2)
      #expect(tx[post].roles["ann"] == "editor" && tx[post].roles.entries == ["ann": "editor"])
      let milk = try #require(tx[post].items.elements.first).id
      tx[post].items.move(id: milk, to: 1)
      tx[post].items[id: milk]?.done = true
      return (post, swift)
    }
    let row = try #require(try store.fetch(post))
    #expect(row.id == post && row.headline == "Hello" && row.date == date && row.rank == 4)
    #expect(row.mood == .busy && row.draft == Item(text: "later") && row.author == swift)
    #expect(row.body == "Good morning" && row.likes == 1 && row.balance == DecimalNumber("0.3"))
    #expect(row.tags == [swift] && row.words == ["b", "c"] && row.roles == ["ann": "editor"])
    #expect(row.items.map(\.value) == [Item(text: "bread"), Item(text: "milk", done: true)])
    #expect(row.items.map(\.done) == [false, true] && row.stars == 7)
    #expect(try store.fetch(Post.self, in: "blog").map(\.id) == [post])
    #expect(try store.read { try $0.contains(post) && $0.contains(swift) })
    let entry = try store.read { try $0.entry(at: $0.lastPosition()) }
    #expect(entry.transaction.author == "store")
  }

  @Test("what was never set, and what does not decode, shows the default")
  func defaults() async throws {
    let store = try directory.store()
    let post = try await store.write { tx in try tx.create(Post.self, in: "blog") }
    var row = try #require(try store.fetch(post))
    #expect(row.headline == "untitled" && row.date == Date(timeIntervalSince1970: 0) && row.rank == nil)
    #expect(row.mood == .calm && row.draft == nil && row.author == nil && row.body == "" && row.likes == 0)
    #expect(row.balance == DecimalNumber("0") && row.tags == [] && row.items.isEmpty && row.roles == [:])
    #expect(row.stars == 0)
    try await store.write { tx in
      for field in ["headline", "date", "rank", "mood", "draft", "author"] as [Name] {
        try tx.set(field, of: post.record, to: .bytes([1]))
      }
      try tx.insert(.int(5), into: "words", of: post.record)
      try tx.insertElements([.int(5)], at: 0, in: "items", of: post.record)
      try tx.put(.int(5), at: "k", in: "roles", of: post.record)
      try tx.contribute(.string("x"), to: "stars", of: post.record)
      try tx.add(.decimal(DecimalNumber("-2.5")!), to: "likes", of: post.record)
    }
    row = try #require(try store.fetch(post))
    #expect(row.headline == "untitled" && row.rank == nil && row.mood == .calm && row.draft == nil)
    #expect(row.words == [] && row.items.isEmpty && row.roles == [:] && row.stars == 0 && row.likes == -2)
    // They stay for who understands them.
    try await store.write { tx in
      tx[post].words.set(["a"])
      tx[post].items.append(Item(text: "new"))
    }
    let words = try store.read { try $0.elements(of: "words", in: post.record) }
    let items = try store.read { try $0.list("items", of: post.record) }
    #expect(words == [.int(5), "a"] && items?.first == .int(5) && items?.count == 2)
  }

  @Test("an error of an editor fails the write, which throws it; nothing of it is there")
  func failures() async throws {
    let store = try directory.store()
    let post = try await store.write { tx in try tx.create(Post.self, in: "blog") { $0.headline = "a" } }
    func code(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) async throws -> StoreError
      .Code?
    {
      do {
        try await store.write(body)
        return nil
      } catch let error as StoreError {
        return error.code
      }
    }
    let none = Ref<Post>(in: "blog", "none")
    #expect(try await code { $0[none].headline = "b" } == .recordUnknown)
    // The record is of another model.
    #expect(try await code { $0[Ref<Tag>(post.record)].name = "b" } == .recordUnknown)
    #expect(try await code { $0[Ref<Thing>(post.record)].prose.append("b") } == .recordUnknown)
    #expect(try await code { $0[Ref<Thing>(post.record)].words.insert("b") } == .recordUnknown)
    let joined = try await code { tx in
      tx[post].body.append("a")
      tx[Ref<Letter>(post.record)].body.append("b")
    }
    #expect(joined == .recordUnknown)
    let first = try await code { tx in
      tx[post].headline = "b"
      tx[post].items.remove(at: 0)
      tx[post].headline = "c"
      #expect(tx[post].headline == "untitled")
    }
    #expect(first == .indexInvalid)
    #expect(try await code { $0[post].roles[String(repeating: "k", count: 256)] = "x" } == .valueInvalid)
    #expect(
      try await code { tx in try tx.create(Post.self, in: "blog", named: post.name) } == .recordExists)
    #expect(try store.fetch(post)?.headline == "a")
    // What is gone is not there to change.
    let item = UnitReference(number: 7)
    try await store.write { tx in
      tx[post].items[id: item]?.done = true
      tx[post].items[id: item] = nil
      tx[post].items.move(id: item, to: 0)
      tx[post].headline = "d"
    }
    #expect(try store.fetch(post)?.headline == "d")
    #expect(try store.fetch(none) == nil && store.fetch(Ref<Tag>(post.record)) == nil)
    #expect(try store.fetch(Ref<Post>(in: "elsewhere", "x")) == nil)
    #expect(try store.fetch(Post.self, in: "elsewhere").isEmpty)
    #expect(try !store.read { try $0.contains(Ref<Tag>(post.record)) })
  }

  @Test("a former name is read too, and the later write shows; new writes use the new name")
  func formerNames() async throws {
    let store = try directory.store()
    let post = try await store.write { tx in
      let post = try tx.create(Post.self, in: "blog")
      try tx.set("title", of: post.record, to: "old")
      #expect(tx[post].headline == "old")
      return post
    }
    #expect(try store.fetch(post)?.headline == "old")
    try await store.write { $0[post].headline = "new" }
    #expect(try store.fetch(post)?.headline == "new")
    #expect(try store.read { try $0.value(of: "title", in: post.record) } == "old")
    try await store.write { try $0.set("title", of: post.record, to: "an older app") }
    #expect(try store.fetch(post)?.headline == "an older app")
    #expect(try await store.write { $0[post].headline } == "an older app")
  }

  @Test("made names are UUIDs that sort as they were made, also within a write")
  func madeNames() async throws {
    let store = try directory.store()
    var names: [Name] = []
    for _ in 0..<20 {
      names += try await store.write { tx in
        try (0..<20).map { _ in try tx.create(Tag.self, in: "blog").name }
      }
    }
    #expect(names == names.sorted() && Set(names).count == 400)
    #expect(names.allSatisfy { UniqueID($0.rawValue) != nil && Array($0.rawValue)[14] == "7" })
    #expect(
      names.allSatisfy { UUID(uuidString: $0.rawValue) != nil && "89ab".contains(Array($0.rawValue)[19]) })
  }

  @Test("models and zones are checked and made by the opening call")
  func opening() async throws {
    struct Twice: Model {
      static let type: Name = "twice"
      let one = Field<Int>("a")
      let other = Field<Int>("b", formerly: "a")
    }
    struct OtherPost: Model { static let type: Name = "post" }
    struct Plain: Model {
      static let type: Name = "plain"
      var title = ""
    }
    for models in [[Twice.self], [Post.self, OtherPost.self], [Plain.self]] as [[any Model.Type]] {
      let error = #expect(throws: StoreError.self) {
        try Store(directory.path + "/none", .consistent, models: models)
      }
      #expect(error?.code == .nameInvalid)
    }
    let error = #expect(throws: StoreError.self) {
      try Store(directory.path + "/none", .consistent, zones: [.synced("a"), .local("b"), .local("a")])
    }
    #expect(error?.code == .nameInvalid)
    let author = String(repeating: "a", count: 256)
    let ofAuthor = #expect(throws: StoreError.self) {
      try Store(directory.path + "/none", .consistent, author: author)
    }
    #expect(ofAuthor?.code == .valueInvalid)
    #expect(!FileManager.default.fileExists(atPath: directory.path + "/none"))
    var store = try directory.store(schema: 2)
    let zones = try store.read { tx in try tx.zones().map { ($0, try tx.attachment(of: $0)) } }
    #expect(zones.map(\.0) == ["blog", "notes"] && zones.map(\.1) == [.attached, .local])
    let id = try store.local.information().lastPosition
    store.close()
    store = try directory.store(schema: 2)
    #expect(try store.local.information().lastPosition == id)
    try await store.write { try $0.create(Tag.self, in: "notes") }
    let entry = try store.read { try $0.entry(at: $0.lastPosition()) }
    #expect(entry.transaction.schemaVersion == 2)
  }

  @Test("two devices change different elements, words and characters, and both changes stay")
  func merging() async throws {
    let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
    let (one, other) = (try directory.store("one"), try directory.store("other"))
    func sync() async throws {
      for _ in 0..<2 {
        for store in [one, other] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
      }
    }
    let post = try await one.write { tx in
      try tx.create(Post.self, in: "blog") {
        $0.items.append(contentsOf: [Item(text: "milk"), Item(text: "bread")])
        $0.body.set("The quick brown fox jumps over the lazy dog")
      }
    }
    try await sync()
    let items = try #require(try other.fetch(post)).items
    try await one.write { tx in
      tx[post].items[id: items[0].id]?.done = true
      tx[post].body.set("The quick red fox jumps over the lazy dog")
    }
    try await other.write { tx in
      tx[post].items.move(id: items[0].id, to: 1)
      tx[post].items[id: items[1].id]?.text = "rye bread"
      tx[post].body.set("A quick brown fox jumps over the lazy cat")
    }
    try await sync()
    for store in [one, other] {
      let row = try #require(try store.fetch(post))
      #expect(row.items.map(\.value) == [Item(text: "rye bread"), Item(text: "milk", done: true)])
      #expect(row.items.map(\.id) == [items[1].id, items[0].id])
      #expect(row.body == "A quick red fox jumps over the lazy cat")
    }
  }

  @Test("errors are sentences")
  func sentences() {
    let error = StoreError(.zoneUnknown, "the store has no zone “x”", hint: "create it")
    #expect(error.localizedDescription == "The store has no zone “x”.")
    #expect(error.recoverySuggestion == "Create it.")
  }

  private struct Summary: Codable, Equatable {
    var id: Ref<Post>?
    var headline: String
    var rank: Int?
    var mood: Mood
    var draft: Item?
    var likes: Int
    var tags: Set<Ref<Tag>>
    var items: [Item]
    var roles: [String: String]
    var body: String
  }

  @Test("a struct of the app is decoded from a row, and writes what differs")
  func structs() async throws {
    let store = try directory.store()
    let (post, swift) = try await store.write { tx in
      let swift = try tx.create(Tag.self, in: "blog")
      let post = try tx.create(Post.self, in: "blog") {
        $0.headline = "Hello"
        $0.rank = 1
        $0.tags.insert(swift)
        $0.items.append(contentsOf: ["a", "b", "c"].map { Item(text: $0) })
        $0.roles["ann"] = "editor"
        $0.likes.add(2)
        $0.body.set("one two")
      }
      // What this version of the app does not understand.
      try tx.insertElements([.int(5)], at: 2, in: "items", of: post.record)
      try tx.insert(.int(6), into: "tags", of: post.record)
      try tx.put(.int(7), at: "x", in: "roles", of: post.record)
      try tx.set("newer", of: post.record, to: 8)
      return (post, swift)
    }
    let row = try #require(try store.fetch(post))
    var summary = try row.decode(Summary.self)
    let first = Summary(
      id: post, headline: "Hello", rank: 1, mood: .calm, likes: 2, tags: [swift],
      items: ["a", "b", "c"].map { Item(text: $0) }, roles: ["ann": "editor"], body: "one two")
    #expect(summary == first)
    let before = try store.read { try $0.lastPosition() }
    try await store.write { [summary] tx in try tx.update(post, with: summary) }
    #expect(try store.read { try $0.lastPosition() } == before)
    summary.headline = "Hi"
    summary.rank = nil
    summary.mood = .busy
    summary.draft = Item(text: "d")
    summary.likes = 5
    summary.tags = []
    summary.items = [Item(text: "z"), Item(text: "a"), Item(text: "c", done: true)]
    summary.roles = ["bob": "reader"]
    summary.body = "one three"
    try await store.write { [summary] tx in try tx.update(post, with: summary) }
    let after = try #require(try store.fetch(post))
    #expect(try after.decode(Summary.self) == summary)
    #expect(after.items[1].id == row.items[0].id)
    let (items, tags, roles, newer) = try store.read { tx in
      (
        try tx.list("items", of: post.record), try tx.elements(of: "tags", in: post.record),
        try tx.entries(of: "roles", in: post.record), try tx.value(of: "newer", in: post.record)
      )
    }
    #expect(items?.contains(.int(5)) == true && tags == [.int(6)] && roles?["x"] == .int(7) && newer == 8)
    struct Other: Encodable { var nothing = 1 }
    struct Wrong: Encodable { var likes = "many" }
    await #expect(throws: StoreError.self) { try await store.write { try $0.update(post, with: Other()) } }
    await #expect(throws: StoreError.self) { try await store.write { try $0.update(post, with: Wrong()) } }
    struct Title: Codable { var title: String }
    #expect(throws: DecodingError.self) { try after.decode(Title.self) }
  }

  @Test("random lists are made others by structs, beside elements that do not decode", arguments: 0..<10)
  func lists(seed: UInt64) async throws {
    let store = try directory.store()
    struct Listed: Codable, Equatable { var items: [Item] }
    var random = SeededRandom(seed: seed)
    func list() -> [Item] {
      (0..<Int.random(in: 0..<6, using: &random)).map { _ in
        Item(text: ["a", "b", "c"].randomElement(using: &random)!)
      }
    }
    let post = try await store.write { try $0.create(Post.self, in: "blog") }
    for round in 0..<20 {
      let (wanted, place) = (Listed(items: list()), Int.random(in: 0..<3, using: &random))
      let other = try await store.write { tx in
        let count = try tx.count(of: "items", in: post.record, as: .list)
        if place == 0 { try tx.insertElements([.int(1)], at: count / 2, in: "items", of: post.record) }
        try tx.update(post, with: wanted)
        return try (tx.list("items", of: post.record) ?? []).count { $0 == .int(1) }
      }
      #expect(try store.fetch(post)?.decode(Listed.self) == wanted, "round \(round)")
      #expect(other <= round + 1)
    }
  }

  @Test("conflicts are listed and settled; a deletion that won is taken back with the fields as they were")
  func conflicts() async throws {
    let (remote, clock) = (MemoryRemote(identity: RemoteID(rawValue: 5)), TickingClock())
    let (one, other) = (
      try directory.store("one", clock: clock), try directory.store("other", clock: clock)
    )
    func sync() async throws {
      for _ in 0..<2 {
        for store in [one, other] { _ = try await LogReplicator(store: store, remote: remote).syncOnce() }
      }
    }
    let (post, gone) = try await one.write { tx in
      (try tx.create(Post.self, in: "blog"), try tx.create(Post.self, in: "blog") { $0.headline = "kept" })
    }
    try await sync()
    try await one.write { $0[post].headline = "one" }
    try await other.write { tx in
      tx[post].headline = "other"
      tx[gone].rank = 5
    }
    try await one.write { try $0.delete(gone) }
    try await sync()
    let found = try other.conflicts(of: Post.all)
    #expect(found.map(\.field) == ["headline"] && found[0].record == post.record)
    let loser = try #require(found[0].losers[0].content.value)
    try await other.write { try $0.keep(found[0].losers[0], of: found[0]) }
    #expect(try other.fetch(post)?.headline == String(loser, in: "blog"))
    #expect(try other.conflicts(of: post).isEmpty)
    #expect(try other.fetch(gone) == nil && other.conflicts(of: gone).map(\.field) == [nil])
    try await other.write { tx in
      try tx.revive(gone)
      try tx.revive(gone)
    }
    try await sync()
    for store in [one, other] {
      let row = try #require(try store.fetch(gone))
      #expect(row.headline == "kept" && row.rank == 5)
    }
    try await one.write { try $0.delete(gone) }
    let error = await #expect(throws: StoreError.self) { try await one.write { try $0.revive(gone) } }
    #expect(error?.code == .conflictUnknown)
  }
}
