import EventStore
import Foundation
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Zones from the command line", .serialized)
struct ZoneCommands {
  private let temporary = TemporaryDirectory()
  private var folder: String { "folder:\(temporary.path)/remote" }

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  private func run(_ arguments: String...) async -> Tool.Result { await Tool(seed: 1).run(arguments) }

  /// A store with two zones, which are at the remote too.
  private func makeSynced() async throws {
    let store = try ShoppingStore.open(path("ann"))
    for zone: ZoneID in ["food", "books"] {
      try await store.write { tx in
        try tx.createZone(zone)
        try tx.attachZone(zone)
        try tx.create(RecordID(zone: zone, name: "first"), type: "item")
      }
    }
    store.close()
    let synced = await run("sync", path("ann"), "--remote", folder, "--create-remote")
    #expect(synced.exit == 0, "\(synced.errors)")
  }

  @Test("zones of the remote are offered, attached, evicted and detached")
  func offered() async throws {
    try await makeSynced()
    let first = await run("sync", path("bob"), "--remote", folder, "--create-store", "--attached")
    #expect(first.exit == 0, "\(first.errors)")
    let listed = await run("zone", "list", path("bob"))
    #expect(listed.output.components(separatedBy: "offered").count == 3, "\(listed.output)")
    let attached = await run("zone", "attach", path("bob"), "food")
    #expect(attached.output == "food is attached, and was offered\n", "\(attached.errors)")
    #expect(await run("sync", path("bob"), "--remote", folder, "--attached").exit == 0)
    let json = await run("zone", "list", path("bob"), "--json")
    #expect(
      json.output == #"{"attachment":"offered","pending":0,"zone":"books"}"# + "\n"
        + #"{"attachment":"attached","pending":0,"zone":"food"}"# + "\n")
    let detached = await run("zone", "detach", path("bob"), "food", "--json")
    #expect(detached.output == #"{"attachment":"local","changed":true,"zone":"food"}"# + "\n")
    let refused = await run("zone", "evict", path("bob"), "food")
    #expect(
      refused.exit == 1 && refused.errors.contains("zone “food” is not synced")
        && refused.errors.contains("`replay zone attach \(path("bob")) food`, then sync first"),
      "\(refused.errors)")
    _ = await run("zone", "attach", path("bob"), "food")
    _ = await run("sync", path("bob"), "--remote", folder, "--attached")
    let evicted = await run("zone", "evict", path("bob"), "food")
    #expect(evicted.exit == 0 && evicted.output == "food is offered, and was attached\n", "\(evicted.errors)")
    #expect(await run("state", path("bob")).output.contains("first") == false)
    let unknown = await run("zone", "attach", path("bob"), "nothing")
    #expect(
      unknown.exit != 0 && unknown.errors.contains("nothing")
        && unknown.errors.contains("its remote offers books, food"), "\(unknown.errors)")
  }

  @Test("what is deleted or detached here says what the remote and other stores keep")
  func remains() async throws {
    try await makeSynced()
    let detached = await run("zone", "detach", path("ann"), "food")
    #expect(
      detached.output == "food is local, and was attached. The remote and other stores keep theirs\n",
      "\(detached)")
    let local = await run("zone", "delete", path("ann"), "food")
    #expect(
      local.output
        == "food is deleted, and was local. The remote and other stores keep theirs, and it is offered here again\n",
      "\(local)")
    #expect(await run("sync", path("ann"), "--remote", folder, "--attached").exit == 0)
    #expect(await run("zone", "list", path("ann")).output.contains("offered"))
    let deleted = await run("zone", "delete", path("ann"), "books")
    #expect(
      deleted.output.hasPrefix("books is deleted, and was attached. The next sync deletes it in every other")
        && deleted.output.hasSuffix("closes its log at the remote, which keeps that\n"), "\(deleted)")
    #expect(await run("sync", path("ann"), "--remote", folder, "--attached").exit == 0)
    let shown = await run("remote", folder)
    #expect(shown.exit == 0 && shown.output.contains("zone books deleted"), "\(shown)")
  }

  @Test("a zone that was deleted elsewhere is made again, and a store moves to another remote")
  func movedAndMadeAgain() async throws {
    try await makeSynced()
    #expect(await run("sync", path("bob"), "--remote", folder, "--create-store").exit == 0)
    _ = await run("zone", "detach", path("ann"), "food")
    let bob = try ShoppingStore.open(path("bob"))
    try await bob.write { try $0.deleteZone("food") }
    bob.close()
    #expect(await run("sync", path("bob"), "--remote", folder).exit == 0)
    _ = await run("zone", "attach", path("ann"), "food")
    #expect(await run("sync", path("ann"), "--remote", folder).exit == 0)
    #expect(await run("sync", path("bob"), "--remote", folder).exit == 0)
    #expect(await run("digest", path("ann")).output == run("digest", path("bob")).output)
    let sound = await run("remote", folder)
    #expect(sound.exit == 0, "\(sound.output)")
    let other = "folder:\(temporary.path)/other"
    let refused = await run("sync", path("ann"), "--remote", other, "--create-remote")
    #expect(refused.exit == 4 && refused.errors.contains("--leave-remote"), "\(refused.errors)")
    for name in ["ann", "bob"] {
      let moved = await Tool(seed: 2).run(
        "sync", path(name), "--remote", other, "--create-remote", "--leave-remote")
      #expect(moved.exit == 0 && !moved.output.contains("had lost"), "\(moved)")
      if name == "ann" {
        #expect(moved.output.contains("sent 1 segment that the remote did not have"), "\(moved)")
      }
    }
    #expect(await run("remote", other).exit == 0)
    let fresh = await run("sync", path("carol"), "--remote", other, "--create-store")
    #expect(fresh.exit == 0)
    #expect(await run("digest", path("carol")).output == run("digest", path("ann")).output)
  }
}
