import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("A store and its copy, which nobody noticed, are distinguished once both wrote")
struct CopiedStoresShown {
  let temporary = TemporaryDirectory()
  private var remote: String { "folder:\(temporary.path)/remote" }
  private let milk = RecordID(zone: ZoneID(name: "home"), name: "milk")

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  private func run(_ arguments: String..., seed: UInt64) async -> Tool.Result {
    await Tool(seed: seed).run(arguments)
  }

  private func write(_ name: String, _ title: String, at seconds: Int64) async throws {
    let store = try ShoppingStore.open(
      path(name), TestClock(ShoppingStore.start + seconds * 1000), SharedBits(10), noticesCopies: false)
    defer { store.close() }
    let milk = milk
    try await store.write { tx in
      try tx.createZone(milk.zone)
      if try !tx.contains(milk) { try tx.create(milk, type: "task") }
      try tx.set("title", of: milk, to: .string(title))
    }
  }

  /// The store `ann` has sent; `fork` is its copy. Both wrote, `ann` sent first, and both are in sync.
  private func forked() async throws -> (replica: String, remote: String) {
    try await write("ann", "Milk", at: 0)
    let made = await run(
      "sync", path("ann"), "--remote", remote, "--create-remote", "--attach", "home", seed: 1)
    try #require(made.exit == 0, "\(made)")
    try FileManager.default.copyItem(atPath: path("ann"), toPath: path("fork"))
    try await write("ann", "from ann", at: 1)
    try await write("fork", "from fork", at: 2)
    for (index, name) in ["ann", "fork", "ann"].enumerated() {
      let synced = await run("sync", path(name), "--remote", remote, seed: UInt64(index) + 2)
      try #require(synced.exit == 0, "\(synced)")
      #expect(
        synced.output.contains("another store wrote under this one's identity") == (index == 1), "\(synced)")
    }
    let log = await run("log", path("fork"), seed: 1)
    let replica = try #require(log.lines.first).split(separator: " ")[2]
    return (String(replica), remote)
  }

  @Test("explain, log and conflicts show the epoch, and “this store” is the opened one")
  func explained() async throws {
    let (replica, _) = try await forked()
    for (name, own, other) in [("fork", "fork", "ann"), ("ann", "ann", "fork")] {
      let told = await run("explain", path(name), "home:milk", "title", seed: 1)
      let epoch = ["ann": "", "fork": ", epoch 1"]
      func maker(of title: String) -> String? {
        guard let index = told.lines.firstIndex(where: { $0.contains("\"from \(title)\"") }) else {
          return nil
        }
        return told.lines[index + 1]
      }
      let ours = try #require(maker(of: own))
      let theirs = try #require(maker(of: other))
      #expect(ours.contains("on replica \(replica)\(epoch[own]!) (this store) at"), "\(told)")
      #expect(theirs.contains("on replica \(replica)\(epoch[other]!) (a copy of this store) at"), "\(told)")
      let isAgain = "It was issued again: before, it was \(replica).0.2."
      #expect(told.output.contains(isAgain) == (name == "fork"), "\(told)")
      let json = await run("explain", path(name), "home:milk", "title", "--json", seed: 1)
      #expect(json.output.contains("\"formerly\":\"") == (name == "fork"), "\(json)")
      for command in ["log", "conflicts"] {
        let listed = await run(command, path(name), seed: 1)
        #expect(listed.lines.count { $0.contains(" \(replica).1  ") } == 1, "\(listed)")
      }
    }
  }

  @Test("show and info mark the transactions of a copy")
  func shown() async throws {
    _ = try await forked()
    let info = await run("info", path("fork"), seed: 1)
    let rows = info.lines.filter { $0.contains(", up to sequence") }
    #expect(rows.count == 2, "\(info)")
    #expect(rows[0].hasSuffix("epoch 0, up to sequence 2, this store up to 1, then a copy of it"), "\(info)")
    #expect(rows[1].hasSuffix("epoch 1, up to sequence 1, this store"), "\(info)")
    let original = await run("info", path("ann"), seed: 1)
    let others = original.lines.filter { $0.contains(", up to sequence") }
    #expect(others.map { $0.hasSuffix(", a copy of this store") } == [false, true], "\(original)")
    for name in ["ann", "fork"] {
      for line in await run("log", path(name), seed: 1).lines where !line.isEmpty {
        let position = String(line.split(separator: " ")[0])
        let shown = await run("show", path(name), position, seed: 1)
        let isOther = shown.output.contains(name == "ann" ? "from fork" : "from ann")
        #expect(shown.output.contains(", made by this store\n") == !isOther, "\(shown)")
        #expect(shown.output.contains(", made by a copy of this store\n") == isOther, "\(shown)")
      }
    }
  }

  @Test("info says what became of both branches, in the store that issued one again and in the other")
  func forks() async throws {
    let (replica, _) = try await forked()
    for name in ["ann", "fork"] {
      let info = await run("info", path(name), seed: 1)
      let line = try #require(info.lines.first { $0.contains("  forked ") }, "\(info)")
      #expect(line.contains(" \(replica)"), "\(line)")
      let text =
        "epoch 0: two stores wrote from sequence 2 on; one branch is at offset 2, the other one is epoch 1"
      #expect(line.contains(text), "\(line)")
      #expect(line.contains(", issued again by this store at 20") == (name == "fork"), "\(line)")
      let json = await run("info", path(name), "--json", seed: 1)
      #expect(json.output.contains("\"firstSequence\":2"), "\(json)")
      #expect(json.output.contains("\"noticed\":\"20") == (name == "fork"), "\(json)")
    }
  }

  @Test("a log that is exported and imported keeps what is known of the fork")
  func exported() async throws {
    _ = try await forked()
    let log = await run("export", path("fork"), seed: 1)
    #expect(log.output.contains("{\"reissued\":{"), "\(log)")
    let imported = await Tool(seed: 5).run("import", path("heir"), input: Array(log.output.utf8))
    #expect(imported.exit == 0, "\(imported)")
    let shown = [await run("info", path("fork"), seed: 1), await run("info", path("heir"), seed: 1)]
    let lines = shown.map { $0.lines.filter { $0.contains("  forked ") } }
    #expect(lines[0] == lines[1] && lines[0].count == 1, "\(lines)")
    for (old, new) in [("\"first\":2", "\"first\":0"), ("\"count\":1", "\"count\":18446744073709551615")] {
      let reissued = try #require(log.lines.first { $0.hasPrefix("{\"reissued\"") })
      let changed = log.output.replacing(reissued, with: reissued.replacing(old, with: new))
      #expect(changed != log.output)
      let refused = await Tool(seed: 6).run("import", path("bad\(new.count)"), input: Array(changed.utf8))
      #expect(refused.exit == 2, "\(refused)")
    }
  }

  @Test("a position whose entry was issued again is not reported as removed with its zone")
  func issuedAgain() async throws {
    _ = try await forked()
    let shown = await run("show", path("fork"), "2", seed: 1)
    #expect(
      shown.exit == 2 && shown.errors.contains("position 2 was removed: it was issued again"), "\(shown)")
  }
}
