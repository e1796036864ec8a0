import EventStore
import OperationFormat
import Replicator
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("`replay compact`, and what it leaves")
struct CompactedStores {
  private let temporary = TemporaryDirectory()
  private let zone = ZoneID(name: "notes")
  private var path: String { "\(temporary.path)/notes.store" }
  private var remote: String { "folder:\(temporary.path)/remote" }

  private func run(_ arguments: String...) async -> Tool.Result { await Tool(seed: 1).run(arguments) }

  /// A store that has sent a note, its changes, and a deleted one.
  private func makeStore() async throws {
    let folder = try await FolderRemote.create(directory: temporary.path + "/remote")
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start), SharedBits(1))
    let (kept, gone) = (RecordID(zone: zone, name: "kept"), RecordID(zone: zone, name: "gone"))
    try await store.write { tx in
      try tx.createZone(zone)
      try tx.attachZone(zone)
      try tx.create(kept, type: "note", fields: ["title": "one"])
      try tx.create(gone, type: "note", fields: ["title": "two"])
      try tx.insertText("all of it", at: 0, in: "body", of: kept)
      try tx.insertText("a story", at: 0, in: "story", of: gone)
    }
    try await store.write { tx in
      try tx.set("title", of: kept, to: "three")
      try tx.removeText(3..<9, from: "body", of: kept)
      try tx.delete(gone)
    }
    _ = try await LogReplicator(store: store, remote: folder).syncOnce()
    store.close()
  }

  @Test("says what would go, names a floor, and info, log and explain tell of it")
  func compacts() async throws {
    try await makeStore()
    let young = await run("compact", path)
    #expect(
      young.exit == 0
        && young.output.contains("what comes next came less than 30d before the log's newest entry")
        && !young.output.contains("--write does it"), "\(young.output)")
    let plan = await run("compact", path, "--older-than", "0s")
    #expect(
      plan.exit == 0
        && plan.output.contains(
          "the floor would be 1, and these go: 1 deleted record, 13 removed elements or characters")
        && plan.output.contains("--write does it"), "\(plan.output)\(plan.errors)")
    let before = await run("state", path)
    let written = await run("compact", path, "--older-than", "0s", "--write", "--json")
    #expect(
      written.output.contains("\"next\":1,") && written.output.contains("\"written\":true"),
      "\(written.output)")
    let synced = await run("sync", path, "--remote", remote)
    #expect(synced.exit == 0, "\(synced.output)\(synced.errors)")
    #expect(await run("state", path).output == before.output)
    let info = await run("info", path)
    #expect(info.output.contains("compacted") && info.output.contains("up to offset 1"), "\(info.output)")
    let log = await run("show", path, "3")
    #expect(log.output.contains("compact"), "\(log.output)")
    let lines = await run("show", path, "3", "--json")
    #expect(lines.output.contains("{\"floor\":1,\"kind\":\"compact\"}"), "\(lines.output)")
    let why = await run("explain", path, "notes:kept", "title")
    #expect(
      why.exit == 0 && why.output.contains("compacted up to offset 1: by which transaction is not known")
        && why.output.contains("compacted up to offset 1"), "\(why.output)\(why.errors)")
    #expect(await run("verify", path).exit == 0)
    let again = await run("compact", path, "--older-than", "0s", "--zone", "notes")
    #expect(again.exit == 0 && again.output == "notes  stays at the floor 1\n", "\(again.output)")
    let list = await run("log", path)
    #expect(list.output.contains("compacts up to offset 1"), "\(list.output)")
  }

  @Test("names the writers that hold the floor back, and writes the floor that it has said")
  func heldBack() async throws {
    try await makeStore()
    let other = "\(temporary.path)/other.store"
    #expect(await Tool(seed: 2).run("sync", other, "--remote", remote, "--create-store").exit == 0)
    for (index, place) in [other, path, path].enumerated() {
      let store = try ShoppingStore.open(place, TestClock(ShoppingStore.start), SharedBits(9 + UInt64(index)))
      try await store.write { [zone] tx in
        tx.author = place == other ? "bob" : "ann"
        try tx.create(RecordID(zone: zone, name: Name("n\(index)")), type: "note")
      }
      store.close()
      #expect(await Tool(seed: 20 + UInt64(index)).run("sync", place, "--remote", remote).exit == 0)
    }
    let plan = await run("compact", path, "--older-than", "0s")
    #expect(plan.output.contains("held back by writers that have not seen more: bob on replica "), "\(plan)")
    #expect(plan.output.contains(" (wrote last at 2026-01-31T09:00:00.") && !plan.output.contains("1970"))
    let written = await run("compact", path, "--older-than", "0s", "--write")
    let floor = plan.output.split(separator: "the floor would be ").last?.prefix { $0.isNumber } ?? "none"
    #expect(written.output.contains("named the floor \(floor)"), "\(written)")
    // What is named and not sent yet is named again, and nothing else.
    let again = await run("compact", path, "--older-than", "0s")
    #expect(again.output.contains("the floor would be \(floor)"), "\(again)")
  }

  @Test("explains a record that was dropped, and its fields, by the floor and by what the log tells")
  func dropped() async throws {
    try await makeStore()
    let before = await run("explain", path, "notes:gone")
    #expect(before.exit == 0 && before.output.contains("is deleted"), "\(before.output)")
    _ = await run("compact", path, "--older-than", "0s", "--write")
    _ = await run("sync", path, "--remote", remote)
    let record = await run("explain", path, "notes:gone")
    #expect(
      record.exit == 0 && record.output.contains("was dropped by the floor at offset 1")
        && record.output.contains("Nothing of it is left"), "\(record.output)\(record.errors)")
    let json = await run("explain", path, "notes:gone", "--json")
    #expect(json.exit == 0 && json.output.contains("\"droppedAt\":1"), "\(json.output)\(json.errors)")
    let existence = await run("explain", path, "notes:gone", "--existence")
    #expect(
      existence.exit == 0 && existence.output.contains("Only a creation brings it back")
        && existence.output.contains("compacted up to offset 1"), "\(existence.output)\(existence.errors)")
    let field = await run("explain", path, "notes:gone", "title")
    #expect(
      field.exit == 0 && field.output.contains("was dropped by the floor at offset 1"),
      "\(field.output)\(field.errors)")
    let text = await run("explain", path, "notes:gone", "story")
    #expect(text.output.contains("only the numbers are left"), "\(text.output)\(text.errors)")
    let none = await run("explain", path, "notes:gone", "colour")
    #expect(none.exit != 0 && none.errors.contains("tells of no field"), "\(none.errors)")
    let never = await run("explain", path, "notes:never")
    #expect(never.exit != 0 && never.errors.contains("there is no record"), "\(never.errors)")
  }

  @Test("refuses a zone that was never synced, and what is no age")
  func refuses() async throws {
    let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start), SharedBits(1))
    try await store.write { tx in _ = try tx.createZone(zone) }
    store.close()
    let local = await run("compact", path, "--zone", "notes")
    #expect(local.exit != 0 && local.errors.contains("attach and sync it first"), "\(local.errors)")
    let none = await run("compact", path)
    #expect(none.exit == 0 && none.output.contains("no zone was ever synced"), "\(none.output)")
    let age = await run("compact", path, "--horizon", "soon")
    #expect(age.exit != 0 && age.errors.contains("is not an age"), "\(age.errors)")
  }
}
