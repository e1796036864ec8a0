import Foundation
import StoreTesting
import Testing
import Tributary

/// What the older version of the app knows of a post: fields that the newer one does not have.
private struct OldPost: Model {
  static let type: Name = "post"
  let subject = Field<String>("subject")
  let text = ProseField("text")
  let views = CounterField("views")
  let labels = SetField<String>("labels")
  let lines = ListField<String>("lines")
  let table = MapField<String>("table")
  let marks = ReducedField<Int, Int>("marks", initial: 0) { $0 += $1 }
}

/// All that the newer version shows of a post.
private struct Shown: Equatable {
  var registers: [String]
  var body: String
  var likes: Int
  var balance: DecimalNumber
  var tags: Set<Ref<Tag>>
  var words: Set<String>
  var items: [Item]
  var roles: [String: String]
  var stars: Int

  init?(_ row: Row<Post>?) {
    guard let row else { return nil }
    registers = [
      row.headline, "\(row.date)", "\(String(describing: row.rank))", "\(row.mood)",
      "\(String(describing: row.draft))", "\(row.author.map { "\($0.record.name)" } ?? "none")",
    ]
    (body, likes, balance) = (row.body, row.likes, row.balance)
    (tags, words) = (row.tags, row.words)
    (items, roles, stars) = (row.items.map(\.value), row.roles, row.stars)
  }
}

@Suite("Fields that an older version of an app does not know")
struct UnknownFields {
  private let directory = TemporaryDirectory()
  private let remote = MemoryRemote(identity: RemoteID(rawValue: 5))
  private let clock = TickingClock()

  private func store(_ name: String, _ models: [any Model.Type], schema: UInt64) throws -> Store {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { [clock] in clock.tick() }
    return try Store(
      "\(directory.path)/\(name)", .consistent, models: models,
      zones: [.synced("blog"), .synced("archive")], schema: schema, configuration: configuration)
  }

  private func sync(_ stores: Store...) async throws {
    for _ in 0..<2 {
      for store in stores {
        let report = try await LogReplicator(store: store, remote: remote).syncOnce()
        #expect(report.isInSync, "\(report)")
      }
    }
  }

  /// Gives a post a value in every field that the newer version has.
  private func fill(_ post: Editor<Post>, _ tag: Ref<Tag>) {
    post.headline = "Sea"
    post.date = Date(timeIntervalSince1970: 1_800_000_000)
    post.rank = 3
    post.mood = .busy
    post.draft = Item(text: "draft", done: true)
    post.body.set("the whole story")
    post.likes.add(4)
    post.balance.add(DecimalNumber("1.25")!)
    post.tags.insert(tag)
    post.words.insert("blue")
    post.author = tag
    post.items.append(contentsOf: [Item(text: "one"), Item(text: "two")])
    post.roles["ann"] = "editor"
    post.stars.contribute(5)
  }

  private struct Edit: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var run: @Sendable (inout WriteTransaction, Ref<OldPost>) throws -> Void

    init(
      _ name: String, _ run: @escaping @Sendable (inout WriteTransaction, Ref<OldPost>) throws -> Void
    ) { (testDescription, self.run) = (name, run) }
  }

  private struct OldContent: Codable {
    var subject = "whole"
    var text = "text"
    var views = 2
    var labels: Set<String> = ["x"]
    var lines = ["first"]
    var table = ["key": "value"]
  }

  /// Every verb by which the older version edits a post.
  private static let edits: [Edit] = [
    Edit("set") { tx, post in tx[post].subject = "old" },
    Edit("set text") { tx, post in tx[post].text.set("some text") },
    Edit("edit text") { tx, post in
      tx[post].text.append("some text")
      tx[post].text.remove(0..<2)
      tx[post].text.insert("x", at: 1)
    },
    Edit("add") { tx, post in tx[post].views.add(3) },
    Edit("insert into set") { tx, post in
      tx[post].labels.insert("x")
      tx[post].labels.insert("y")
      tx[post].labels.remove("x")
    },
    Edit("set a set") { tx, post in tx[post].labels.set(["z"]) },
    Edit("edit list") { tx, post in
      tx[post].lines.append(contentsOf: ["a", "b", "c"])
      tx[post].lines.move(from: 0, to: 2)
      tx[post].lines.remove(at: 0)
    },
    Edit("put and remove") { tx, post in
      tx[post].table["key"] = "value"
      tx[post].table["other"] = "value"
      tx[post].table["key"] = nil
    },
    Edit("contribute") { tx, post in tx[post].marks.contribute(2) },
    Edit("update with a struct") { tx, post in try tx.update(post, with: OldContent()) },
    Edit("clear") { tx, post in
      tx[post].subject = "once"
      try tx.clear("subject", of: post.record)
    },
    Edit("delete and undo") { tx, post in try tx.delete(post) },
  ]

  @Test("stay as they are, whatever it does with the record")
  func everyVerb() async throws {
    let (old, new) = try (
      store("old", [OldPost.self], schema: 1), store("new", [Post.self, Tag.self], schema: 2)
    )
    let refs = Self.edits.indices.map { Ref<Post>(in: "blog", Name("post \($0)")) }
    try await new.write { tx in
      let tag = try tx.create(Tag.self, in: "blog", named: "tag")
      for ref in refs { try tx.create(Post.self, in: "blog", named: ref.name) { fill($0, tag) } }
    }
    try await sync(new, old)
    let before = try #require(Shown(try new.fetch(refs[0])))
    for (edit, ref) in zip(Self.edits, refs) {
      let post = Ref<OldPost>(ref.record)
      try await old.write { tx in try edit.run(&tx, post) }
      let position = try old.read { try $0.lastPosition() }
      if try old.fetch(post) == nil { try await old.undo(position) }
      #expect(try old.fetch(post) != nil, "\(edit.testDescription)")
    }
    try await sync(old, new)
    for (edit, ref) in zip(Self.edits, refs) {
      #expect(Shown(try new.fetch(ref)) == before, "\(edit.testDescription)")
    }
    #expect(try old.fetch(Ref<OldPost>(refs[0].record))?.subject == "old")
    #expect(try old.read { try $0.digest(of: "blog") } == new.read { try $0.digest(of: "blog") })
  }

  @Test(
    "stay as they are when it moves, rebuilds, compacts or forgets what was, also beside edits of the newer one"
  )
  func wholeStore() async throws {
    let (old, new) = try (
      store("old", [OldPost.self], schema: 1), store("new", [Post.self, Tag.self], schema: 2)
    )
    let (stays, moves) = (Ref<Post>(in: "blog", "stays"), Ref<Post>(in: "blog", "moves"))
    try await new.write { tx in
      let tag = try tx.create(Tag.self, in: "blog", named: "tag")
      for ref in [stays, moves] { try tx.create(Post.self, in: "blog", named: ref.name) { fill($0, tag) } }
      // A record that is moved takes references within its zone along, to another zone.
      tx[moves].author = nil
      tx[moves].tags.remove(tag)
    }
    try await sync(new, old)
    var expected = try #require(Shown(try new.fetch(stays)))
    let moved = try #require(Shown(try new.fetch(moves)))
    // Both at once.
    try await new.write { tx in
      tx[stays].body.append(" goes on")
      tx[stays].items.append(Item(text: "three"))
      tx[stays].rank = 4
    }
    expected.body += " goes on"
    expected.items.append(Item(text: "three"))
    expected.registers[2] = "\(String(describing: Optional(4)))"
    let oldStays = Ref<OldPost>(stays.record)
    try await old.write { tx in
      try tx.update(oldStays, with: OldContent())
      _ = try tx.move(Ref<OldPost>(moves.record), to: "archive")
    }
    try await sync(old, new)
    _ = try await old.local.rebuild()
    try await old.local.compact("blog", keeping: CompactionPolicy(millisecondsMax: 0, horizonMilliseconds: 0))
    try await sync(old, new)
    try await old.local.retireHistory(of: "blog")
    _ = try await old.local.reclaim()
    try await old.write { tx in tx[oldStays].subject = "after all that" }
    try await sync(old, new)
    #expect(Shown(try new.fetch(stays)) == expected)
    #expect(Shown(try new.fetch(Ref<Post>(in: "archive", "moves"))) == moved)

    // The older app is updated: its own store shows all of it.
    old.close()
    let updated = try store("old", [Post.self, Tag.self], schema: 2)
    #expect(Shown(try updated.fetch(stays)) == expected)
    #expect(Shown(try updated.fetch(Ref<Post>(in: "archive", "moves"))) == moved)
    #expect(try updated.local.verify().problems == [])
  }
}
