import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Zones in an exported log")
struct ExportedZones {
  private let temporary = TemporaryDirectory()
  private let tool = Tool(seed: 1)
  private var path: String { temporary.path + "/store" }
  private var copy: String { temporary.path + "/copy" }
  private var remote: String { "folder:\(temporary.path)/remote" }

  /// A store with a record in each of two zones, both synced.
  private func makeStore() async throws {
    let store = try ShoppingStore.open(path)
    try await store.write { tx in
      for zone in ["a", "b"] as [Name] {
        try tx.createZone(ZoneID(name: zone))
        try tx.create(RecordID(zone: ZoneID(name: zone), name: "r"), type: "note")
      }
    }
    store.close()
    let made = await tool.run(
      "sync", path, "--remote", remote, "--create-remote", "--attach", "a", "--attach", "b")
    #expect(made.exit == 0, "\(made)")
  }

  /// Exports the store, after one zone was deleted and the other one became eager.
  private func exportDeletion() async throws -> Tool.Result {
    try await makeStore()
    #expect(await tool.run("asset", "policy", path, "b", "eager").exit == 0)
    let store = try ShoppingStore.open(path)
    try await store.write { try $0.deleteZone(ZoneID(name: "a")) }
    store.close()
    return await tool.run("export", path)
  }

  @Test("a deletion that the remote does not know, and the policy of assets, are exported with the log")
  func deletions() async throws {
    let exported = try await exportDeletion()
    #expect(exported.lines[1].hasPrefix(#"{"deletion":{"incarnation":""#), "\(exported)")
    #expect(exported.lines[1].hasSuffix(#"","zone":"a"}}"#), "\(exported)")
    #expect(
      exported.lines[2].hasPrefix(#"{"zone":{"assets":"eager","attachment":"attached","#), "\(exported)")
    let one = await tool.run("export", path, "--zone", "b")
    #expect(!one.output.contains(#""deletion""#) && one.exit == 0, "\(one)")
    #expect(await tool.run("import", copy, input: Array(exported.output.utf8)).exit == 0)
    let again = await tool.run("export", copy)
    #expect(again.lines[1...3] == exported.lines[1...3])
    let policy = await tool.run("asset", "policy", copy, "b")
    #expect(policy.output.hasPrefix("b is eager"), "\(policy)")
    let synced = await tool.run("sync", copy, "--remote", remote)
    #expect(synced.exit == 0 && synced.lines.contains { $0.hasPrefix("a ") && $0.contains("removed") })
    let new = await tool.run("sync", temporary.path + "/new", "--remote", remote, "--create-store")
    #expect(new.exit == 0 && !new.lines.contains { $0.hasPrefix("a ") }, "\(new)")
    #expect(await tool.run("verify", copy).exit == 0)
  }

  @Test(
    "a line in another form is refused",
    arguments: [
      (#""zone":"a""#, #""zone":"a","extra":1"#), (#""incarnation":""#, #""incarnation":"g"#),
      (#""zone":"a""#, #""zone":"a","mayLackLog":1"#), (#""deletion""#, #""removal""#),
      (#""assets":"eager""#, #""assets":"sometimes""#),
    ])
  func damage(_ old: String, _ new: String) async throws {
    let exported = try await exportDeletion()
    let changed = exported.output.replacing(old, with: new, maxReplacements: 1)
    #expect(changed != exported.output)
    let refused = await tool.run("import", copy, input: Array(changed.utf8))
    #expect(refused.exit == 2 && refused.errors.contains("nothing was imported"), "\(refused)")
  }

  @Test("one zone can be exported while the log of another one is being read again")
  func rereading() async throws {
    try await makeStore()
    let store = try ShoppingStore.open(path)
    _ = try await store.beginRereading(ZoneID(name: "a"), from: 1)
    store.close()
    for zone in [[], ["--zone", "a"]] {
      let refused = await tool.run(["export", path] + zone)
      #expect(refused.exit != 0 && refused.errors.contains("zone “a” is being read again"), "\(refused)")
    }
    let exported = await tool.run("export", path, "--zone", "b")
    #expect(exported.exit == 0, "\(exported)")
    #expect(await tool.run("import", copy, input: Array(exported.output.utf8)).exit == 0)
    let digests = (await tool.run("digest", path), await tool.run("digest", copy))
    #expect(digests.0.lines.contains { !$0.isEmpty && digests.1.lines.contains($0) }, "\(digests)")
  }
}
