import EventStore
import OperationFormat
import StoreTesting
import Testing

@testable import ReplayTool

/// The output of one command for the shopping store, for people.
typealias GoldenPage = (title: String, arguments: [String], text: String)

func print(_ page: GoldenPage) async throws -> String {
  let store = try await ShoppingStore()
  let result = await Tool().run([page.arguments[0], store.path] + page.arguments.dropFirst())
  var text = result.errors + result.output.replacing(store.path, with: "STORE")
  // Tables and sizes depend on LMDB, and on the machine's page size.
  if let tables = text.firstRange(of: "\ntable  ") { text.removeSubrange(tables.lowerBound...) }
  return text.replacing(/file {5}[0-9,]+ bytes/, with: "file     N bytes")
}

@Suite("Pages that show a store")
struct PagesThatShow {
  static let pages: [GoldenPage] = [
    (
      "info counts", ["info"],
      #"""
      store    STORE
      replica  3f2a1b4c000000013f2a1b4c00000001
      format   7
      file     N bytes
      log      positions 1 to 4
      clock    2026-01-31T09:01:02.100Z, counter 0, 58.9 min before the wall clock

      zone shopping
        records       1, 1 hidden
        transactions  4
        pending       1
        conflicts     3
        attachment    local
        token         offset 3 of incarnation 77aa0000000000000000000000000001
        replicas      3f2a1b4c000000013f2a1b4c00000001, epoch 0, up to sequence 2, this store
                      9c1f03aa000000000000000000000002, epoch 0, up to sequence 1
                      ca701000000000000000000000000003, epoch 0, up to sequence 1

      """#
    ),
    (
      "log lists transactions", ["log"],
      #"""
      1  2026-01-31T09:00:00.000Z  3f2a1b4c  ann  shopping  Shopping for the weekend  5 operations
      2  2026-01-31T09:01:02.100Z  3f2a1b4c  ann  shopping  Rename                    2 operations
      3  2026-01-31T09:01:00.000Z  9c1f03aa  bob  shopping  -                         3 operations
      4  2099-01-01T00:00:00.000Z  ca701000  -    shopping  -                         1 operation

      """#
    ),
    (
      "log lists operations, the last first", ["log", "--operations", "--reverse"],
      #"""
      4  2099-01-01T00:00:00.000Z  ca701000  -    shopping  -                         1 operation
          set  milk  amount  3
      3  2026-01-31T09:01:00.000Z  9c1f03aa  bob  shopping  -                         3 operations
          set  milk  title  "Oat milk"
          set  milk  amount  1.5
          set  bread  title  "Rye bread"
      2  2026-01-31T09:01:02.100Z  3f2a1b4c  ann  shopping  Rename                    2 operations
          set  milk  title  "Buy milk"
          delete  bread
      1  2026-01-31T09:00:00.000Z  3f2a1b4c  ann  shopping  Shopping for the weekend  5 operations
          create  milk  item
          set  milk  amount  1
          set  milk  title  "Milk"
          create  bread  item
          set  bread  title  "Bread"

      """#
    ),
    (
      "show tells what is pending", ["show", "2"],
      #"""
      position     2
      transaction  3f2a1b4c000000013f2a1b4c00000001.0.2, made by this store
      zone         shopping
      time         2026-01-31T09:01:02.100Z, counter 0
      arrived      2026-01-31T09:01:02.100Z
      author       ann
      label        Rename
      had seen     offset 1 of incarnation 77aa0000000000000000000000000001
      place        pending
      bytes        110, SHA-256 8e1da4bf784573a138cea4b44fb9727b19f9d6d2f31b0b44540414e19263fb97

      0  set     milk   title  "Buy milk"
      1  delete  bread

      """#
    ),
    (
      "show prints bytes", ["show", "3", "--bytes"],
      #"""
      position     3
      transaction  9c1f03aa000000000000000000000002.0.1
      zone         shopping
      time         2026-01-31T09:01:00.000Z, counter 0
      arrived      2026-01-31T09:02:00.000Z
      author       bob
      had seen     offset 1 of incarnation 77aa0000000000000000000000000001
      place        offset 2 of incarnation 77aa0000000000000000000000000001, received 2026-01-31T09:01:40.000Z
      bytes        131, SHA-256 dd33a6e8eb46b1660a89406d4f69d3154568275108e37cc8f6bbf80d91323182

      0  set  milk   title   "Oat milk"
      1  set  milk   amount  1.5
      2  set  bread  title   "Rye bread"

      00000000  01 01 9c 1f 03 aa 00 00  00 00 00 00 00 00 00 00  |................|
      00000010  00 02 00 01 00 08 73 68  6f 70 70 69 6e 67 77 aa  |......shoppingw.|
      00000020  00 00 00 00 00 00 00 00  00 00 00 00 00 01 01 01  |................|
      00000030  02 00 00 e0 bc 48 13 9c  01 03 62 6f 62 05 04 6d  |.....H....bob..m|
      00000040  69 6c 6b 04 69 74 65 6d  05 74 69 74 6c 65 06 61  |ilk.item.title.a|
      00000050  6d 6f 75 6e 74 05 62 72  65 61 64 03 03 0d 00 01  |mount.bread.....|
      00000060  02 06 08 4f 61 74 20 6d  69 6c 6b 03 06 00 01 03  |...Oat milk.....|
      00000070  05 01 1e 03 0e 04 01 02  06 09 52 79 65 20 62 72  |..........Rye br|
      00000080  65 61 64                                          |ead|

      """#
    ),
    (
      "state lists records", ["state"],
      #"""
      shopping:milk  item
        amount  3
        title   "Buy milk"

      """#
    ),
    (
      "state shows one record whole", ["state", "shopping:milk"],
      #"""
      shopping:milk  item
        amount  3
        title   "Buy milk"

      """#
    ),
    (
      "state lists what was deleted", ["state", "--hidden"],
      #"""
      shopping:bread  deleted at 2026-01-31T09:01:02.100Z
        title  "Rye bread"

      shopping:milk  item
        amount  3
        title   "Buy milk"

      """#
    ),
    (
      "state goes back in time", ["state", "shopping", "--at", "1"],
      #"""
      shopping:bread  item
        title  "Bread"

      shopping:milk  item
        amount  1
        title   "Milk"

      """#
    ),
    (
      "state goes back to before the first", ["state", "--at", "0"],
      #"""
      no records

      """#
    ),
    (
      "digest names zones", ["digest"],
      #"""
      203e681c606bba48819e3784f48403934094ec5869d56f6e04a9b37a5b5db850  shopping

      """#
    ),
    (
      "verify counts", ["verify"],
      #"""
      sound, 4 transactions and 3 rows checked

      """#
    ),
    (
      "rebuild counts", ["rebuild"],
      #"""
      rebuilt 1 zone from 4 transactions

      """#
    ),
  ]

  @Test("the page is unchanged", arguments: pages.indices)
  func isAsEver(_ index: Int) async throws {
    let page = Self.pages[index]
    let found = try await print(page)
    #expect(found == page.text, "\(page.title)")
  }

  @Test("an operation that only brings a record back is called so")
  func revives() async throws {
    let shopping = try await ShoppingStore()
    let store = try ShoppingStore.open(shopping.path)
    let conflict = try #require(
      try store.read { try $0.conflicts(of: ShoppingStore.bread) }.first { $0.field == nil })
    try await store.write { tx in
      try tx.restore(conflict.losers[0].operation, of: ShoppingStore.bread)
    }
    store.close()
    let log = await Tool().run("log", shopping.path, "--operations", "--reverse", "--limit", "1")
    #expect(log.lines[1...] == ["    revive  bread  item", ""], "\(log.output)")
    let explained = await Tool().run("explain", shopping.path, "shopping:bread", "--existence")
    #expect(explained.output.contains("Revived on replica"), "\(explained.output)")
  }

  @Test("many records are cut, with how many more there are; JSON has all")
  func cutRecords() async throws {
    let temporary = TemporaryDirectory()
    let path = temporary.path + "/many"
    let store = try ShoppingStore.open(path)
    try await store.write { tx in
      for zone in ["a", "b"] as [ZoneID] {
        try tx.createZone(zone)
        for number in 0..<60 { try tx.create(RecordID(zone: zone, name: Name("r\(number)")), type: "t") }
      }
      try tx.delete(RecordID(zone: "b", name: "r0"))
    }
    store.close()
    func count(_ arguments: String..., rest: String? = nil) async -> Int {
      let run = await Tool().run(["state", path] + arguments)
      #expect(run.exit == 0)
      let last = run.lines.dropLast().last ?? ""
      #expect(rest.map { last == $0 } ?? !last.hasPrefix("…"), "\(arguments): \(last)")
      return run.lines.count { $0.hasPrefix("a:") || $0.hasPrefix("b:") || $0.hasPrefix("{") }
    }
    #expect(await count(rest: "… and 19 more records: --limit 119 or --json shows all") == 100)
    #expect(await count("--hidden", rest: "… and 20 more records: --limit 120 or --json shows all") == 100)
    #expect(
      await count("--limit", "118", rest: "… and 1 more record: --limit 119 or --json shows all") == 118)
    #expect(await count("--limit", "119") == 119)
    #expect(await count("a") == 60)
    #expect(
      await count("a", "--limit", "3", rest: "… and 57 more records: --limit 60 or --json shows all") == 3)
    #expect(await count("--json") == 119)
    #expect(await count("--json", "--limit", "7") == 7)
  }
}
