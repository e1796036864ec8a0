import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

/// The milk of ``ShoppingStore`` moves to another zone, while dave changes its title.
@Suite("Moves in the output")
struct MovesTold {
  private static let done = ZoneID(name: "done")
  private static let dave = ReplicaID(rawValue: 0xda7e_0000_0000_0000_0000_0000_0000_0004)
  let tool = Tool()

  private func makeStore(isEdited: Bool = true) async throws -> ShoppingStore {
    let shopping = try await ShoppingStore()
    let store = try ShoppingStore.open(shopping.path, TestClock(ShoppingStore.start + 400_000))
    defer { store.close() }
    try await store.write { tx in
      tx.author = "ann"
      try tx.createZone(Self.done)
      try tx.move(ShoppingStore.milk, to: Self.done)
    }
    guard isEdited else { return shopping }
    let edit = LogTransaction(
      replica: Self.dave, epoch: 0, sequence: 1, zone: ShoppingStore.zone,
      base: Base(incarnation: ShoppingStore.incarnation, offset: 3),
      timestamp: Timestamp(milliseconds: UInt64(ShoppingStore.start + 500_000), counter: 0), author: "dave",
      operations: [.set(record: "milk", type: "item", field: "title", value: "Soy milk")])
    _ = try await store.ingest([
      RemoteSegment(
        zone: ShoppingStore.zone, incarnation: ShoppingStore.incarnation, offset: 4, hash: .zero,
        receivedMilliseconds: nil, transactions: [try edit.encoded()])
    ])
    return shopping
  }

  private func page(_ arguments: String..., isEdited: Bool = true) async throws -> String {
    let store = try await makeStore(isEdited: isEdited)
    let result = await tool.run([arguments[0], store.path] + arguments.dropFirst())
    return result.output + result.errors
  }

  @Test("the log and a transaction have the other place")
  func log() async throws {
    let log = try await page("log", "--operations", "--after", "4", isEdited: false)
    #expect(
      log == """
        5  2026-01-31T09:06:40.000Z  3f2a1b4c  ann  shopping  -  1 operation
            move  milk  to done:milk
        6  2026-01-31T09:06:40.000Z  3f2a1b4c  ann  done      -  3 operations
            move here  milk  item  from shopping:milk
            set  milk  amount  3
            set  milk  title  "Buy milk"

        """)
    let shown = try await page("show", "6")
    #expect(shown.contains("\n0  move here  milk  item    from shopping:milk\n"), "\(shown)")
    let away = try await page("log", "--operations", "--json", "--record", "shopping:milk", "--author", "ann")
    #expect(away.contains(#""operations":[{"kind":"moveAway","record":"milk","to":"done:milk"}]"#), "\(away)")
    let here = try await page("show", "6", "--json")
    #expect(
      here.contains(#"{"from":"shopping:milk","kind":"moveHere","record":"milk","type":"item"}"#), "\(here)")
  }

  @Test("a source that survives is listed with its copy")
  func conflicts() async throws {
    let listed = try await page("conflicts", "shopping")
    #expect(
      listed.contains(
        """
        shopping:milk  existence
          won   alive as item       dave  da7e0000  2026-01-31T09:08:20.000Z  position 7
          lost  moved to done:milk  ann   3f2a1b4c  2026-01-31T09:06:40.000Z  position 5

        """), "\(listed)")
    let json = try await page("conflicts", "shopping", "--json")
    #expect(json.contains(#""losers":[{"alive":false,"movedTo":"done:milk","#), "\(json)")
    let none = try await page("conflicts", "shopping", isEdited: false)
    #expect(!none.contains("shopping:milk  existence"), "\(none)")
  }

  @Test("an explanation of the copy leads to the source, one of the source to the copy")
  func explained() async throws {
    let short = try await page("explain", "done:milk")
    #expect(
      short == """
        done:milk  is there

          existence    alive as item  ann  3f2a1b4c  2026-01-31T09:06:40.000Z  position 6
          amount       3              ann  3f2a1b4c  2026-01-31T09:06:40.000Z  position 6
          title        "Buy milk"     ann  3f2a1b4c  2026-01-31T09:06:40.000Z  position 6

        It was moved here from shopping:milk, where its story begins.

        For the whole history name a field, or give --existence.

        """)
    let existence = try await page("explain", "done:milk", "--existence")
    #expect(existence.contains("  Moved here from shopping:milk by ann on replica 3f2a1b4c"), "\(existence)")
    let title = try await page("explain", "done:milk", "title")
    #expect(
      title.hasSuffix(
        """

        The record was moved here from shopping:milk: `replay explain … shopping:milk` tells what was before.

        """), "\(title)")
    let json = try await page("explain", "done:milk", "title", "--json")
    #expect(json.contains(#""movedFrom":"shopping:milk""#), "\(json)")
    let source = try await page("explain", "shopping:milk", isEdited: false)
    #expect(
      source.hasPrefix(
        """
        shopping:milk  was moved to done:milk

          existence        moved to done:milk  ann  3f2a1b4c  2026-01-31T09:06:40.000Z  position 5

        """), "\(source)")
    #expect(source.contains("\n\nIt is now done:milk.\n\nFor the whole history"), "\(source)")
    let placed = try await page("explain", "shopping:milk", "--json", isEdited: false)
    #expect(placed.contains(#""place":{"is":"here","record":"done:milk"}"#), "\(placed)")
    let gone = try await page("explain", "shopping:milk", "--existence", isEdited: false)
    #expect(gone.contains("The record is not there.\nIt is now done:milk.\n"), "\(gone)")
    let why = try await page("explain", "shopping:milk", "--existence")
    #expect(!why.contains("It is now"), "\(why)")
    #expect(
      why.contains(
        """
        Lost to it:
          Moved to done:milk
            Moved by ann on replica 3f2a1b4c (this store) at 2026-01-31T09:06:40.000Z (position 5).
        """), "\(why)")
    let whyJSON = try await page("explain", "shopping:milk", "--existence", "--json")
    #expect(whyJSON.contains(#""movedTo":"done:milk""#) && !whyJSON.contains("movedFrom"), "\(whyJSON)")
  }

  @Test("a record that has moved is shown as moved")
  func state() async throws {
    let hidden = try await page("state", "shopping", "--hidden", isEdited: false)
    #expect(
      hidden.hasSuffix(
        """
        shopping:milk  moved to done:milk at 2026-01-31T09:06:40.000Z
          amount  3
          title   "Buy milk"

        """), "\(hidden)")
    let one = try await page("state", "shopping:milk", isEdited: false)
    #expect(one.hasPrefix("error: the record shopping:milk was moved to done:milk\n"), "\(one)")
  }

  @Test("the records that moved away are listed with where they are now")
  func listed() async throws {
    let shopping = try await makeStore(isEdited: false)
    let path = shopping.path
    func listed(_ arguments: String...) async -> String {
      let result = await tool.run(["state", path, "--moved"] + arguments)
      return result.output + result.errors
    }
    #expect(await listed() == "shopping:milk  done:milk\n")
    #expect(await listed("done") == "no record has moved away\n")
    #expect(
      await listed("shopping", "--limit", "0") == "… and 1 more record: --limit 1 or --json shows all\n")
    func write(_ body: @escaping @Sendable (inout WriteTransaction) throws -> Void) async throws {
      let store = try ShoppingStore.open(path, TestClock(ShoppingStore.start + 500_000))
      defer { store.close() }
      try await store.write(body)
    }
    try await write { tx in
      try tx.createZone(ZoneID(name: "past"))
      _ = try tx.move(RecordID(zone: Self.done, name: "milk"), to: ZoneID(name: "past"))
    }
    #expect(
      await listed() == """
        done:milk      past:milk
        shopping:milk  done:milk  now past:milk

        """)
    let json = #"{"movedTo":"done:milk","place":{"is":"here","record":"past:milk"},"record":"shopping:milk"}"#
    #expect(await listed("shopping", "--json") == json + "\n")
    try await write { try $0.delete(RecordID(zone: ZoneID(name: "past"), name: "milk")) }
    #expect(await listed("shopping") == "shopping:milk  done:milk  now past:milk, does not exist\n")
    let hidden = await tool.run(["state", path, "shopping", "--hidden", "--json"]).output
    #expect(hidden.contains(#""place":{"is":"nowhere","record":"past:milk"}"#), "\(hidden)")
    try await write { try $0.deleteZone(ZoneID(name: "past")) }
    #expect(await listed("done") == "done:milk  past:milk  not in this store\n")
    #expect(await tool.run(["state", path, "shopping", "--moved", "--hidden"]).exit != 0)
    #expect(await tool.run(["state", path, "shopping:milk", "--moved"]).exit != 0)
  }

  @Test("names from other zones cannot control a terminal")
  func hostileNames() async throws {
    let shopping = try await ShoppingStore()
    let store = try ShoppingStore.open(shopping.path)
    let place = RecordID(zone: ZoneID(owner: "\u{9b}o", name: "z"), name: "a\u{1b}[2J\nb")
    let moved = LogTransaction(
      replica: Self.dave, epoch: 0, sequence: 1, zone: ShoppingStore.zone,
      timestamp: Timestamp(milliseconds: 1, counter: 0),
      operations: [.moveAway(record: "x", to: place), .moveHere(record: "y", type: "t", from: place)])
    _ = try await store.ingest([
      RemoteSegment(
        zone: ShoppingStore.zone, incarnation: ShoppingStore.incarnation, offset: 4, hash: .zero,
        receivedMilliseconds: nil, transactions: [try moved.encoded()])
    ])
    store.close()
    for arguments in [
      ["log", shopping.path, "--operations"], ["explain", shopping.path, "shopping:x"],
      ["explain", shopping.path, "shopping:y"], ["explain", shopping.path, "shopping:y", "--existence"],
      ["state", shopping.path, "--hidden"], ["show", shopping.path, "5"],
    ] {
      let result = await tool.run(arguments)
      #expect(result.exit == 0 && result.output.contains("a\\u{1B}[2J\\nb"), "\(result)")
      #expect(!result.output.unicodeScalars.contains { $0 == "\u{1b}" || $0 == "\u{9b}" })
    }
  }

  @Test("a log has the same moves after an export and an import")
  func exported() async throws {
    let shopping = try await makeStore()
    let exported = await tool.run("export", shopping.path)
    let other = shopping.temporary.path + "/other"
    let imported = await tool.run("import", other, input: Array(exported.output.utf8))
    #expect(imported.exit == 0, "\(imported)")
    for command in [["conflicts"], ["digest"]] {
      let results = await (tool.run(command + [shopping.path]), tool.run(command + [other]))
      #expect(results.0.output == results.1.output)
    }
  }
}
