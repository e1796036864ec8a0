import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Emptied and hidden values are reported")
struct EmptiedAndHidden {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  private let record = RecordID(zone: ZoneID(name: "z"), name: "a")
  private var path: String { temporary.path + "/store" }

  private func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) async throws {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    try await store.write { tx in
      try tx.createZone(ZoneID(name: "z"))
      try body(&tx)
    }
  }

  private func fill() async throws {
    let record = record
    try await write { tx in
      try tx.create(record, type: "note", fields: ["title": "Title"])
      try tx.insertText("the body", at: 0, in: "body", of: record)
      try tx.insertElements(["x", "y"], at: 0, in: "items", of: record)
      try tx.add(3, to: "likes", of: record)
      try tx.contribute(5, to: "stars", of: record)
    }
  }

  @Test("an emptied text or list is reported as empty, with the change that emptied it")
  func emptied() async throws {
    try await fill()
    let record = record
    try await write { tx in
      try tx.removeText(0..<8, from: "body", of: record)
      try tx.removeElements(0..<2, from: "items", of: record)
    }
    for (field, what) in [("body", "removed 8 characters"), ("items", "removed 2 elements")] {
      let told = await tool.run("explain", path, "z:a", field)
      #expect(told.exit == 0 && told.output.contains("It is empty: all that was inserted was removed."))
      #expect(told.output.contains(what), "\(told.output)")
      let json = await tool.run("explain", path, "z:a", field, "--json")
      #expect(json.output.contains(#""heads":[]"#) && json.output.contains(#""kind":"removed""#))
    }
    let all = await tool.run("explain", path, "z:a")
    #expect(all.lines.filter { $0.contains("is empty") }.count == 2, "\(all.output)")
    let state = await tool.run("state", path, "z:a", "--json")
    #expect(!state.output.contains("body") && !state.output.contains("items"))
    let nothing = await tool.run("explain", path, "z:a", "none")
    #expect(nothing.exit == 2 && nothing.errors.contains("has no field “none”"))
  }

  @Test("a removed element or key is explained, also the last one", arguments: [false, true])
  func removedElements(isLast: Bool) async throws {
    let record = record
    try await write { tx in
      try tx.create(record, type: "note")
      try tx.insert("shop", into: "tags", of: record)
      try tx.put(1, at: "shop", in: "map", of: record)
      if !isLast {
        try tx.insert("home", into: "tags", of: record)
        try tx.put(2, at: "home", in: "map", of: record)
      }
    }
    try await write { tx in
      try tx.remove("shop", from: "tags", of: record)
      try tx.removeValue(at: "shop", from: "map", of: record)
    }
    for field in ["tags", "map"] {
      let one = await tool.run("explain", path, "z:a", field, "--element", "shop")
      #expect(one.exit == 0 && one.output.contains("It is not there: it was removed."), "\(one)")
      #expect(one.output.contains("Before, each seen and replaced or removed:"), "\(one)")
      #expect(one.output.contains("removed by position 2"), "\(one)")
      let all = await tool.run("explain", path, "z:a", field)
      #expect(all.exit == 0 && all.output.contains("removed by position 2"), "\(all)")
      let json = await tool.run("explain", path, "z:a", field, "--element", "shop", "--json")
      #expect(json.output.contains(#""removed":true"#) && json.output.contains(#""heads":[]"#), "\(json)")
      let never = await tool.run("explain", path, "z:a", field, "--element", "none")
      #expect(never.exit == 2, "\(never)")
    }
  }

  @Test("for a record that was created again, its earlier texts are explained as empty")
  func madeAgain() async throws {
    try await fill()
    let record = record
    try await write { tx in
      try tx.delete(record)
      try tx.create(record, type: "note")
    }
    let told = await tool.run("explain", path, "z:a", "body")
    #expect(told.exit == 0 && told.output.contains("the record was created again"), "\(told.output)")
  }

  @Test("replaced and removed parts of a list or a text are reported")
  func edited() async throws {
    try await fill()
    let whole = await tool.run("explain", path, "z:a", "items")
    #expect(
      whole.output.contains("none was seen and replaced") && !whole.output.contains("Removed, replaced"))
    let record = record
    try await write { tx in
      try tx.removeText(0..<4, from: "body", of: record)
      try tx.replaceElement(at: 0, in: "items", of: record, with: "z")
    }
    for (field, what) in [("body", "removed 4 characters"), ("items", "replaced an element")] {
      let told = await tool.run("explain", path, "z:a", field)
      #expect(
        !told.output.contains("none was seen and replaced") && told.output.contains(what), "\(told.output)")
    }
  }

  @Test("a deleted record is shown with all its fields, also those that merge")
  func hidden() async throws {
    try await fill()
    let record = record
    let before = await tool.run("state", path, "z:a", "--json")
    try await write { try $0.delete(record) }
    let after = await tool.run("state", path, "--hidden", "--json")
    for field in [
      #""title":"Title""#, #""body":"the body""#, #""items":{"array":["x","y"]}"#, #""likes":3"#,
      #""stars":{"array":[5]}"#,
    ] {
      #expect(before.output.contains(field) && after.output.contains(field), "\(field) \(after.output)")
    }
  }
}
