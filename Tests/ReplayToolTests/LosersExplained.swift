import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Losers in lists and maps are explained")
struct LosersExplained {
  let temporary = TemporaryDirectory()
  private let record = RecordID(zone: ZoneID(name: "home"), name: "r")

  private func path(_ name: String) -> String { "\(temporary.path)/\(name)" }

  private func tool(_ seed: UInt64) -> Tool {
    Tool(seed: seed)
  }

  private func sync(_ name: String, _ seed: UInt64, _ more: String...) async -> Tool.Result {
    await tool(seed).run(["sync", path(name), "--remote", "folder:\(path("remote"))"] + more)
  }

  private func write(
    _ name: String, at milliseconds: Int64, seed: UInt64,
    _ body: @escaping @Sendable (inout WriteTransaction) throws -> Void
  ) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(milliseconds), SharedBits(seed))
    defer { store.close() }
    try await store.write(body)
  }

  @Test("two replicas wrote one key and one element: which won, which lost to it, and why")
  func listsAndMaps() async throws {
    let record = record
    let start = ShoppingStore.start
    try await write("a", at: start, seed: 1) { tx in
      try tx.createZone(record.zone)
      try tx.create(record, type: "t")
      try tx.insertElements(["A", "B", "C"], at: 0, in: "items", of: record)
      try tx.put("v", at: "k", in: "map", of: record)
      try tx.put("w", at: "l", in: "map", of: record)
    }
    #expect(await sync("a", 2, "--create-remote", "--attach", "home").exit == 0)
    #expect(await sync("b", 3, "--create-store").exit == 0)
    for (name, text, later) in [("a", "va", 1000), ("b", "vb", 3000)] as [(String, String, Int64)] {
      try await write(name, at: start + later, seed: 4) { tx in
        try tx.put(.string(text), at: "k", in: "map", of: record)
        try tx.replaceElement(at: 1, in: "items", of: record, with: .string(text))
      }
    }
    #expect(await sync("b", 5).exit == 0)
    #expect(await sync("a", 6).exit == 0)
    let tool = tool(7)
    for (field, stand, winner, loser) in [
      ("items", "3 changes of its elements stand, and 1 lost.", #""vb""#, #""va"  lost to "vb""#),
      ("map", "2 changes of its elements stand, and 1 lost.", #"k = "vb""#, #"k = "va"  lost to k = "vb""#),
    ] {
      let told = await tool.run("explain", path("a"), "home:r", field)
      #expect(told.exit == 0 && told.output.contains(stand), "\(told)")
      #expect(told.lines.contains("  " + winner) && told.lines.contains("  " + loser), "\(told)")
      #expect(
        told.output.contains("Neither had seen the other, and its timestamp is 2.0 s earlier."), "\(told)")
      let json = await tool.run("explain", path("a"), "home:r", field, "--json")
      #expect(json.output.components(separatedBy: #""lostTo":"#).count == 2, "\(json)")
      #expect(json.output.contains(#""lostBecause":{"earlierByMilliseconds":2000}"#), "\(json)")
    }
    let short = await tool.run("explain", path("a"), "home:r")
    #expect(short.lines.filter { $0.contains("  lost  ") }.count == 2, "\(short)")
    #expect(short.lines.filter { $0.contains("  won   ") }.count == 2, "\(short)")
    // Both changes make the record exist: as in `conflicts`, none of them lost.
    let existence = await tool.run("explain", path("a"), "home:r", "--existence")
    #expect(existence.exit == 0 && !existence.output.localizedCaseInsensitiveContains("lost"), "\(existence)")
    #expect(
      existence.output.contains("stands: 2 concurrent changes agree on it."), "\(existence)")
    #expect(existence.output.contains("\nThe record is there.\n"), "\(existence)")
    let data = await tool.run("explain", path("a"), "home:r", "--existence", "--json")
    #expect(!data.output.contains("lostTo"), "\(data)")
  }
}
