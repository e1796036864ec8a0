import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Text for terminals")
struct TextForTerminals {
  @Test("nothing in the data can control the terminal")
  func escapesControls() async throws {
    let hostile = "\u{1B}[2J\u{9B}31m\u{202E}\r\n\t\0\u{7F}"
    let temporary = TemporaryDirectory()
    let path = temporary.path + "/store"
    let store = try ShoppingStore.open(path)
    let id = RecordID(zone: ZoneID(name: Name("z\u{1B}")), name: Name(hostile))
    try await store.write { tx in
      tx.author = hostile
      tx.label = hostile
      try tx.createZone(id.zone)
      try tx.create(
        id, type: Name(hostile), fields: [Name(hostile): .string(hostile), "map": [Name(hostile): 1]])
    }
    store.close()
    for arguments in [
      ["info", path], ["log", path, "--operations"], ["show", path, "1"], ["state", path],
      ["state", path, "\(id)"],
      ["explain", path, "\(id)"], ["explain", path, "\(id)", hostile],
      ["state", path, "\(id.zone):\(hostile)x"],
      ["export", path], ["digest", path],
    ] {
      let result = await Tool().run(arguments)
      for scalar in (result.output + result.errors).unicodeScalars {
        let isPlain =
          scalar == "\n" || ![.control, .lineSeparator].contains(scalar.properties.generalCategory)
        #expect(isPlain, "\(arguments[0]): \(scalar.value)")
      }
    }
  }

  @Test("colours are used only on terminals")
  func colours() async throws {
    let store = try await ShoppingStore()
    var tool = Tool()
    let plain = await tool.run("explain", store.path, "shopping:milk", "title")
    tool.usesColor = true
    let colored = await tool.run("explain", store.path, "shopping:milk", "title")
    #expect(!plain.output.contains("\u{1B}"))
    #expect(colored.output.contains("\u{1B}[32m\"Buy milk\"\u{1B}[0m"))
    let stripped = colored.output.replacing(/\u{1B}\[\d+m/, with: "")
    #expect(stripped == plain.output)
  }

  @Test("NO_COLOR turns colours off, unless it is empty")
  func obeysNoColor() {
    let environments: [([String: String], Bool)] = [
      ([:], true), (["NO_COLOR": ""], true), (["NO_COLOR": "0"], false), (["TERM": "dumb"], false),
    ]
    for (environment, expected) in environments {
      let found = Console.wantsColor { environment[$0] }
      #expect(found == expected)
    }
  }

  @Test("progress is shown only on terminals")
  func showsProgress() async throws {
    let store = try await ShoppingStore()
    var tool = Tool()
    let quiet = await tool.run("verify", store.path)
    #expect(quiet.errors == "")
    tool.isTerminal = true
    let loud = await tool.run("verify", store.path)
    #expect(loud.errors.hasPrefix("\r\u{1B}[Kchecking pages "))
    #expect(loud.errors.hasSuffix("\r\u{1B}[K"))
    #expect(loud.output == quiet.output)
  }

  @Test("a reader that closes its pipe ends the command quietly")
  func endsQuietly() async throws {
    let store = try await ShoppingStore()
    var tool = Tool()
    tool.outputBytesMax = 0
    for arguments in [["log", store.path], ["export", store.path], ["info", store.path], ["--help"]] {
      let result = await tool.run(arguments)
      #expect(result.exit == 0)
      #expect(result.errors == "")
    }
  }

  @Test("an interrupt ends the command, and is reported")
  func isInterrupted() async throws {
    let store = try await ShoppingStore()
    var tool = Tool()
    tool.isInterrupted = { true }
    for arguments in [
      ["log", store.path], ["log", store.path, "--reverse"], ["verify", store.path], ["rebuild", store.path],
      ["export", store.path], ["state", store.path, "--at", "4"], ["state", store.path],
      ["conflicts", store.path],
    ] {
      let result = await tool.run(arguments)
      #expect(result.exit == 130, "\(arguments)")
      if arguments[0] == "rebuild" { #expect(result.errors.contains("no record has changed"), "\(result)") }
    }
    let followed = await tool.run("log", store.path, "--follow")
    #expect(followed.exit == 0)
    tool.isInterrupted = { false }
    let verified = await tool.run("verify", store.path)
    #expect(verified.exit == 0)
  }

  @Test("numbers, durations and names")
  func formats() {
    let counts = [0, 999, 1000, -1000, 1_234_567].map { Display.count($0) }
    #expect(counts == ["0", "999", "1,000", "-1,000", "1,234,567"])
    let spans = [0, 999, 1000, 2100, 61_000, 3_600_000, 86_400_000 * 1500].map {
      Display.duration(milliseconds: $0)
    }
    #expect(spans == ["0 ms", "999 ms", "1.0 s", "2.1 s", "1.0 min", "1.0 h", "1,500.0 d"])
    let values: [(Value, String)] = [
      (.string(String(repeating: "x", count: 50)), "\"" + String(repeating: "x", count: 40) + "\"…"),
      (.bytes([1, 2]), "2 bytes 0102"),
      (.bytes([UInt8](repeating: 0, count: 20)), "20 bytes 00000000000000000000…"),
      (.date(microseconds: 0), "1970-01-01T00:00:00.000000Z"), ([1, "a", .null], #"[1, "a", null]"#),
      ([:], "[:]"),
      (["b": 1, "a": [2]], #"["a": [2], "b": 1]"#),
      (.array(Array(repeating: 1, count: 9)), "[1, 1, 1, 1, 1, 1, 1, 1, …]"),
      ([[[[1]]]], "[[[[1 element]]]]"), (.reference(Reference(record: "r", rule: .cascade)), "→ r (cascade)"),
    ]
    for (value, expected) in values {
      let text = Display.value(value)
      #expect(text == expected)
    }
  }
}
