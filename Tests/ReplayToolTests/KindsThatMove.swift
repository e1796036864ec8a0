import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Exported and imported records keep the kinds of their fields, and their assets")
struct KindsThatMove {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  private let post = RecordID(zone: ZoneID(name: "blog"), name: "post")

  private func makeStore() async throws -> String {
    let path = temporary.path + "/old.store"
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let record = post
    try await store.write { tx in
      try tx.createZone(record.zone)
      try tx.create(record, type: "post", fields: ["title": "Hello"])
      try tx.insertText("A body.", at: 0, in: "body", of: record)
      try tx.add(3, to: "likes", of: record)
      try tx.insert("red", into: "tags", of: record)
      try tx.insert("blue", into: "tags", of: record)
      try tx.put(["deep": 1], at: "key", in: "map", of: record)
      try tx.insertElements(["a", ["text": "b"]], at: 0, in: "items", of: record)
      try tx.contribute(5, to: "stars", of: record)
      try tx.contribute(4, to: "stars", of: record)
      // Two kinds under one name.
      try tx.add(7, to: "title", of: record)
    }
    return path
  }

  private func expectAllKinds(_ path: String) throws {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let record = post
    try store.read { tx in
      let (text, likes, second) = try (
        tx.text(of: "body", in: record), tx.counter("likes", of: record), tx.counter("title", of: record)
      )
      let (tags, map, items) = try (
        tx.elements(of: "tags", in: record), tx.entries(of: "map", in: record), tx.list("items", of: record)
      )
      let stars = try tx.contributions(of: "stars", in: record)?.map(\.payload)
      let title = try tx.value(of: "title", in: record)
      #expect(text == "A body." && likes?.value == 3 && second?.value == 7 && title == "Hello")
      #expect(tags == ["red", "blue"] && map == ["key": ["deep": 1]] && items == ["a", ["text": "b"]])
      #expect(stars == [5, 4])
      let registers = try ["body", "likes", "tags", "map", "items", "stars"].flatMap {
        try tx.heads(of: $0, in: record)
      }
      #expect(registers.isEmpty)
    }
  }

  @Test("each field is imported with its kind, and a second import changes nothing")
  func kinds() async throws {
    let path = try await makeStore()
    let exported = await tool.run("export", path, "--records")
    #expect(exported.exit == 0, "\(exported.errors)")
    let copy = temporary.path + "/new.store"
    let input = Array(exported.output.utf8)
    let first = await tool.run("import", copy, input: input)
    #expect(first.output == "imported 1 record: 1 created, 0 updated, 0 unchanged\n", "\(first.errors)")
    try expectAllKinds(copy)
    let second = await tool.run("import", copy, input: input)
    #expect(second.output == "imported 1 record: 0 created, 0 updated, 1 unchanged\n", "\(second.errors)")
    let again = await tool.run("export", copy, "--records")
    #expect(again.output == exported.output)
    // Differences are reset.
    let store = try ShoppingStore.open(copy)
    let record = post
    try await store.write { tx in
      try tx.removeText(0..<2, from: "body", of: record)
      try tx.add(-1, to: "likes", of: record)
      try tx.remove("red", from: "tags", of: record)
      try tx.insert("green", into: "tags", of: record)
      try tx.put(2, at: "other", in: "map", of: record)
      try tx.removeElements(0..<1, from: "items", of: record)
    }
    store.close()
    let third = await tool.run("import", copy, input: input)
    #expect(
      third.output == "imported 1 record: 0 created, 1 updated, 0 unchanged\nupdated  \(post)\n",
      "\(third.errors)")
    try expectAllKinds(copy)
  }

  @Test("assets are exported beside the records, or nothing is written", arguments: [true, false])
  func assets(isLog: Bool) async throws {
    let path = try await makeStore()
    let store = try ShoppingStore.open(path)
    let record = post
    let asset = try await store.importAsset(bytes: [UInt8](repeating: 7, count: 1000))
    try await store.write { try $0.set("photo", of: record, to: .asset(asset)) }
    store.close()
    let (file, files) = (temporary.path + "/lines", temporary.path + "/files")
    let copy = temporary.path + "/new.store"
    let kind = isLog ? [] : ["--records"]
    if !isLog {
      let refused = await tool.run(["export", path, "--output", file] + kind)
      #expect(refused.exit == 2 && refused.errors.contains("give --assets"), "\(refused.errors)")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
    let exported = await tool.run(["export", path, "--output", file, "--assets", files] + kind)
    #expect(exported.exit == 0, "\(exported.errors)")
    if !isLog {
      let refused = await tool.run("import", copy, file)
      #expect(refused.exit == 2 && refused.errors.contains("give --assets"), "\(refused.errors)")
    }
    let imported = await tool.run("import", copy, file, "--assets", files)
    #expect(imported.exit == 0, "\(imported.errors)")
    let opened = try ShoppingStore.open(copy)
    let (value, isHere) = try (opened.read { try $0.value(of: "photo", in: record) }, opened.hasAsset(asset))
    #expect(value == .asset(asset) && isHere)
    opened.close()
    try expectAllKinds(copy)
  }

  @Test("a wrong field is an error")
  func wrong() async throws {
    for merging in [
      #"{"n":{"counter":"three"}}"#, #"{"n":{"unheard":1}}"#, #"{"n":1}"#, "1", #"{"n":{"text":1}}"#,
      #"{"n":{"set":{}}}"#,
    ] {
      let line = #"{"fields":{},"merging":\#(merging),"record":"z:r","type":"t"}"#
      let result = await tool.run("import", temporary.path + "/wrong.store", input: Array(line.utf8))
      #expect(result.exit == 2, "\(merging) \(result)")
    }
  }

  @Test(
    "a value of the wrong form is reported with the right form",
    arguments: [
      (#"{"counter":"three"}"#, #"an integer or {"decimal":"1.5"} was expected (merging.n.counter)"#),
      (#"{"counter":1.5}"#, #"an integer or {"decimal":"1.5"} was"#),
      (#"{"counter":{"double":1.5}}"#, #"an integer or {"decimal":"1.5"} was"#),
      (#"{"map":[1]}"#, #"an object of values by key, such as {"key":1}, was expected (merging.n.map)"#),
      (#"{"map":1}"#, "an object of values by key"),
      (#"{"map":{"k":1.5}}"#, "a number with a fraction must be written as"),
      (#"{"set":{"a":1}}"#, "an array of values, such as [1,2], was expected (merging.n.set)"),
      (#"{"list":"a"}"#, "was expected (merging.n.list)"),
      (#"{"contributions":null}"#, "was expected (merging.n.contributions)"),
      (#"{"text":["a"]}"#, "a string was expected (merging.n.text)"),
    ])
  func wrongShapes(_ value: String, _ words: String) async throws {
    let line = #"{"fields":{},"merging":{"n":\#(value)},"record":"z:r","type":"t"}"#
    let result = await tool.run("import", temporary.path + "/wrong.store", input: Array(line.utf8))
    #expect(result.exit == 2 && result.errors.contains(words), "\(result)")
  }
}
