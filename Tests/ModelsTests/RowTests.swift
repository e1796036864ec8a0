import Foundation
import StoreTesting
import Testing
import Tributary

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
    for models in [[Twice.self], [Post.self, OtherPost.self]] as [[any Model.Type]] {
      let error = #expect(throws: StoreError.self) {
        try Store(directory.path + "/none", .consistent, models: models)
      }
      #expect(error?.code == .nameInvalid)
    }
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
}
