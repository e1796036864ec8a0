import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Remotes that have lost a zone, or are gone")
struct RemotesThatAreGone {
  let temporary = TemporaryDirectory()
  private var folder: String { temporary.path + "/remote" }
  private var log: String { temporary.path + "/log.jsonl" }

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  private func run(_ arguments: [String], seed: UInt64) async -> Tool.Result {
    await Tool(seed: seed).run(arguments)
  }

  private func sync(
    _ name: String, _ more: String..., at folder: String? = nil, seed: UInt64 = 1
  ) async -> Tool.Result {
    await run(["sync", path(name), "--remote", "folder:\(folder ?? self.folder)"] + more, seed: seed)
  }

  private func repair(_ name: String, at folder: String? = nil) async -> Tool.Result {
    await run(["remote", "folder:\(folder ?? self.folder)", "--repair", path(name)], seed: 1)
  }

  private func digest(_ name: String) async -> String { await run(["digest", path(name)], seed: 1).output }

  /// Writes a record into a store, which is created if there is none.
  private func write(_ name: String, _ record: String, _ zone: ZoneID, seed: UInt64) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(ShoppingStore.start), SharedBits(seed))
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      try tx.create(RecordID(zone: zone, name: Name(record)), type: "note", fields: ["n": 1])
    }
    store.close()
  }

  /// Two stores that have each written and read two zones. A copy of the remote from before the second zone
  /// is kept.
  private func twoStores() async throws {
    let (notes, lists) = (ZoneID(name: "notes"), ZoneID(name: "lists"))
    try await write("a", "first", notes, seed: 10)
    try #require(await sync("a", "--create-remote").exit == 0)
    try #require(await sync("b", "--create-store", seed: 2).exit == 0)
    try FileManager.default.copyItem(atPath: folder, toPath: folder + ".old")
    try await write("b", "second", notes, seed: 20)
    try await write("b", "third", lists, seed: 21)
    try #require(await sync("b", seed: 2).exit == 0)
    try #require(await sync("a").exit == 0)
  }

  private func replaceRemote(with other: String) throws {
    try FileManager.default.removeItem(atPath: folder)
    try FileManager.default.moveItem(atPath: other, toPath: folder)
  }

  @Test("a copy from before a zone was created: one store puts back the zone, and its whole log")
  func zoneIsLost() async throws {
    try await twoStores()
    let digests = await digest("a")
    try replaceRemote(with: folder + ".old")
    let stuck = await sync("a")
    #expect(stuck.exit == 4 && stuck.errors.contains("--repair \(path("a"))`"), "\(stuck)")
    // The writer of the lost zone is gone.
    try FileManager.default.removeItem(atPath: path("b"))
    let repaired = await repair("a")
    #expect(repaired.exit == 0 && repaired.output.contains("put back  lists@1"), "\(repaired)")
    #expect(repaired.output.contains("put back  notes@2"), "\(repaired)")
    #expect(await sync("a").exit == 0)
    #expect(await digest("a") == digests)
    #expect(await sync("c", "--create-store", seed: 3).exit == 0)
    #expect(await digest("c") == digests)
  }

  @Test("an imported log does not belong to a remote without its zones, and a new remote can take them")
  func remoteIsGone() async throws {
    try await twoStores()
    let digests = await digest("a")
    try #require(await run(["export", path("a"), "-o", log], seed: 1).exit == 0)
    for (name, seed) in [("e", 4), ("f", 5)] as [(String, UInt64)] {
      try #require(await run(["import", path(name), log], seed: seed).exit == 0)
    }
    try await write("x", "foreign", ZoneID(name: "foreign"), seed: 30)
    let (other, new) = (temporary.path + "/other", temporary.path + "/new")
    try #require(await sync("x", "--create-remote", at: other, seed: 6).exit == 0)
    let wrong = await sync("e", at: other, seed: 4)
    #expect(wrong.exit == 4 && wrong.errors.contains("has none of the logs"), "\(wrong)")
    #expect(await digest("e") == digests)
    // It belongs to no remote yet: the right one accepts it.
    #expect(await sync("e", seed: 4).exit == 0)
    try FileManager.default.removeItem(atPath: folder)
    let changed = await sync("a", "--create-remote", at: new)
    #expect(changed.exit == 4 && changed.errors.contains("--leave-remote"), "\(changed)")
    let made = await sync("f", "--create-remote", at: new, seed: 5)
    #expect(made.exit == 4 && made.errors.contains("--repair \(path("f"))`"), "\(made)")
    #expect(await repair("f", at: new).exit == 0)
    #expect(await sync("f", at: new, seed: 5).exit == 0)
    #expect(await sync("n", "--create-store", at: new, seed: 7).exit == 0)
    let all = (await digest("f"), await digest("n"))
    #expect(all.0 == digests && all.1 == digests)
  }

  @Test("a log that is read again says how many transactions of others it removed")
  func removed() async throws {
    try await twoStores()
    try replaceRemote(with: folder + ".old")
    let read = await sync("a", "--reread", "notes@1", "--reread", "lists@1")
    #expect(read.exit == 0 && read.output.contains("removed 1 transaction of other stores"), "\(read)")
    #expect(await sync("b", "--reread", "notes@1", "--reread", "lists@1", seed: 2).exit == 0)
    let back = await sync("a", "--json")
    #expect(back.exit == 0 && back.output.contains(#""removedTransactions":0"#), "\(back)")
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1)
  }
}
