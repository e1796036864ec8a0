import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Pages of references")
struct PagesOfReferences {
  let tool = Tool()
  let temporary = TemporaryDirectory()
  private static let zone = ZoneID(name: "travel")

  private func record(_ name: Name) -> RecordID { RecordID(zone: Self.zone, name: name) }

  /// A deleted post, its attachment, and a list in another zone that refers to it.
  private func makeStore() async throws -> String {
    let path = temporary.path + "/store"
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    defer { store.close() }
    let other = ZoneID(name: "lists")
    try await store.write { tx in
      try tx.createZone(Self.zone)
      try tx.createZone(other)
      try tx.create(record("post"), type: "post")
      let post = Reference(record: "post", rule: .cascade)
      try tx.create(record("photo"), type: "attachment", fields: ["of": .reference(post)])
      let best = RecordID(zone: other, name: "best")
      try tx.create(best, type: "list")
      try tx.insert(.reference(Reference(zone: Self.zone, record: "post")), into: "posts", of: best)
    }
    return path
  }

  private func delete(_ path: String) async throws {
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    defer { store.close() }
    try await store.write { try $0.delete(record("post")) }
  }

  @Test("holders are listed, of all zones or of one")
  func holders() async throws {
    let path = try await makeStore()
    let all = await tool.run(["holders", path, "travel:post"])
    #expect(all.exit == 0)
    #expect(all.output == "lists:best    posts  set       none\ntravel:photo  of     register  cascade\n")
    let one = await tool.run(["holders", path, "travel:post", "--zone", "lists", "--json"])
    #expect(
      one.output
        == #"{"field":"posts","kind":"set","record":"lists:best","rule":"none","target":"travel:post"}"#
        + "\n")
    let none = await tool.run(["holders", path, "travel:photo"])
    #expect(none.exit == 0 && none.output == "nothing refers to it\n")
    let wrong = await tool.run(["holders", path, "travel:post", "--zone", "nowhere"])
    #expect(wrong.exit == 2 && wrong.errors.contains("nowhere"))
  }

  @Test("holders of a record that moved are listed with what they name")
  func holdersOfMoved() async throws {
    let path = try await makeStore()
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    try await store.write { _ = try $0.move(record("post"), to: ZoneID(name: "lists")) }
    store.close()
    let found = await tool.run(["holders", path, "lists:post"])
    #expect(
      found.output == """
        lists:best    posts  set       none     as travel:post
        travel:photo  of     register  cascade  as travel:post

        """, "\(found)")
  }

  @Test("a hidden record is shown with the record that hides it")
  func hidden() async throws {
    let path = try await makeStore()
    try await delete(path)
    let state = await tool.run(["state", path, "travel", "--hidden"])
    #expect(state.output.contains("travel:photo  hidden with travel:post\n  of"))
    #expect(state.output.contains("travel:post  deleted at"))
    let lines = await tool.run(["state", path, "travel", "--hidden", "--json"]).lines
    #expect(lines.filter { $0.contains(#""hiddenWith":"travel:post""#) }.count == 1)
    let alone = await tool.run(["state", path, "travel:photo"])
    #expect(alone.exit == 2)
    #expect(alone.errors.contains("is hidden: cascades lead from it to travel:post, which is not there"))
    for arguments in [[], ["--existence"], ["of"]] {
      let told = await tool.run(["explain", path, "travel:photo"] + arguments)
      #expect(told.exit == 0)
      #expect(
        told.output.contains("is hidden: cascades lead from it to travel:post, which is not there"),
        "\(told.output)")
    }
    let json = await tool.run(["explain", path, "travel:photo", "--json"])
    #expect(json.output.contains(#""hiddenWith":"travel:post","isVisible":false"#))
    let holders = await tool.run(["holders", path, "travel:post"])
    #expect(holders.output == "lists:best  posts  set  none\n")
  }

  @Test("the explanation of a reference that reads as missing says so")
  func nullified() async throws {
    let path = temporary.path + "/nullified"
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    try await store.write { tx in
      try tx.createZone(Self.zone)
      let post = Value.reference(Reference(record: "post", rule: .nullify))
      try tx.create(record("post"), type: "post")
      try tx.create(record("tag"), type: "tag", fields: ["post": post])
      try tx.insertElements([post], at: 0, in: "posts", of: record("tag"))
    }
    store.close()
    let before = await tool.run(["explain", path, "travel:tag", "post"])
    #expect(before.exit == 0 && !before.output.contains("missing"), "\(before)")
    let reopened = try ShoppingStore.open(path, TestClock(ShoppingStore.start))
    try await reopened.write { try $0.delete(record("post")) }
    reopened.close()
    for field in ["post", "posts"] {
      let told = await tool.run(["explain", path, "travel:tag", field])
      #expect(told.output.contains("It reads as missing: travel:post is not there."), "\(told)")
      let json = await tool.run(["explain", path, "travel:tag", field, "--json"])
      #expect(json.output.contains(#""readsAsMissing":["travel:post"]"#), "\(json)")
    }
    let short = await tool.run(["explain", path, "travel:tag"])
    #expect(short.lines.filter { $0.contains(", reads as missing") }.count == 2, "\(short)")
  }
}
