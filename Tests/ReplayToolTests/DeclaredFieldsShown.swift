import EventStore
import Foundation
import Models
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

private struct Tag: Model {
  static let type: Name = "tag"
  let title = Field<String>("title")
}

private struct Post: Model {
  static let type: Name = "post"
  struct Item: Codable, Hashable, Sendable {
    var text: String
    var done = false
  }
  let headline = Field<String>("headline", formerly: "title", default: "untitled").indexed
  let mood = Field<String>("mood", default: "serene")
  let rank = Field<Int>("rank").indexed
  let price = Field<Double>("price").indexed
  let likes = CounterField("likes")
  let votes = CounterField("votes", startingAt: "votes")
  let body = ProseField("body")
  let tags = SetField<Ref<Tag>>("tags", .nullify).indexed
  let checklist = ListField<Item>("checklist").mergingMembers.indexed
}

@Suite("Fields that the app declares")
struct DeclaredFieldsShown {
  let tool = Tool()
  let temporary = TemporaryDirectory()
  private var path: String { temporary.path + "/store" }

  /// A store with two posts and a tag. Another app has written a register under the name of each merging field.
  private func makeStore() async throws {
    var configuration = StoreConfiguration()
    configuration.isUnsynced = true
    configuration.wallMilliseconds = { ShoppingStore.start }
    let store = try Store(
      path, .consistent, models: [Post.self, Tag.self], zones: [.local("blog")], author: "ann",
      configuration: configuration)
    let tag = Ref<Tag>(RecordID(zone: "blog", name: "swift"))
    let post = Ref<Post>(RecordID(zone: "blog", name: "a"))
    try await store.write { tx in
      try tx.create(tag.record, type: Tag.type, fields: ["title": "Swift"])
      try tx.create(post.record, type: Post.type, fields: ["title": "First", "rank": 3])
      try tx.create(RecordID(zone: "blog", name: "b"), type: Post.type, fields: ["headline": "Other"])
      tx[post].likes.add(4)
      tx[post].votes.add(2)
      tx[post].body.insert("Hello", at: 0)
      tx[post].tags.insert(tag)
      tx[post].checklist.append(contentsOf: [Post.Item(text: "old"), Post.Item(text: "stays")])
    }
    let first = try #require(try store.fetch(post)?.checklist.first?.id)
    try await store.write { tx in
      tx[post].checklist[id: first]?.text = "new"
      tx[post].checklist[id: first]?.done = true
    }
    store.close()
    configuration.fieldKinds = [:]
    let other = try LocalStore(directory: path, durability: .consistent, configuration: configuration)
    try await other.write { tx in
      for field in ["likes", "votes", "body", "tags"] as [Name] { try tx.set(field, of: post.record, to: 10) }
      try tx.set("color", of: post.record, to: "red")
    }
    other.close()
  }

  @Test("are shown as their kinds show them, with what else is stored beside them")
  func state() async throws {
    try await makeStore()
    let state = await tool.run("state", path, "blog:a")
    let lines = state.lines.map { $0.split(separator: " ").joined(separator: " ") }
    #expect(
      lines == [
        "blog:a post", "body \"Hello\" also register 10",
        #"checklist [["done": true, "text": "new"], ["done": false, "text": "stays"]]"#, "color \"red\"",
        "headline \"First\"", "likes 4 also register 10", "rank 3",
        "tags [→ swift (nullify)] also register 10", "title \"First\"", "votes 12 also register 10", "",
      ], "\(state.output)")
    let json = await tool.run("state", path, "blog:a", "--json")
    #expect(
      json.output.contains(
        #"{"array":[{"map":{"done":true,"text":"new"}},{"map":{"done":false,"text":"stays"}}]}"#),
      "\(json.output)")
    #expect(json.output.contains(#""likes":{"register":10}"#), "\(json.output)")
    let past = await tool.run("state", path, "blog:a", "--at", "1")
    #expect(past.output.contains(#"[["done": false, "text": "old"], "#), "\(past)")
  }

  @Test("are asked for as the app asks for them, with its indexes")
  func queries() async throws {
    try await makeStore()
    func names(_ query: String) async -> String {
      let run = await tool.run(["query", path, query])
      #expect(run.exit == 0 && run.errors == "", "\(query): \(run.errors)")
      return run.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }.compactMap {
        $0.split(separator: ":").dropFirst().first?.prefix { $0.isLetter }
      }.joined(separator: " ")
    }
    for (query, expected) in [
      (#"post where checklist has (text = "new" and done = true)"#, "a"),
      (#"post where not checklist has (text = "old")"#, "a b"),
      (#"post where headline = "First""#, "a"), ("post where likes = 4", "a"),
      ("post where votes = 12", "a"), (#"post where body = "Hello""#, "a"),
      (#"post where body contains "ell""#, "a"), ("post where tags contains @blog:swift", "a"),
      ("post where likes = 0", "b"), ("post order by headline", "a b"), ("* where likes = 4", "a"),
      ("post where rank < 3.5 and price < 0.5", "a b"), ("post where rank = 3.5", ""),
      ("post where rank != 3.5", "a b"), ("post where price = 0", "a b"),
      ("post where price in (0, 1)", "a b"),
      ("post where headline = null or rank = null", "b"), ("post where rank in (1, 3)", "a"),
    ] {
      #expect(await names(query) == expected, "\(query)")
    }
    for (query, plan) in [
      ("post where tags contains @blog:swift", "tags contains → blog:swift"),
      (#"post where headline = "First""#, #"headline = "First""#),
      ("post where rank = 3", "rank = 3"), ("post where rank in (3, 4.5)", "rank in [3]"),
      ("post where rank > 2", "rank > 2"), ("post where rank > 2.5", "rank >= 3"),
      ("post where price < 3 and price > -1.5", "price < 3.0 and price > -1.5"),
    ] {
      let run = await tool.run("query", path, query, "--explain")
      #expect(run.output.hasPrefix("index “") && run.lines[0].hasSuffix(": \(plan)"), "\(run)")
      #expect(run.lines.count == 2, "\(run)")
    }
  }

  @Test("explain names a list once, with its elements as they are now")
  func explain() async throws {
    try await makeStore()
    let all = await tool.run("explain", path, "blog:a")
    #expect(all.lines.filter { $0.contains("checklist") }.count == 1, "\(all.output)")
    let lines = all.lines.map { $0.split(separator: " ").joined(separator: " ") }
    let place = try #require(lines.firstIndex { $0.hasPrefix("checklist") })
    #expect(lines[place].hasPrefix(#"checklist ["done": true, "text": "new"] ann"#), "\(all.output)")
    #expect(lines[place + 1].hasPrefix("done = true ann"), "\(all.output)")
    #expect(lines[place + 2].hasPrefix(#"text = "new" ann"#), "\(all.output)")
    #expect(lines[place + 3].hasPrefix(#"["done": false, "text": "stays"] ann"#), "\(all.output)")
    #expect(lines.contains { $0.hasPrefix("also register 10") }, "\(all.output)")
    let one = await tool.run("explain", path, "blog:a", "checklist")
    #expect(one.output.contains(#"["done": true, "text": "new"]"#), "\(one.output)")
    #expect(!one.output.contains("#"), "\(one.output)")
    let member = #"  ["done": true, "text": "new"]  done = true     ann"#
    #expect(one.lines.contains { $0.hasPrefix(member) }, "\(one.output)")
    let counter = await tool.run("explain", path, "blog:a", "likes")
    #expect(counter.output.contains("4 is the sum of 1 addend"), "\(counter.output)")
    for arguments in [["explain", path, "blog:a"], ["explain", path, "blog:a", "checklist"]] {
      let json = await tool.run(arguments + ["--json"])
      #expect(json.output.contains(#""merged":{"map":{"done":true,"text":"new"}}"#), "\(json.output)")
      #expect(json.output.contains(#""members":{"#), "\(json.output)")
    }
  }

  @Test("the schema says what is declared, and what is stored of other kinds")
  func schema() async throws {
    try await makeStore()
    let run = await tool.run("schema", path)
    let lines = run.lines.map { $0.split(separator: " ").joined(separator: " ") }
    for line in [
      "checklist list, members merge 1 map 2", "color register, not declared 1 string 1",
      "likes counter, also register 1 1 int 2", "headline register 1 string 1",
      "title register, former name of headline 1 string 1",
    ] {
      #expect(lines.contains(line), "\(line): \(run.output)")
    }
    let json = await tool.run("schema", path, "--json")
    #expect(
      json.output.contains(#""declared":{"formerNames":[],"kind":"list","mergesMembers":true}"#),
      "\(json.output)")
  }

  @Test("a query that cannot find anything says why")
  func hints() async throws {
    try await makeStore()
    for (query, hint) in [
      ("posts where x = 1", "no record has the type “posts”; the store has post, tag"),
      (
        "post where nofield = 1",
        "no record of the type “post” has the field “nofield”; they have body, checklist, color, headline, likes, "
          + "mood, price, rank, tags, title, votes"
      ),
      (#"post where rank = "three""#, "“rank” has a number in all records, never a text"),
      (#"post where likes = "four""#, "“likes” is a counter: it is compared with a number, not with a text"),
      (
        "post where tags = @blog:swift",
        "“tags” is a set, of which = and < compare the count: ask for an element with contains, or has ( ) for a "
          + "condition"
      ),
      (#"color where rank = 1"#, "no record has the type “color”; the store has post, tag"),
    ] {
      let run = await tool.run("query", path, query)
      #expect(run.exit == 0 && run.output == "no records\n" && run.errors == "hint: \(hint)\n", "\(run)")
      let count = await tool.run("query", path, query, "--count", "--json")
      #expect(
        count.output == #"{"hints":["\#(hint)"],"records":0}"# + "\n", "\(count)")
      let json = await tool.run("query", path, query, "--json")
      #expect(json.output == "" && json.errors.hasPrefix(#"{"hints":["#), "\(json)")
    }
    for query in ["post where rank = 4", "post where rank = 3", "post", "* where .name = \"x\""] {
      let run = await tool.run("query", path, query)
      #expect(run.exit == 0 && run.errors == "", "\(query): \(run)")
    }
  }

  @Test("a damaged row of them is an error that says what to do; the app's next opening replaces it")
  func damage() async throws {
    try await makeStore()
    let file = URL(fileURLWithPath: path + "/data.mdb")
    var data = try Data(contentsOf: file)
    // The default of a field without an index stands in this row alone.
    while let range = data.range(of: Data("serene".utf8)) { data[range.lowerBound] ^= 1 }
    try data.write(to: file)
    for arguments in [["state"], ["schema"], ["query", "post"], ["explain", "blog:a"]] {
      let run = await tool.run([arguments[0], path] + arguments.dropFirst())
      #expect(run.exit == 3 && run.errors.contains("the row “kinds”"), "\(run)")
      #expect(run.errors.contains("open the store once with its app"), "\(run)")
    }
    let verified = await tool.run("verify", path)
    #expect(verified.exit == 1 && verified.output.contains("the row “kinds”"), "\(verified)")
    try Store(path, .consistent, models: [Post.self, Tag.self]).close()
    #expect(await tool.run("verify", path).exit == 0)
    #expect(await tool.run("state", path).exit == 0)
  }
}
