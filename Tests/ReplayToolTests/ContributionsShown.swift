import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Contributions in the output")
struct ContributionsShown {
  let temporary = TemporaryDirectory()
  let tool = Tool()

  private static let record = RecordID(zone: ZoneID(name: "z"), name: "r")

  private func makeStore() async throws -> String {
    let path = temporary.path + "/store"
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    try await store.write { tx in
      tx.author = "ann"
      try tx.createZone(Self.record.zone)
      try tx.create(Self.record, type: "t")
      try tx.contribute(["move": 5], to: "moves", of: Self.record)
    }
    try await store.write { try $0.contribute("two", to: "moves", of: Self.record) }
    return path
  }

  @Test("are explained in order")
  func explained() async throws {
    let path = try await makeStore()
    let page = await tool.run("explain", path, "z:r", "moves")
    #expect(page.exit == 0)
    #expect(page.lines.contains("2 contributions stand, in the order in which they count."))
    let first = try #require(
      page.lines.firstIndex { $0.contains(#""move""#) || $0.contains("move") && $0.contains("5") })
    let second = try #require(page.lines.firstIndex(of: #"  "two""#))
    #expect(first < second)
    #expect(page.lines[first + 1].hasPrefix("    Contributed by ann on replica"))
    let json = await tool.run("explain", path, "z:r", "moves", "--json")
    #expect(json.output.contains(#""added":"two""#))
    let shown = await tool.run("show", path, "2")
    #expect(shown.exit == 0 && shown.output.contains("contribute"))
    let state = await tool.run("state", path, "--json")
    #expect(
      state.output == #"{"fields":{"moves":{"array":[{"map":{"move":5}},"two"]}},"record":"z:r","type":"t"}"#
        + "\n")
  }

  @Test("are imported from an export, and a copy has the same digest")
  func exported() async throws {
    let path = try await makeStore()
    let exported = await tool.run("export", path)
    #expect(exported.output.contains(#""kind":"contribute""#))
    let copy = temporary.path + "/copy"
    let imported = await tool.run("import", copy, input: Array(exported.output.utf8))
    #expect(imported.exit == 0, "\(imported.errors)")
    let (digest, other) = (await tool.run("digest", path), await tool.run("digest", copy))
    #expect(digest.exit == 0 && digest.output == other.output)
  }
}
