import EventStore
import StoreTesting
import Testing

@testable import ReplayTool
@testable import Replicator

@Suite("Paused zones on the command line")
struct PausedZones: StoresOfAFolder {
  let temporary = TemporaryDirectory()
  let random = SharedBits(1)
  private let zone = ZoneID(name: "notes")

  private func write(_ name: String, _ record: Name) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(ShoppingStore.start), random)
    defer { store.close() }
    try await store.write { [zone] tx in
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: record), type: "note")
    }
  }

  /// Two stores with a zone. Its log has ended at the remote, and the first store has something to send.
  private func makePaused(by fate: ZoneFate) async throws {
    try await write("first", "a")
    #expect(await sync("first", "--create-remote", "--attach", "notes").exit == 0)
    #expect(await sync("second", "--create-store").exit == 0)
    if fate == .purged {
      #expect(await run("remote", remote, "--purge", "notes", "--write").exit == 0)
    } else {
      #expect(await run("zone", "delete", path("second"), "notes").exit == 0)
      #expect(await sync("second").exit == 0)
    }
    try await write("first", "b")
  }

  @Test(
    "sync, list and info say that a zone is paused, why, and what to do; attach brings it back for everybody",
    arguments: [ZoneFate.deleted, .purged], [false, true])
  func broughtBack(_ fate: ZoneFate, bySync: Bool) async throws {
    try await makePaused(by: fate)
    let told = await sync("first")
    #expect(told.exit == 1, "\(told)")
    let store = path("first")
    let choices =
      "\(fate.pauseMessage). Bring it back for everybody, keep it on this device only, or delete it: `replay zone attach "
      + "\(store) notes`, `replay zone detach \(store) notes` or `replay zone delete \(store) notes`"
    let list = await run("zone", "list", store)
    let info = await run("info", store)
    for shown in [told, list, info] { #expect(shown.output.contains(choices), "\(shown)") }
    let word = RemotePage.text(fate)
    for command in [["zone", "list"], ["info"]] {
      let json = await Tool(random).run(command + [store, "--json"])
      #expect(json.output.contains("\"paused\":\"\(word)\""), "\(json)")
    }
    if bySync {
      #expect(await sync("first", "--attach", "notes").output.contains("made again at the remote"))
    } else {
      let attached = await run("zone", "attach", store, "notes")
      #expect(
        attached.output
          == "notes is attached, and was paused, because \(fate.endReason). The next sync makes it again there, for everybody\n",
        "\(attached)")
      let synced = await sync("first")
      #expect(
        synced.exit == 0 && synced.output.contains("made again at the remote, for everybody"), "\(synced)")
      #expect(!synced.output.contains("had lost"), "\(synced)")
    }
    #expect(!(await run("zone", "list", store)).output.contains("paused"))
    #expect(!(await run("info", store)).output.contains("paused"))
    #expect(await sync("second").exit == 0)
    let digests = (await run("digest", store), await run("digest", path("second")))
    #expect(digests.0.output == digests.1.output && digests.0.output.contains("notes"))
    let sound = await run("remote", remote)
    #expect(sound.exit == 0 && sound.output.contains("made again"), "\(sound)")
    #expect(!sound.output.contains("given up") && !sound.output.contains("1970"), "\(sound)")
  }

  @Test("detach keeps it here, and delete removes it", arguments: [ZoneFate.deleted, .purged])
  func keptOrDeleted(_ fate: ZoneFate) async throws {
    try await makePaused(by: fate)
    #expect(await sync("first").exit == 1)
    let detached = await run("zone", "detach", path("first"), "notes")
    #expect(detached.output == "notes is local, and was attached and paused\n", "\(detached)")
    let local = await sync("first")
    #expect(
      local.exit == 0
        && local.output.contains(
          "it is not synced any more: it was detached. `replay zone attach \(path("first")) notes` lets it"),
      "\(local)")
    #expect(await run("zone", "attach", path("first"), "notes").exit == 0)
    #expect(await run("zone", "delete", path("first"), "notes").exit == 0)
    #expect(await sync("first").exit == 0)
    #expect(await run("zone", "list", path("first")).output == "no zones\n")
  }

  @Test(
    "the status of an app names the same choices", arguments: [ZoneFate.deleted, .purged, .revoked, .reset])
  func problems(_ fate: ZoneFate) {
    let problem = SyncProblem(zone: zone, reason: .paused(fate))
    #expect("\(problem)" == "the zone “notes” is paused: \(fate.pauseMessage). \(fate.pauseHint)")
    #expect(fate.pauseHint.contains("keep it on this device only") && fate.pauseHint.contains("delete it"))
    #expect(fate.pauseHint.contains("Bring it back") == fate.mayBeBroughtBack)
  }

  @Test("a zone that is not paused is attached already")
  func attached() async throws {
    try await write("first", "a")
    #expect(await sync("first", "--create-remote", "--attach", "notes").exit == 0)
    let again = await run("zone", "attach", path("first"), "notes")
    #expect(again.output == "notes is attached already\n", "\(again)")
    #expect(!(await run("zone", "list", path("first"))).output.contains("paused"))
  }

  @Test("the log of a deleted zone is not purged, and the message says why")
  func deletedIsKept() async throws {
    try await makePaused(by: .deleted)
    for option in ["--purge", "--reset"] {
      let refused = await run("remote", remote, option, "notes", "--write")
      #expect(
        refused.exit == 2 && refused.errors.contains("the zone “notes” was deleted, and its log is kept")
          && refused.errors.contains("purged first"), "\(refused)")
    }
    #expect(await run("zone", "attach", path("first"), "notes").exit == 0)
    #expect(await sync("first").exit == 1)
  }
}
