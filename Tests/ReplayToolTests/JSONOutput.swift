import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Output for programs")
struct JSONOutput {
  let tool = Tool()

  static let commands: [[String]] = [
    ["info", "STORE"], ["log", "STORE"], ["log", "STORE", "--operations"],
    ["log", "STORE", "--reverse", "--limit", "2"],
    ["show", "STORE", "3"], ["show", "STORE", "3", "--bytes"], ["state", "STORE"],
    ["state", "STORE", "--hidden"],
    ["state", "STORE", "shopping:milk"], ["state", "STORE", "--at", "2"],
    ["explain", "STORE", "shopping:milk"],
    ["explain", "STORE", "shopping:milk", "amount"], ["explain", "STORE", "shopping:bread", "--existence"],
    ["conflicts", "STORE"], ["digest", "STORE"], ["verify", "STORE"], ["rebuild", "STORE"],
    ["export", "STORE"],
  ]

  @Test("every line is a document with sorted keys, and always the same", arguments: commands)
  func isStable(_ arguments: [String]) async throws {
    let store = try await ShoppingStore()
    let command = arguments.map { $0 == "STORE" ? store.path : $0 } + ["--json"]
    let first = await tool.run(command)
    let second = await tool.run(command)
    #expect(first.exit == 0)
    #expect(first.errors == "")
    // A rebuild frees pages, and so may change the file's size: it has run before here, or not at all.
    #expect(first.output == second.output)
    #expect(!first.output.isEmpty)
    for line in first.lines.dropLast() {
      let document = try JSONScanner.read(Array(line.utf8))
      #expect(document.line == line)
    }
  }

  @Test("why a value won")
  func explains() async throws {
    let store = try await ShoppingStore()
    let result = await tool.run("explain", store.path, "shopping:milk", "title", "--json")
    #expect(
      result.output == """
        {"field":"title","heads":[{"hadSeen":{"incarnation":"77aa0000000000000000000000000001","offset":1},\
        "made":{"author":"ann","label":"Rename","position":2,"time":"2026-01-31T09:01:02.100Z",\
        "timestamp":"1769850062100.0"},"operation":"3f2a1b4c000000013f2a1b4c00000001.0.2.0",\
        "timestamp":"1769850062100.0","value":"Buy milk"},{"hadSeen":{"incarnation":"77aa0000000000000000000000000001",\
        "offset":1},"lostBecause":{"earlierByMilliseconds":2100},\
        "lostTo":"3f2a1b4c000000013f2a1b4c00000001.0.2.0","made":{"author":"bob","position":3,\
        "time":"2026-01-31T09:01:00.000Z","timestamp":"1769850060000.0"},\
        "operation":"9c1f03aa000000000000000000000002.0.1.0","placement":{"incarnation":\
        "77aa0000000000000000000000000001","offset":2,"received":1769850100000},"timestamp":"1769850060000.0",\
        "value":"Oat milk"}],"isVisible":true,"record":"shopping:milk","replaced":[{"made":{"author":"ann",\
        "label":"Shopping for the weekend","position":1,"time":"2026-01-31T09:00:00.000Z",\
        "timestamp":"1769850000000.0"},"operation":"3f2a1b4c000000013f2a1b4c00000001.0.1.2",\
        "replacedAt":2,"replacedBy":"3f2a1b4c000000013f2a1b4c00000001.0.2.0","value":"Milk"}]}

        """)
  }

  @Test("an empty store has pages too")
  func showsEmptyStores() async throws {
    let temporary = TemporaryDirectory()
    let path = temporary.path + "/store"
    try ShoppingStore.open(path).close()
    let pages = [
      "log": "no transactions\n", "state": "no records\n", "conflicts": "no conflicts\n", "digest": "",
      "verify": "sound, 0 transactions and 0 rows checked\n",
      "rebuild": "rebuilt 0 zones from 0 transactions\n",
    ]
    for (command, expected) in pages.sorted(by: { $0.key < $1.key }) {
      let result = await tool.run(command, path)
      #expect(result.output == expected)
      #expect(result.exit == 0)
    }
    let info = await tool.run("info", path)
    #expect(info.output.contains("log      empty\nclock    not used yet\n"), "\(info.output)")
    let shown = await tool.run("show", path, "1")
    #expect(shown.errors.contains("hint: the log is empty"))
    let past = await tool.run("state", path, "--at", "0")
    #expect(past.output == "no records\n")
  }

  @Test("the log, filtered")
  func filtersLog() async throws {
    let store = try await ShoppingStore()
    let filters: [([String], [Int128])] = [
      ([], [1, 2, 3, 4]), (["--zone", "shopping"], [1, 2, 3, 4]),
      (["--record", "shopping:bread"], [1, 2, 3]),
      (["--record", "bread"], [1, 2, 3]), (["--zone", "shopping", "--record", "bread"], [1, 2, 3]),
      (["--record", "none"], []), (["--replica", "9C1F"], [3]), (["--replica", ""], [1, 2, 3, 4]),
      (["--author", "ann"], [1, 2]), (["--since", "2026-01-31T09:01:00Z"], [2, 3, 4]),
      (["--until", "2026-01-31T09:01:02.1Z"], [1, 3]), (["--after", "2"], [3, 4]), (["--after", "9"], []),
      (["--limit", "2"], [1, 2]), (["--limit", "0"], []), (["--reverse"], [4, 3, 2, 1]),
      (["--reverse", "--after", "1", "--limit", "2"], [4, 3]), (["--reverse", "--author", "ann"], [2, 1]),
    ]
    for (arguments, expected) in filters {
      let result = await tool.run(["log", store.path, "--json"] + arguments)
      let positions = try result.lines.dropLast().map { line -> Int128? in
        guard case .object(let members) = try JSONScanner.read(Array(line.utf8)),
          case .integer(let position)? = members["position"]
        else { return nil }
        return position
      }
      #expect(positions == expected, "\(arguments)")
    }
  }
}
