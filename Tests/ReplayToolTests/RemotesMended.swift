import EventStore
import Foundation
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool
@testable import Replicator

@Suite("Repairing remotes from the command line")
struct RemotesMended {
  let temporary = TemporaryDirectory()
  private var folder: String { temporary.path + "/remote" }
  private var remote: String { "folder:\(folder)" }

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  private func run(_ arguments: String..., seed: UInt64 = 1) async -> Tool.Result {
    await Tool(seed: seed).run(arguments)
  }

  private func sync(_ name: String, _ more: String..., seed: UInt64 = 1) async -> Tool.Result {
    await Tool(seed: seed).run(["sync", path(name), "--remote", remote] + more)
  }

  /// Creates a record in a store, which is created if there is none.
  private func write(_ name: String, _ record: String, seed: UInt64) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(ShoppingStore.start), SharedBits(seed))
    try await store.write { tx in
      let zone = ZoneID(name: "notes")
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: Name(record)), type: "note", fields: ["n": 1])
    }
    store.close()
  }

  /// A store that has sent three segments.
  private func shipped() async throws {
    try await write("a", "first", seed: 10)
    let made = await sync("a", "--create-remote", "--attach", "notes")
    try #require(made.exit == 0, "\(made)")
    for record in ["second", "third"] {
      try await write("a", record, seed: 11)
      try #require(await sync("a").exit == 0)
    }
  }

  private func file(_ offset: UInt64) async throws -> URL {
    let events = try await FolderRemote.open(directory: folder).zoneEvents(after: nil).events
    let incarnation = try #require(events.first).incarnation
    return URL(fileURLWithPath: "\(folder)/\(ObjectName.entry(of: incarnation, offset))")
  }

  private func digest(_ name: String) async -> String { await run("digest", path(name)).output }

  @Test("zeros at the end: reported, in no store, given up, and all read on")
  func quarantine() async throws {
    try await shipped()
    try Data(count: 300).write(to: try await file(4))
    try await write("a", "late", seed: 12)
    let parked = await sync("a")
    #expect(parked.exit == 1 && parked.output.contains("parked at offset 4"), "\(parked)")
    #expect(parked.output.contains("sent 1 transaction"))
    #expect(
      parked.output.contains("`replay remote \(remote) --repair OTHER`")
        && parked.output.contains("what was written there is lost"), "\(parked)")
    #expect(await run("info", path("a")).output.contains("pending       0"))
    let unsound = await run("remote", remote)
    #expect(unsound.exit == 1 && unsound.output.contains("0000000000000004 cannot be read"), "\(unsound)")
    #expect(unsound.output.contains("--quarantine notes@4`") && !unsound.output.contains("sound\n"))
    let unknown = await run("remote", remote, "--repair", path("a"))
    #expect(unknown.exit == 1 && unknown.output.hasPrefix("unknown  notes@4: "), "\(unknown)")
    let given = await run("remote", remote, "--quarantine", "notes@4", "--note", "power cut")
    #expect(given.exit == 0 && given.output.contains("\nsound\n"), "\(given)")
    #expect(given.output.contains("`replay sync STORE --remote \(remote) --reread notes@4`"), "\(given)")
    #expect(
      given.output.contains("offset 4, ") && given.output.contains("300 bytes")
        && given.output.contains(#""power cut""#))
    let readable = await run("remote", remote, "--quarantine", "notes@2")
    #expect(readable.exit == 2 && readable.errors.contains("can be read"), "\(readable)")
    for (argument, words) in [("notes@99", "nothing is at"), ("nope@1", "no zone “nope”")] {
      let wrong = await run("remote", remote, "--quarantine", argument)
      #expect(wrong.exit == 2 && wrong.errors.contains(words), "\(wrong)")
    }
    let first = await sync("a")
    let second = await sync("c", "--create-store", seed: 3)
    #expect(first.exit == 0 && second.exit == 0, "\(first) \(second)")
    let digests = (await digest("a"), await digest("c"))
    #expect(digests.0 == digests.1 && digests.0.contains("notes"))
  }

  @Test("offsets are printed in decimal, as in options", arguments: [17, 18])
  func decimalOffsets(offset: UInt64) async throws {
    try await shipped()
    for number in 4...18 {
      try await write("a", "record \(number)", seed: 12)
      try #require(await sync("a").exit == 0)
    }
    try Data(count: 300).write(to: try await file(offset))
    let parked = await sync("b", "--create-store", seed: 5)
    #expect(parked.output.contains("parked at offset \(offset)"), "\(parked)")
    let command = "replay remote \(remote) --quarantine notes@\(offset)`"
    #expect(parked.output.contains(command), "\(parked)")
    let unsound = await run("remote", remote)
    #expect(unsound.output.contains("problem  notes@\(offset)  logs/"), "\(unsound)")
    #expect(unsound.output.contains(command), "\(unsound)")
    #expect(!unsound.output.contains("ZONE") && !unsound.output.contains("OFFSET"), "\(unsound)")
    let json = await run("remote", remote, "--json")
    #expect(json.output.contains(#""entry":"notes@\#(offset)""#), "\(json)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  notes@\(offset)\n"), "\(mended)")
  }

  @Test(
    "a folder of the remote is lost: reported, not treated as empty, and only --repair creates and fills it",
    arguments: ["zones", "logs"])
  func lostFolder(name: String) async throws {
    try await shipped()
    let before = await digest("a")
    try FileManager.default.removeItem(atPath: "\(folder)/\(name)")
    try await write("a", "late", seed: 12)
    let stuck = await sync("a")
    // Without the list of zones there is no round; without the logs each zone waits.
    #expect(stuck.exit == (name == "zones" ? 4 : 1), "\(stuck)")
    let words = stuck.output + stuck.errors
    #expect(words.contains("has no folder `\(name)` any more"), "\(stuck)")
    #expect(words.contains("`replay remote \(remote) --repair \(path("a"))`"), "\(stuck)")
    let listed = await run("remote", remote)
    #expect(
      listed.exit == 1 && listed.output.contains("problem  \(name)/: this folder is missing"), "\(listed)")
    #expect(listed.output.contains("`replay remote \(remote) --repair STORE`"), "\(listed)")
    #expect(!listed.output.contains("--quarantine"), "\(listed)")
    // A store of another remote, and one without a remote, create nothing.
    try await write("other", "first", seed: 20)
    let local = await run("remote", remote, "--repair", path("other"))
    #expect(local.exit != 0 && (local.output + local.errors).contains("has no folder `\(name)`"), "\(local)")
    let elsewhere = "folder:\(temporary.path)/elsewhere"
    let made = await run(
      "sync", path("other"), "--remote", elsewhere, "--create-remote", "--attach", "notes", seed: 21)
    try #require(made.exit == 0, "\(made)")
    let refused = await run("remote", remote, "--repair", path("other"))
    #expect(refused.exit == 2 && refused.errors.contains("another remote"), "\(refused)")
    #expect(!FileManager.default.fileExists(atPath: "\(folder)/\(name)"))
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  \(name)/\n"), "\(mended)")
    #expect(mended.output.hasSuffix("\nsound\n"), "\(mended)")
    let again = await sync("a")
    #expect(again.exit == 0 && again.output.contains("sent 1 transaction"), "\(again)")
    #expect(await sync("b", "--create-store", seed: 5).exit == 0)
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1 && digests.0 != before)
  }

  @Test("a directory at the next offset: the entry was never written, it is given up, and nothing is lost")
  func foreignDirectory() async throws {
    try await shipped()
    let foreign = try await file(4)
    try FileManager.default.createDirectory(at: foreign, withIntermediateDirectories: false)
    try await write("a", "late", seed: 12)
    let parked = await sync("a")
    #expect(
      parked.output.contains("parked at offset 4") && parked.output.contains("move it away"), "\(parked)")
    try FileManager.default.removeItem(at: foreign)
    let command = "`replay remote \(remote) --quarantine notes@4`"
    for told in [parked, await sync("b", "--create-store", seed: 5), await run("remote", remote)] {
      #expect(told.exit == 1 && told.output.contains("may never have been written"), "\(told)")
      #expect(told.output.contains(command), "\(told)")
    }
    let unknown = await run("remote", remote, "--repair", path("a"))
    #expect(unknown.exit == 1 && unknown.output.hasPrefix("unknown  notes@4: "), "\(unknown)")
    #expect(unknown.output.contains("may never have been written"), "\(unknown)")
    #expect(await run("remote", remote, "--quarantine", "notes@4").exit == 0)
    #expect(await sync("a").exit == 0)
    #expect(await sync("b", seed: 5).exit == 0)
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1)
  }

  @Test("a hole in the middle: reported, put back from a store that has it, and read on")
  func repair() async throws {
    try await shipped()
    try FileManager.default.removeItem(at: try await file(2))
    let parked = await sync("d", "--create-store", seed: 4)
    #expect(parked.exit == 1 && parked.output.contains("parked at offset 2"), "\(parked)")
    let unsound = await run("remote", remote)
    #expect(unsound.exit == 1 && unsound.output.contains("0000000000000002"), "\(unsound)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  notes@2\n"), "\(mended)")
    #expect(mended.output.hasSuffix("\nsound\n"))
    #expect(await sync("d", seed: 4).exit == 0)
    let digests = (await digest("a"), await digest("d"))
    #expect(digests.0 == digests.1)
  }

  @Test("an unreadable event of the list of zones: reported, and given up")
  func quarantineOfAnEvent() async throws {
    try await shipped()
    let file = URL(fileURLWithPath: "\(folder)/\(ObjectName.zoneEvent(2))")
    try Data(count: 200).write(to: file)
    let held = await sync("d", "--create-store", seed: 4)
    #expect(held.exit == 1 && held.output.contains("the list of zones waits at event 2"), "\(held)")
    #expect(held.output.contains("received 3 transactions"))
    let given = await run("remote", remote, "--quarantine", "@2")
    #expect(given.exit == 0 && given.output.contains("event 2 of the list of zones"), "\(given)")
    #expect(await sync("d", seed: 4).exit == 0)
  }

  @Test("the event of a log is given up: the log is reported, and a store of its zone adds an event")
  func eventOfALogGivenUp() async throws {
    try await shipped()
    let file = URL(fileURLWithPath: "\(folder)/\(ObjectName.zoneEvent(1))")
    try Data(count: 200).write(to: file)
    let given = await run("remote", remote, "--quarantine", "@1")
    #expect(given.exit == 1 && given.output.contains("no event of the list of zones names"), "\(given)")
    #expect(given.output.contains("`replay remote \(remote) --repair STORE`"), "\(given)")
    #expect(!given.output.contains("--quarantine") && !given.output.contains("sound"), "\(given)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  @2\n"), "\(mended)")
    #expect(mended.output.hasSuffix("\nsound\n"), "\(mended)")
    let first = await sync("a")
    let second = await sync("d", "--create-store", seed: 4)
    #expect(first.exit == 0 && second.exit == 0, "\(first) \(second)")
    let digests = (await digest("a"), await digest("d"))
    #expect(digests.0 == digests.1 && digests.0.contains("notes"))
  }

  @Test("the last event of the list of zones is lost: reported with advice, and put back")
  func lostEvent() async throws {
    try await shipped()
    let file = URL(fileURLWithPath: "\(folder)/\(ObjectName.zoneEvent(1))")
    let bytes = try Data(contentsOf: file)
    try FileManager.default.removeItem(at: file)
    let stuck = await sync("a")
    #expect(
      stuck.exit != 0 && (stuck.output + stuck.errors).contains("replay remote \(remote) --repair"),
      "\(stuck)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 0 && mended.output.hasPrefix("put back  @1\n"), "\(mended)")
    #expect(try Data(contentsOf: file) == bytes)
    #expect(await sync("a").exit == 0)
  }

  @Test("others have added an event where one was lost: the command says how the store reads the list again")
  func listIsOther() async throws {
    try await shipped()
    try FileManager.default.removeItem(atPath: "\(folder)/\(ObjectName.zoneEvent(1))")
    // Another store, which has not read that event, makes a zone.
    let store = try ShoppingStore.open(path("b"), TestClock(ShoppingStore.start), SharedBits(20))
    try await store.write { tx in
      let zone = ZoneID(name: "later")
      try tx.createZone(zone)
      try tx.create(RecordID(zone: zone, name: "one"), type: "note", fields: ["n": 1])
    }
    store.close()
    let other = await sync("b", "--attach", "later", seed: 21)
    #expect(other.exit == 0, "\(other)")
    let mended = await run("remote", remote, "--repair", path("a"))
    #expect(mended.exit == 1 && mended.output.hasPrefix("put back  @2\n"), "\(mended)")
    #expect(mended.output.contains("The list of zones is another one than the store has read"), "\(mended)")
    #expect(mended.output.contains(" --reread notes@4`"), "\(mended)")
    #expect(await sync("a").exit != 0)
    let read = await sync("a", "--reread", "notes@4")
    #expect(read.exit == 0, "\(read)")
    let again = await run("remote", remote, "--repair", path("a"))
    #expect(again.exit == 0 && again.output.hasSuffix("\nsound\n"), "\(again)")
    for (name, seed) in [("b", 22), ("a", 23)] as [(String, UInt64)] {
      #expect(await sync(name, seed: seed).exit == 0)
    }
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1 && digests.0.contains("notes") && digests.0.contains("later"))
  }

  @Test("an event whose zone was created again is not put back: readers would lose the new log")
  func madeAgain() async throws {
    try await shipped()
    let file = URL(fileURLWithPath: "\(folder)/\(ObjectName.zoneEvent(1))")
    try Data(count: 300).write(to: file)
    try await write("b", "other", seed: 20)
    let made = await sync("b", "--attach", "notes", seed: 21)
    #expect(made.output.contains("sent 1 transaction"), "\(made)")
    let repaired = await run("remote", remote, "--repair", path("a"))
    #expect(repaired.output.contains("refused  @1: its zone was made again since"), "\(repaired)")
    try await write("b", "more", seed: 22)
    let again = await sync("b", seed: 23)
    #expect(again.output.contains("sent 1 transaction"), "\(again)")
  }

  @Test("a copied log of another remote: the advice applies to it")
  func copiedLog() async throws {
    try await shipped()
    let logs = URL(fileURLWithPath: "\(folder)/logs")
    let log = try await file(1).deletingLastPathComponent().deletingLastPathComponent()
    let other = logs.appendingPathComponent(String(repeating: "5", count: 32))
    try FileManager.default.copyItem(at: log, to: other)
    for arguments in [["remote", remote], ["remote", remote, "--repair", path("a")]] {
      let told = await Tool().run(arguments)
      #expect(told.exit == 1 && told.output.contains("its directory, such as logs/5555"), "\(told)")
      #expect(told.output.contains("may be moved away") && !told.output.contains("--quarantine"), "\(told)")
    }
    try FileManager.default.removeItem(at: other)
    #expect(await run("remote", remote).output.hasSuffix("\nsound\n"))
  }

  @Test("the marker of the remote is put back by a store that was synced there, and by no other")
  func marker() async throws {
    try await shipped()
    let file = URL(fileURLWithPath: "\(folder)/\(ObjectName.marker)")
    let right = try Data(contentsOf: file)
    try await write("other", "first", seed: 20)
    let elsewhere = "folder:\(temporary.path)/elsewhere"
    let made = await run(
      "sync", path("other"), "--remote", elsewhere, "--create-remote", "--attach", "notes", seed: 21)
    try #require(made.exit == 0, "\(made)")
    var damaged = right
    damaged[10] ^= 1
    for bytes in [nil, Data(count: 26), damaged] {
      try FileManager.default.removeItem(at: file)
      try bytes?.write(to: file)
      let refused = await run("remote", remote, "--repair", path("other"))
      #expect(
        refused.exit != 0 && refused.errors.contains("replay remote \(remote) --repair STORE"), "\(refused)")
      let mended = await run("remote", remote, "--repair", path("a"))
      #expect(mended.exit == 0 && mended.output.hasPrefix("put back  remote\n"), "\(mended)")
      #expect(try Data(contentsOf: file) == right)
    }
    #expect(await sync("a").exit == 0)
  }

  @Test(
    "a given-up entry is sent again by the store that has folded it, also after export and import"
  )
  func standsOnIt() async throws {
    try await shipped()
    try Data(count: 300).write(to: try await file(3))
    #expect(await sync("a").exit == 1)
    #expect(await run("remote", remote, "--quarantine", "notes@3").exit == 0)
    let again = await sync("a")
    #expect(again.exit == 0 && again.output.contains("sent 1 transaction"), "\(again)")
    let other = await sync("b", "--create-store", seed: 5)
    #expect(other.exit == 0 && other.output.contains("received 3 transactions"), "\(other)")
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1)
    let log = "\(temporary.path)/log.jsonl"
    #expect(await run("export", path("b"), "--output", log).exit == 0)
    #expect(await run("import", path("i"), log, seed: 6).exit == 0)
    #expect(await digest("i") == digests.0)
    let imported = await sync("i", seed: 6)
    #expect(imported.exit == 0 && imported.output.contains("received nothing"), "\(imported)")
    #expect(await run("verify", path("i")).exit == 0)
  }

  @Test(
    "giving up an entry that its writer had read past: reports all that readers leave out, and the remedy"
  )
  func closedLane() async throws {
    try await shipped()
    try FileManager.default.removeItem(at: try await file(2))
    #expect(await run("remote", remote, "--quarantine", "notes@2").exit == 0)
    try await write("a", "late", seed: 12)
    #expect(await sync("a").exit == 0)
    let reader = await sync("c", "--create-store", seed: 3)
    #expect(reader.output.contains("rejected 2 segments: `replay info`"), "\(reader)")
    let listed = await run("remote", remote)
    #expect(listed.exit == 0 && listed.output.contains("closed at offset 3"), "\(listed)")
    for offset in [3, 4] { #expect(listed.output.contains("000000000000000\(offset): "), "\(listed)") }
    #expect(listed.output.contains("readers have closed its writer's lane at offset 3"), "\(listed)")
    let command = "replay sync STORE --remote \(remote) --reread notes@2"
    #expect(listed.output.contains("`\(command)`"), "\(listed)")
    let json = await run("remote", remote, "--json")
    #expect(json.output.contains(command) && json.output.contains(#""closedAt":3"#), "\(json)")
    // Its advice helps.
    #expect(await sync("a", "--reread", "notes@2").exit == 0)
    #expect(await sync("c", seed: 3).exit == 0)
    let digests = (await digest("a"), await digest("c"))
    #expect(digests.0 == digests.1)
  }

  @Test("a log that was tampered with and repaired is read again with --reread")
  func reread() async throws {
    try await shipped()
    let third = try await file(3)
    let right = try Data(contentsOf: third)
    let incarnation = try #require(
      try await FolderRemote.open(directory: folder).zoneEvents(after: nil).events.first
    )
    .incarnation
    var maker = SegmentMaker(ZoneID(name: "notes"), incarnation, replica: ReplicaID(rawValue: 77))
    let bytes = SegmentEnvelope.encode(
      offset: 3, receivedMilliseconds: nil, chain: nil, segment: try maker.next().bytes.span.bytes)
    try Data(bytes).write(to: third)
    #expect(await sync("b", "--create-store", seed: 5).exit == 0)
    try right.write(to: third)
    let replaced = await run("remote", remote, "--repair", path("b"))
    #expect(replaced.exit == 1 && replaced.output.contains("replaced  notes@3"), "\(replaced)")
    #expect(
      replaced.output.contains("`replay sync \(path("b")) --remote \(remote) --reread notes@3`"),
      "\(replaced)")
    for (argument, words) in [
      ("nope@3", "the store has no zone “nope”"), ("notes@x", "“notes@x” does not name an offset of a log"),
      ("notes@0", "“notes@0” does not name an offset"), ("notes@99", "up to offset 3, not 99"),
    ] {
      let wrong = await sync("b", "--reread", argument, seed: 5)
      #expect(wrong.exit == 2 && wrong.errors.contains(words) && wrong.output == "", "\(wrong)")
    }
    let mended = await sync("b", "--reread", "notes@3", seed: 5)
    #expect(mended.exit == 0, "\(mended)")
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1)
    #expect(await run("verify", path("b")).exit == 0)
    #expect(await sync("b", seed: 5).exit == 0)
  }

  @Test("without that, a store keeps what it has read there, and sends it again")
  func parted() async throws {
    try await shipped()
    let third = try await file(3)
    let right = try Data(contentsOf: third)
    try FileManager.default.removeItem(at: third)
    #expect(await sync("b", "--create-store", seed: 5).exit == 0)
    try await write("b", "other", seed: 13)
    #expect(await sync("b", seed: 5).exit == 0)
    let other = try Data(contentsOf: third)
    #expect(other != right)
    let parted = await sync("a")
    #expect(parted.exit == 0, "\(parted)")
    #expect(parted.output.contains("another log than was read, from offset 3 on"), "\(parted)")
    let json = await sync("a", "--json")
    #expect(json.output.contains(#""putBack":0"#) && !json.output.contains("partedAt"), "\(json)")
    #expect(await sync("b", seed: 5).exit == 0)
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1)
    #expect(await run("remote", remote).exit == 0)
  }

  @Test("entries after an unreadable one are not separate problems")
  func behindDamage() async throws {
    try await shipped()
    try Data(count: 300).write(to: try await file(2))
    let audit = await run("remote", remote)
    #expect(audit.exit == 1 && audit.output.contains("0000000000000002 cannot be read"), "\(audit)")
    #expect(audit.output.split(separator: "\n").count { $0.hasPrefix("problem") } == 1, "\(audit)")
    let repaired = await run("remote", remote, "--repair", path("a"))
    #expect(repaired.exit == 0 && repaired.output.contains("\nsound\n"), "\(repaired)")
  }

  @Test("a segment whose writer begins at sequence 5 is left out; every device and the audit say why")
  func beginsAtFive() async throws {
    try await shipped()
    let incarnation = try #require(
      try await FolderRemote.open(directory: folder).zoneEvents(after: nil).events.first
    )
    .incarnation
    var maker = SegmentMaker(ZoneID(name: "notes"), incarnation, replica: ReplicaID(rawValue: 77))
    for _ in 1...4 { _ = try maker.next() }
    let bytes = SegmentEnvelope.encode(
      offset: 4, receivedMilliseconds: nil, chain: nil, segment: try maker.next().bytes.span.bytes)
    try Data(bytes).write(to: try await file(4))
    let audit = await run("remote", remote)
    #expect(
      audit.exit == 0 && audit.output.contains("it begins at sequence 5, and its writer has none before it"))
    #expect(audit.output.contains("\nnothing to repair; readers leave out 1 segment\n"), "\(audit)")
    #expect(!audit.output.contains("--repair") && !audit.output.contains("--quarantine"), "\(audit)")
    let round = await sync("a")
    #expect(round.exit == 0 && round.output.contains("rejected 1 segment"), "\(round)")
    let info = await run("info", path("a"))
    #expect(
      info.output.contains("offset 4 of ") && info.output.contains("do not follow its writer's last one"))
    // A rejected segment stays rejected after export and import.
    let log = "\(temporary.path)/log.jsonl"
    #expect(await run("export", path("a"), "--output", log).exit == 0)
    #expect(await run("import", path("i"), log, seed: 6).exit == 0)
    let imported = await run("info", path("i"))
    #expect(imported.output.contains("do not follow its writer's last one"), "\(imported)")
    #expect(await run("verify", path("i")).exit == 0)
  }
}
