import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Queries in text")
struct QueryCommands {
  let tool = Tool()
  let temporary = TemporaryDirectory()

  private func makeStore() async throws -> String {
    let path = temporary.path + "/store"
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    defer { store.close() }
    let (blog, drafts) = (ZoneID(name: "blog"), ZoneID(name: "drafts"))
    func post(_ zone: ZoneID, _ name: Name, _ fields: [Name: Value]) -> (RecordID, [Name: Value]) {
      (RecordID(zone: zone, name: name), fields)
    }
    let posts = [
      post(blog, "a", ["date": .date(microseconds: 1_767_225_600_000_000), "rank": 3, "title": "Ähre"]),
      post(
        blog, "b", ["date": .date(microseconds: 1_772_323_200_000_000), "rank": .double(1.5), "by": .null]),
      post(
        drafts, "c",
        [
          "rank": .int(-2), "draft": .map(["text": "x", "done": true]), "title": "say \"hi\"",
          "odd name": true,
        ]),
    ]
    try await store.write { tx in
      for zone in [blog, drafts] { try tx.createZone(zone) }
      let ann = RecordID(zone: blog, name: "ann")
      try tx.create(ann, type: "person", fields: ["name": "Ann"])
      for (id, fields) in posts { try tx.create(id, type: "post", fields: fields) }
      try tx.set("by", of: posts[0].0, to: .reference(Reference(record: "ann")))
      try tx.set("by", of: posts[2].0, to: .reference(Reference(zone: blog, record: "ann", rule: .nullify)))
      try tx.insert("swift", into: "tags", of: posts[0].0)
      try tx.insertElements([.map(["done": false]), 7], at: 0, in: "items", of: posts[1].0)
      try tx.put(5, at: "k", in: "map", of: posts[1].0)
      try tx.add(4, to: "likes", of: posts[1].0)
    }
    return path
  }

  @Test("show the records that fulfil a condition, in an order")
  func conditions() async throws {
    let path = try await makeStore()
    func names(_ query: String) async -> String {
      let run = await tool.run(["query", path, query])
      #expect(run.exit == 0, "\(query): \(run.errors)")
      return run.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }.compactMap {
        $0.split(separator: ":").dropFirst().first?.prefix { $0.isLetter }
      }.joined(separator: " ")
    }
    for (query, expected) in [
      ("*", "a ann b c"), ("post", "a b c"), ("post in blog", "a b"), ("post in blog, drafts limit 1", "a"),
      ("post where date > 2026-01-01", "b"), ("post where date >= 2026-01-01T00:00Z", "a b"),
      ("post where rank = 3 or rank = 1.5", "a b"), ("post where rank != 3", "b c"),
      ("post where rank < 0", "c"),
      ("post where rank between 0 and 9 order by rank desc", "b a"),
      ("post where rank > 1.4", "a b"), ("post where rank >= 3.0", "a"), ("post where rank < 2.5", "b c"),
      ("post where rank <= 2.5", "b c"), ("post where rank = 3.0", "a"), ("post where rank != 3.0", "b c"),
      ("post where rank in (3.0, 1.5)", "a b"), ("post where rank between -2.5 and 1.75", "b c"),
      ("post where rank > -2.5", "a b c"), ("post where rank >= -1.5", "a b"),
      ("post where likes > 3.5", "b"),
      ("post where rank < 99999999999999999999", "a b c"), ("post where rank > 99999999999999999999", ""),
      ("post where rank > -99999999999999999999", "a b c"), ("post where rank < -99999999999999999999", ""),
      ("post order by title desc, rank", "a c b"), ("POST WHERE rank = 1", ""),
      ("post where tags contains \"swift\"", "a"), ("post where title contains \"hr\"", "a"),
      ("post where title starts with \"Ä\" and not rank in (1, 2)", "a"),
      ("post where title ends with \"\\\"hi\\\"\"", "c"),
      ("post where by.name = \"Ann\" order by .name desc", "c a"),
      ("post where by = @blog:ann", "a c"), ("post where by = null", "b"),
      ("post where draft:text = \"x\" and draft:done = true", "c"), ("post where `odd name` = true", "c"),
      ("post where items has (done = false)", "b"), ("post where items has (element > 6)", "b"),
      ("post where map contains \"k\" and likes >= 4", "b"), ("* where .name starts with \"a\"", "a ann"),
    ] {
      #expect(await names(query).lowercased() == expected, "\(query)")
    }
    let counted = await tool.run(["query", path, "post where rank > 0", "--count"])
    #expect(counted.output == "2\n")
    let json = await tool.run(["query", path, "post where rank = 3", "--json"])
    #expect(json.output.hasPrefix(#"{"fields":{"by":"#) && json.output.hasSuffix("}\n"))
    let none = await tool.run(["query", path, "nothing"])
    #expect(none.exit == 0 && none.output == "no records\n")
  }

  @Test("and the schema shows what records have")
  func schema() async throws {
    let path = try await makeStore()
    let text = await tool.run(["schema", path])
    #expect(text.exit == 0)
    let lines = text.output.split(separator: "\n").map { $0.split(separator: " ").joined(separator: " ") }
    for line in [
      "person 1 record", "name register 1 string 1", "by register 3 reference 1, reference, nullify 1",
      "rank register 3 int 2, double 1", "likes counter 1 int 1", "tags set 1 string 1",
      "items list 1 int 1, map 1", "map map 1 int 1",
    ] {
      #expect(lines.contains(line), "\(line)")
    }
    let json = await tool.run(["schema", path, "--json", "--zone", "drafts"])
    #expect(
      json.output.hasPrefix(#"{"fields":{"by":{"kinds":{"register":1},"values":{"reference, nullify":1}}"#))
    #expect(json.output.contains(#""indexes":[]"#) && json.output.hasSuffix("\n"))
    #expect(json.output.split(separator: "\n").count == 1)
    let none = await tool.run(["schema", path, "--zone", "nowhere"])
    #expect(none.exit == 2)
  }

  @Test("say how they are run")
  func explained() async throws {
    let path = try await makeStore()
    let plan = await tool.run(["query", path, "post where rank > 0 order by title desc limit 2", "--explain"])
    #expect(
      plan.output == """
        scan all records of blog, drafts
        filter: (rank > 0) or (rank > 0.0)
        sort: title desc

        """)
    let reference = await tool.run(["query", path, "post where tags contains @blog:ann", "--explain"])
    #expect(reference.lines[1] == "filter: tags contains → blog:ann", "\(reference.output)")
    let json = await tool.run(["query", path, "post where title = \"a\"", "--explain", "--json"])
    #expect(json.output == #"{"filter":"title = \"a\"","sort":[],"zones":["blog","drafts"]}"# + "\n")
  }

  @Test("that find nothing say what no record has")
  func hints() async throws {
    let path = try await makeStore()
    for (query, hint) in [
      ("posts where x = 1", "no record has the type “posts”; the store has person, post"),
      (
        "post where nofield = 1",
        "no record of the type “post” has the field “nofield”; they have by, date, draft, items, likes, map, "
          + "odd name, rank, tags, title"
      ),
      ("post where rank = \"x\"", "“rank” has a number in all records, never a text"),
      ("* where nofield = 1", "no record has the field “nofield”"),
    ] {
      let run = await tool.run("query", path, query)
      #expect(run.exit == 0 && run.output == "no records\n" && run.errors == "hint: \(hint)\n", "\(run)")
    }
    let explained = await tool.run("query", path, "posts where rank = 1", "--explain", "--json")
    #expect(explained.output.contains(#""hints":["no record has the type “posts”"#), "\(explained)")
    for query in ["post where rank = 4", "post where rank > 2", "post where not nothere = 1"] {
      let run = await tool.run("query", path, query)
      #expect(run.errors.isEmpty == !query.contains("nothere"), "\(run)")
    }
  }

  @Test("that cannot be read say where, and what was expected")
  func refused() async throws {
    let path = try await makeStore()
    for (query, column, expected) in [
      ("", 1, "a type of records"), ("post where", 11, "a field"), ("post where rank", 16, "="),
      ("post where rank =", 18, "a value"), ("post where rank = x", 19, "a value"),
      ("post where (rank = 1", 21, ")"), ("post order rank", 12, "by"), ("post limit -1", 12, "a count"),
      ("post limit 1 where a = 1", 14, "the end"), ("post where a = \"x", 16, "ends with"),
      ("post where a starts \"x\"", 21, "with"), ("post where a starts with 1", 27, "a text"),
      ("post where a in 1", 17, "("), ("post where a between 1 or 2", 24, "and"),
      ("post in @a/b/c", 9, "a zone"),
      ("post where .size = 1", 13, ".name"),
      ("post limit 2 where a = 1", 14, "the end"), ("post where a == 1", 14, "=, !="),
      ("post where " + String(repeating: "(", count: 70), 76, "at most 64"),
    ] as [(String, Int, String)] {
      let run = await tool.run(["query", path, query])
      #expect(run.exit == 2 && run.output.isEmpty, "\(query)")
      #expect(
        run.errors.contains("column \(column)") && run.errors.contains(expected), "\(query): \(run.errors)")
    }
    let zone = await tool.run(["query", path, "post in nowhere"])
    #expect(zone.exit == 2 && zone.errors.contains("nowhere"))
  }

  @Test("in random text are read or refused", arguments: 0..<5)
  func random(seed: UInt64) {
    var random = SeededRandom(seed: seed)
    let parts = [
      "post", "*", "in", "where", "and", "or", "not", "(", ")", "=", "<", ">=", "!", "\"", "`", "\\", "@",
      ":", ".", ",",
      "1", "-", "2026-01-01", "null", "contains", "has", "order", "by", "limit", "between", " ", "é", "\u{0}",
    ]
    for _ in 0..<400 {
      let text = (0..<Int.random(in: 0..<12, using: &random)).map { _ in parts.randomElement(using: &random)!
      }
      do {
        _ = try QueryText.parse(text.joined(separator: Bool.random(using: &random) ? " " : ""))
      } catch {
        #expect(error.column > 0 && !error.expected.isEmpty)
      }
    }
  }
}
