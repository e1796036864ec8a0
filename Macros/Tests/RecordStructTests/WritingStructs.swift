import Foundation
import RecordMacro
import Testing
import Tributary

@Suite("A struct with @Record is written and read")
struct WritingStructs {
  private func withStore<R>(
    _ models: [any Model.Type] = [Person.Fields.self, Post.Fields.self],
    _ body: (Store) async throws -> R
  ) async throws -> R {
    try await withDirectory { directory in
      let store = try Store(directory, .consistent, models: models, zones: [.local("blog")])
      defer { store.close() }
      return try await body(store)
    }
  }

  private func withDirectory<R>(_ body: (String) async throws -> R) async throws -> R {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("record-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    return try await body(directory.path + "/store")
  }

  @Test("with a property of each kind: what is read is what was written")
  func eachKind() async throws {
    try await withStore { store in
      var written = Post("Hello", code: "A1")
      (written.rank, written.mood, written.draft) = (3, .busy, Line(text: "a", isDone: true))
      (written.first, written.default, written.likes, written.body) = (Line(text: "b"), true, 5, "Some text")
      (written.tags, written.lines) = (["x", "y"], [Line(text: "c"), Line(text: "d"), Line(text: "c")])
      written.roles = ["driver": 1, "cook": 2]
      written.photo = try await store.local.importAsset(bytes: [1, 2, 3])

      let (ann, post, values) = try await store.write { [written] tx in
        var written = written
        let ann = try tx.create(Person(name: "Ann"), in: "blog", named: "ann")
        (written.author, written.readers) = (ann, [ann])
        let post = try tx.create(written, in: "blog")
        try tx.update(ann, with: Person(name: "Ann", favorite: post))
        return (ann, post, written)
      }
      #expect(ann.name == "ann")
      var expected = values
      expected.id = post
      let row = try #require(try store.fetch(post))
      #expect(try row.decode(Post.self) == expected)
      let json = try JSONEncoder().encode(expected)
      #expect(try JSONDecoder().decode(Post.self, from: json) == expected)
      #expect(row.headline == "Hello")
      #expect(row.lines.map(\.text) == ["c", "d", "c"])
      #expect(try store.fetch(ann)?.decode(Person.self) == Person(name: "Ann", favorite: post))

      try await store.write { tx in tx[post].balance.add(DecimalNumber("1.5")!) }
      expected.balance = 1.5
      #expect(try store.fetch(post)?.decode(Post.self) == expected)

      var changed = expected
      (changed.headline, changed.rank, changed.draft, changed.likes) = ("Bye", nil, nil, 4)
      (changed.body, changed.tags, changed.roles) = ("Some other text", ["y", "z"], ["cook": 3])
      changed.lines.remove(at: 1)
      changed.lines[0].isDone = true
      try await store.write { [changed] tx in try tx.update(post, with: changed) }
      #expect(try store.fetch(post)?.decode(Post.self) == changed)
      #expect(try store.fetch(ann)?.name == "Ann")
    }
  }

  @Test("with nothing but defaults")
  func defaults() async throws {
    try await withStore { store in
      let post = try await store.write { tx in try tx.create(Post.Fields.self, in: "blog") }
      let read = try #require(try store.fetch(post)).decode(Post.self)
      #expect(read.headline == "untitled")
      #expect(read.date == Date(timeIntervalSince1970: 0))
      #expect(read.mood == .calm)
      #expect(read.first == Line(text: "none"))
      #expect((read.rank, read.likes, read.tags, read.lines) == (nil, 0, [], []))
    }
  }

  @Test("and found by its fields, with its indexes")
  func queries() async throws {
    try await withStore { store in
      let ann = try await store.write { tx in
        let ann = try tx.create(Person(name: "Ann"), in: "blog")
        for number in 1...4 {
          var post = Post("Post \(number)", code: "\(number)")
          post.tags = number.isMultiple(of: 2) ? ["even"] : []
          post.author = number > 1 ? ann : nil
          post.date = Date(timeIntervalSince1970: Double(number))
          try tx.create(post, in: "blog")
        }
        return ann
      }
      #expect(try store.count(Post.all) == 4)
      let even = Post.where { $0.tags.contains("even") }.sorted(by: \.headline, .reverse)
      #expect(try store.fetch(even).map { try $0.decode(Post.self).code } == ["4", "2"])
      let named = Post.where { $0.author.name == "Ann" && $0.headline != "Post 2" }
      #expect(try store.fetch(named.sorted(by: \.code)).map(\.code) == ["3", "4"])

      let newest = Post.where { $0.author == ann }.sorted(by: \.date, .reverse)
      #expect(try store.fetch(newest).map(\.code) == ["4", "3", "2"])
      #expect(try "\(store.explain(newest))".contains("author, date desc"))
      #expect(try "\(store.explain(Post.where { $0.headline == "Post 1" }))".contains("post: head"))
      #expect(try "\(store.explain(even))".contains("post: tags"))
    }
  }

  @Test("under the stored names that it chooses")
  func storedNames() async throws {
    try await withStore { store in
      let post = try await store.write { tx in
        let post = try tx.create(Post("Hello", code: "A"), in: "blog")
        let old = try tx.create(Post.Fields.self, in: "blog")
        try tx.set("day", of: old.record, to: .date(microseconds: 5_000_000))
        #expect(try tx.fetch(old)?.date == Date(timeIntervalSince1970: 5))
        return post
      }
      let record = try #require(try store.read { try $0.record(post.record) })
      #expect(record.type == "post")
      #expect(record["head"] == .string("Hello"))
      #expect(record["headline"] == nil)
      #expect(record["default"] == nil, "what the default shows is not stored")
    }
  }

  @Test("with fields that merge where a former version had one value")
  func formerVersion() async throws {
    try await withDirectory { directory in
      let former = try Store(
        directory, .consistent, models: [FormerTally.Fields.self], zones: [.local("blog")])
      let old = try await former.write { tx in
        try tx.create(FormerTally(count: 5, words: ["a", "b"]), in: "blog")
      }
      former.close()

      let store = try Store(directory, .consistent, models: [Tally.Fields.self], zones: [.local("blog")])
      defer { store.close() }
      let tally = Ref<Tally.Fields>(old.record)
      try await store.write { tx in
        tx[tally].total.add(2)
        tx[tally].words.insert("c")
      }
      let read = try #require(try store.fetch(tally)).decode(Tally.self)
      #expect(read.total == 7)
      #expect(read.words == ["a", "b", "c"])
    }
  }

  @Test("public with private properties")
  func publicStruct() async throws {
    try await withStore([PublicPage.Fields.self, Nested.Leaf.Fields.self]) { store in
      let page = try await store.write { tx in
        try tx.create(Nested.Leaf(size: 2), in: "blog")
        return try tx.create(PublicPage(title: "Home"), in: "blog")
      }
      #expect(try store.fetch(page)?.decode(PublicPage.self) == PublicPage(title: "Home"))
      #expect(try store.count(PublicPage.visited(0)) == 1)
      #expect(try store.first(Nested.Leaf.all)?.size == 2)
    }
  }

  @Test("but a decimal counter begins at 0")
  func decimalCounter() async throws {
    try await withStore { store in
      let error = await #expect(throws: StoreError.self) {
        try await store.write { tx in
          var post = Post("Hello", code: "A")
          post.balance = 1.5
          try tx.create(post, in: "blog")
        }
      }
      #expect(error?.code == .valueInvalid)
      let count = try store.count(Post.all)
      #expect(count == 0)
    }
  }
}

@Suite("The example of the page")
struct TheReadme {
  @Test("works")
  func works() async throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("trip-\(UUID())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let trips = try await planTrip(in: directory.path + "/store")
    #expect(trips.map(\.title) == ["Lisbon"])
    #expect(trips.map(\.likes) == [1])
    #expect(trips.first?.stops == [Stop(place: "Belém")])
    #expect(trips.first?.tags == ["sea"])
    #expect(trips.first?.isLong == false)
  }

  @Test("is the code that is compiled here")
  func isTheCode() throws {
    var root = URL(fileURLWithPath: #filePath)
    root.deleteLastPathComponent()
    let source = try String(contentsOf: root.appendingPathComponent("Trip.swift"), encoding: .utf8)
    for _ in 0..<2 { root.deleteLastPathComponent() }
    let page = try String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)
    let passages = source.split(separator: "// page\n").map {
      String($0.split(separator: "// page end\n")[0])
    }
    #expect(passages.count == 2)
    for passage in passages { #expect(page.contains("```swift\n\(passage)```\n")) }
  }
}
