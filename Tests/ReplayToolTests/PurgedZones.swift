import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("`replay remote --purge` and `--reset`")
struct PurgedZones: StoresOfAFolder {
  let temporary = TemporaryDirectory()
  let random = SharedBits(1)
  private let zone = ZoneID(name: "notes")

  /// Two stores that have read all of a zone.
  private func makeStores() async throws {
    let store = try ShoppingStore.open(path("first"))
    for name in ["a", "b", "c"] as [Name] {
      try await store.write { tx in
        try tx.createZone(zone)
        try tx.create(RecordID(zone: zone, name: name), type: "note")
      }
    }
    store.close()
    #expect(await sync("first", "--create-remote", "--attach", "notes").exit == 0)
    #expect(await sync("second", "--create-store").exit == 0)
  }

  @Test("says what would go, discards it, and stores keep the zone until one of them makes it again")
  func purges() async throws {
    try await makeStores()
    let plan = await run("remote", remote, "--purge", "notes")
    #expect(plan.exit == 0 && plan.output.contains("would go") && plan.output.contains("--write does it"))
    let untouched = await run("remote", remote)
    #expect(untouched.exit == 0 && untouched.output.contains("zone notes\n"), "\(untouched)")
    let done = await run("remote", remote, "--purge", "notes", "--write", "--json")
    #expect(done.exit == 0 && done.output.contains("\"written\":true"), "\(done)")
    let again = await run("remote", remote, "--purge", "notes", "--write")
    #expect(again.exit == 0 && again.output.contains("0 files, 0 bytes went"), "\(again)")
    let after = await run("remote", remote)
    #expect(after.exit == 0 && after.output.contains("zone notes purged"), "\(after)")
    #expect(!after.output.contains("left"), "\(after)")
    for name in ["first", "second"] {
      #expect(await sync(name).output.contains("the remote discarded it: everything here is kept"))
    }
    let store = try ShoppingStore.open(path("second"))
    try await store.write { tx in
      try tx.detachZone(zone)
      try tx.attachZone(zone)
    }
    store.close()
    for name in ["second", "first", "new"] {
      let result = await sync(name, "--create-store")
      #expect(result.exit == 0, "\(result)")
    }
    let digests = [
      await run("digest", path("first")), await run("digest", path("second")),
      await run("digest", path("new")),
    ]
    #expect(Set(digests.map(\.output)).count == 1 && digests[0].exit == 0)
    let sound = await run("remote", remote)
    #expect(sound.exit == 0 && sound.output.contains("sound"), "\(sound)")
  }

  @Test("--reset says what would go, discards it, and the next store that syncs sends everything again")
  func resets() async throws {
    try await makeStores()
    let plan = await run("remote", remote, "--reset", "notes")
    #expect(
      plan.exit == 0 && plan.output.contains("would send again") && plan.output.contains("--write does it"))
    for words in ["1 file, ", "0 files, 0 bytes went: the zone is reset, and stores send everything again"] {
      let done = await run("remote", remote, "--reset", "notes", "--write")
      #expect(done.exit == 0 && done.output.contains(words), "\(done)")
    }
    let json = await run("remote", remote, "--reset", "notes", "--json")
    #expect(
      json.output.contains(#""action":"reset""#) && json.output.contains(#""written":false"#), "\(json)")
    let purge = await run("remote", remote, "--purge", "notes")
    #expect(purge.exit == 2 && purge.errors.contains("no open or purged log of the zone “notes”"))
    let after = await run("remote", remote)
    #expect(after.exit == 0 && after.output.contains("zone notes reset"), "\(after)")
    for name in ["second", "first", "new"] {
      let result = await sync(name, "--create-store")
      #expect(result.exit == 0, "\(result)")
    }
    var digests: Set<String> = []
    for name in ["first", "second", "new"] { digests.insert(await run("digest", path(name)).output) }
    #expect(digests.count == 1)
    let sound = await run("remote", remote)
    #expect(sound.exit == 0 && sound.output.contains("sound"), "\(sound)")
  }

  @Test("refuses what is not there, and what does not belong together")
  func refuses() async throws {
    try await makeStores()
    let unknown = await run("remote", remote, "--purge", "nope", "--write")
    #expect(unknown.exit == 2 && unknown.errors.contains("no open or purged log of the zone “nope”"))
    for arguments in [
      ["--write"], ["--purge", "notes", "--repair", path("first")],
      ["--purge", "notes", "--quarantine", "notes@1"], ["--purge", "notes", "--reset", "notes"],
    ] {
      let wrong = await Tool(random).run(["remote", remote] + arguments)
      #expect(wrong.exit == 2, "\(wrong)")
    }
    #expect(await sync("first").exit == 0)
  }
}
