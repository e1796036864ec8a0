import EventStore
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Moving records to another store")
struct MovingRecords {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  var path: String { temporary.path + "/store" }

  private func line(_ number: Int, _ value: String = "1") -> String {
    #"{"fields":{"value":\#(value)},"record":"z:r\#(number)","type":"t"}"#
  }

  private func input(_ lines: [String]) -> [UInt8] { Array(lines.joined(separator: "\n").utf8) }

  private func last() throws -> UInt64 {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    return try store.read { transaction in try transaction.lastPosition().rawValue }
  }

  @Test("records are created, then only differences are set")
  func setsWhatDiffers() async throws {
    let store = try await ShoppingStore()
    let exported = await tool.run("export", store.path, "--records")
    #expect(
      exported.output == #"{"fields":{"amount":3,"title":"Buy milk"},"record":"shopping:milk","type":"item"}"#
        + "\n")
    let bytes = Array(exported.output.utf8)
    let first = await tool.run("import", path, input: bytes)
    #expect(first.output == "imported 1 record: 1 created, 0 updated, 0 unchanged\n")
    let second = await tool.run("import", path, "--json", input: bytes)
    #expect(second.output == #"{"created":0,"fieldsSet":0,"unchanged":1,"updated":0}"# + "\n")
    let written = try last()
    #expect(written == 1)
    let changed = Array(#"{"record":"shopping:milk","type":"item","fields":{"amount":4,"title":null}}"#.utf8)
    let third = await tool.run("import", path, input: changed)
    #expect(
      third.output == "imported 1 record: 0 created, 1 updated, 0 unchanged\nupdated  shopping:milk\n")
    let state = await tool.run("state", path, "--json")
    #expect(state.output == #"{"fields":{"amount":4},"record":"shopping:milk","type":"item"}"# + "\n")
  }

  @Test("a dry run says what would be created and updated, and writes nothing")
  func dryRun() async throws {
    let lines = [line(1), line(2), #"{"record":"new:zone","type":"item","fields":{"amount":4}}"#]
    let missing = await tool.run("import", path, "--dry-run", input: input(lines))
    #expect(missing.exit == 3, "\(missing)")
    #expect(await tool.run("import", path, input: input([line(1), line(2)])).exit == 0)
    let changed = line(2).replacing(#""fields":{"#, with: #""fields":{"other":7,"#)
    let all = input([line(1), changed, line(3), lines[2]])
    let (state, written) = (await tool.run("state", path).output, try last())
    let told = await tool.run("import", path, "--dry-run", input: all)
    #expect(
      told.output.hasPrefix("would import 4 records: 2 created, 1 updated, 1 unchanged\nupdated  "), "\(told)"
    )
    let json = await tool.run("import", path, "--dry-run", "--json", input: all)
    #expect(json.output.contains(#""dryRun":true"#) && json.output.contains(#""updated":1"#), "\(json)")
    #expect(try last() == written)
    #expect(await tool.run("state", path).output == state)
    let done = await tool.run("import", path, input: all)
    #expect(done.output == told.output.replacing("would import", with: "imported"), "\(done)")
    let log = await tool.run("import", path, "--dry-run", input: Array(#"{"format":1}"#.utf8))
    #expect(log.exit == 2 && log.errors.contains("--dry-run is for records"), "\(log)")
  }

  @Test("500 lines are one write, and an error keeps the earlier ones")
  func writesInParts() async throws {
    var lines = (0..<1300).map { line($0) }
    let whole = await tool.run("import", path, input: input(lines))
    #expect(whole.output == "imported 1,300 records: 1,300 created, 0 updated, 0 unchanged\n")
    let count = try last()
    #expect(count == 3)
    lines[1200] = line(0, "1.5")
    let part = await tool.run("import", path + "2", input: input(lines))
    #expect(part.exit == 2)
    #expect(part.errors.contains("line 1201 of standard input: a number with a fraction"), "\(part.errors)")
    #expect(part.errors.contains("1,000 records before it were imported"))
  }

  @Test("a record that is too large for one write takes several")
  func dividesLargeRecords() async throws {
    func array(_ values: some Sequence<Int>) -> String {
      "[\(values.map { "\($0)" }.joined(separator: ","))]"
    }
    func line(_ list: [Int], _ text: String) -> String {
      let members = [
        #""contributions":{"contributions":\#(array(0..<50))}"#, #""list":{"list":\#(array(list))}"#,
        #""set":{"set":\#(array(0..<13_000))}"#, #""text":{"text":"\#(text)"}"#, #""title":{"counter":3}"#,
      ]
      return
        #"{"fields":{"title":"x"},"merging":{\#(members.joined(separator: ","))},"record":"z:r","type":"t"}"#
    }
    let text = String(repeating: "0123456789", count: 30_000)
    let whole = line(Array(0..<3000), text)
    let first = await tool.run("import", path, input: input([whole, self.line(1)]))
    #expect(first.output == "imported 2 records: 2 created, 0 updated, 0 unchanged\n", "\(first.errors)")
    let second = await tool.run("import", path, "--json", input: input([whole]))
    #expect(second.output == #"{"created":0,"fieldsSet":0,"unchanged":1,"updated":0}"# + "\n")
    let written = try last()
    // The unchanged parts of a list and a text are not touched.
    let changed = line(Array(0..<1200) + [7] + Array(1202..<3000), text + "!")
    let third = await tool.run("import", path, "--json", input: input([changed]))
    #expect(
      third.output == #"{"created":0,"fieldsSet":2,"unchanged":0,"updated":1,"updatedRecords":["z:r"]}"#
        + "\n")
    #expect(try last() == written + 1)
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let record = try #require(RecordID("z:r"))
    let list = try store.read { try $0.list("list", of: record) }
    let shown = try store.read { try $0.text(of: "text", in: record) }
    #expect(list == (Array(0..<1200) + [7] + Array(1202..<3000)).map { .int($0) })
    #expect(shown == text + "!")
  }

  @Test("a line that the store refuses is reported with its number, and its write changes nothing")
  func tellsStoreErrors() async throws {
    _ = await tool.run("import", path, input: input([line(1)]))
    let other = await tool.run(
      "import", path, input: input([line(2), #"{"fields":{},"record":"z:r1","type":"u"}"#]))
    #expect(other.exit == 2)
    #expect(other.errors.contains("line 2: the record z:r1 is of type “t” in the store and “u” in the file"))
    let long = await tool.run(
      "import", path,
      input: input([
        line(2), #"{"fields":{"\#(String(repeating: "f", count: 129))":1},"record":"z:r3","type":"t"}"#,
      ]))
    #expect(long.exit == 2)
    #expect(long.errors.contains("line 2: "))
    let count = try last()
    #expect(count == 1)
  }

  @Test(
    "a line that is not a record is an error",
    arguments: [
      #"{"record":"milk","type":"t","fields":{}}"#, #"{"record":"z:a","fields":{}}"#,
      #"{"record":"z:a","type":1,"fields":{}}"#,
      #"{"record":"z:a","type":"t","fields":[]}"#, #"{"record":"z:a","type":"t","fields":{},"more":1}"#,
      #"{"record":"z:a","type":"t","fields":{"a":1,"a":2}}"#,
      #"{"record":"z:a","type":"t","fields":{"a":{"b":1}}}"#,
      #"{"record":"z:a","type":"t"}"#, #"{"record":"z:a","type":"","fields":{}}"#, "\"record\"", "{",
    ])
  func refusesOther(_ text: String) async throws {
    let result = await tool.run("import", path, "--json", input: input([line(1), text]))
    #expect(result.exit == 2)
    let error = try JSONScanner.read(Array(result.errors.utf8))
    #expect(error.line.contains("line 2"))
    #expect(error.line.contains("nothing was imported"))
  }

  @Test("bytes that are not UTF-8, and endless lines")
  func refusesOtherBytes() async throws {
    let other = await tool.run("import", path, input: input([line(1)]) + [0x0a, 0x22, 0xff, 0x22])
    #expect(other.exit == 2)
    #expect(other.errors.contains("line 2 of standard input: a string is not UTF-8"))
    let huge = await tool.run("import", path, input: [UInt8](repeating: 0x20, count: 17 << 20))
    #expect(huge.exit == 2)
    #expect(huge.errors.contains("line 1 of standard input is longer than 16 MiB"))
    let missing = await tool.run("import", path, temporary.path + "/none")
    #expect(missing.exit == 2)
  }

  @Test("a store without records is exported as an empty file, whose import does nothing")
  func movesNothing() async throws {
    let empty = temporary.path + "/empty"
    try ShoppingStore.open(empty).close()
    let exported = await tool.run("export", empty, "--records")
    #expect(exported.exit == 0 && exported.output == "")
    for input in [[], [0x0a, 0x0d, 0x0a]] as [[UInt8]] {
      let imported = await tool.run("import", path, input: input)
      #expect(imported.exit == 0, "\(imported)")
      #expect(
        imported.output
          == "imported 0 records: 0 created, 0 updated, 0 unchanged: no lines were given\n")
    }
    #expect(await tool.run("info", path).exit == 3)
  }

  @Test("lines may end in CR LF, and the last line may have no end")
  func readsLineEnds() async throws {
    let result = await tool.run(
      "import", path, "--limit", "2", input: Array("\(line(1))\r\n\r\n\(line(2))\n\(line(3))".utf8))
    #expect(result.output == "imported 2 records: 2 created, 0 updated, 0 unchanged\n")
  }

  @Test("an import gives a field no second kind")
  func refusesSecondKinds() async throws {
    let path = temporary.path + "/kinds"
    func lines(_ fields: String) -> [UInt8] { Array("{\"record\":\"z:r\",\"type\":\"t\",\(fields)}".utf8) }
    let made = await tool.run(
      "import", path, input: lines(#""fields":{"m":1},"merging":{"n":{"counter":5}}"#))
    #expect(made.exit == 0, "\(made)")
    for (fields, words) in [
      (#""fields":{"n":9}"#, "field “n” of z:r is a counter in the store, and a register in the file"),
      (
        #""fields":{},"merging":{"m":{"counter":1}}"#, "is a register in the store, and a counter in the file"
      ),
      (#""fields":{},"merging":{"n":{"set":[1]}}"#, "is a counter in the store, and a set in the file"),
    ] {
      let refused = await tool.run("import", path, input: lines(fields))
      #expect(refused.exit == 2 && refused.errors.contains(words), "\(refused)")
    }
    let state = await tool.run("state", path, "z:r", "--json")
    #expect(state.output.contains(#""n":5"#) && state.output.contains(#""m":1"#), "\(state)")
    let again = await tool.run(
      "import", path, input: lines(#""fields":{"m":2,"n":null},"merging":{"n":{"counter":6}}"#))
    #expect(again.exit == 0, "\(again)")
  }
}
