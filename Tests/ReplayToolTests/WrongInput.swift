import Testing

@testable import EventStore
@testable import ReplayTool
@testable import Replicator
@testable import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("Wrong input")
struct WrongInput {
  let temporary = TemporaryDirectory()
  let tool = Tool()

  static let readers: [[String]] = [
    ["info", "STORE"], ["log", "STORE"], ["show", "STORE", "1"], ["state", "STORE"], ["digest", "STORE"],
    ["explain", "STORE", "shopping:milk"], ["conflicts", "STORE"], ["verify", "STORE"], ["rebuild", "STORE"],
    ["export", "STORE"], ["retire", "STORE"],
  ]

  private func run(_ arguments: [String], _ store: String) async -> Tool.Result {
    await tool.run(arguments.map { $0 == "STORE" ? store : $0 })
  }

  @Test("a directory that is missing, is empty, or has other files", arguments: readers)
  func needsStore(_ arguments: [String]) async throws {
    mkdir(temporary.path + "/empty", 0o777)
    for directory in ["/none", "/empty", ""] {
      let result = await run(arguments, temporary.path + directory)
      #expect(result.exit == 3)
      #expect(result.output == "")
      #expect(result.errors.hasPrefix("error: "))
      let lines = result.errors.split(separator: "\n")
      #expect(lines.count == 2)
      #expect(lines[1].hasPrefix("hint: "))
      let json = await run(arguments + ["--json"], temporary.path + directory)
      #expect(json.exit == 3)
      let error = try JSONScanner.read(Array(json.errors.utf8))
      guard case .object(let members) = error, case .object(let parts)? = members["error"] else {
        Issue.record("\(json.errors)")
        continue
      }
      #expect(parts.keys.sorted() == ["code", "hint", "message"])
      #expect(parts["code"] == "notAStore")
    }
    let left = access(temporary.path + "/empty/data.mdb", F_OK)
    #expect(left != 0)
  }

  @Test("a data file of another program, and a cut one", arguments: readers)
  func refusesDamagedFiles(_ arguments: [String]) async throws {
    let store = try await ShoppingStore()
    let file = store.path + "/data.mdb"
    truncate(file, 5000)
    let cut = await run(arguments, store.path)
    #expect(cut.exit == 3, "\(cut.output) \(cut.errors)")
    let descriptor = open(file, O_WRONLY | O_TRUNC)
    let text = String(repeating: "not a database\n", count: 1000)
    _ = text.withCString { write(descriptor, $0, text.utf8.count) }
    close(descriptor)
    let other = await run(arguments, store.path)
    #expect(other.exit == 3, "\(other.output) \(other.errors)")
  }

  static let unknown: [([String], Int32, String)] = [
    (["log", "STORE", "--zone", "none"], 2, "no zone “none”"),
    (["state", "STORE", "none"], 2, "it has shopping"),
    (["state", "STORE", "shopping:none"], 2, "there is no record shopping:none in what this store has"),
    (["state", "STORE", "shopping:bread"], 2, "the record shopping:bread was deleted"),
    (["state", "STORE", "none:milk"], 2, "no zone “none”"),
    (["state", "STORE", "--at", "5"], 2, "the log goes from 1 to 4"),
    (
      ["state", "STORE", "shopping:milk", "--at", "0"], 2,
      "there was no record shopping:milk up to position 0"
    ),
    (["show", "STORE", "0"], 2, "no position 0"), (["show", "STORE", "5"], 2, "no position 5"),
    (["explain", "STORE", "shopping:none"], 2, "in what this store has"),
    (["explain", "STORE", "shopping:milk", "none"], 2, "it has amount, title"),
    (["explain", "STORE", "none:milk"], 2, "no zone “none”"),
    (["log", "STORE", "--limit", "-1"], 2, "--limit must not be negative"),
    (["state", "STORE", "--limit", "-1"], 2, "--limit must not be negative"),
    (["state", "STORE", "--at", "-1"], 2, "'-1' is invalid for '--at"),
    (["export", "STORE", "-o", "/tmp"], 2, "name a file in that directory"),
    (["conflicts", "STORE", "none"], 2, "no zone “none”"),
    (["digest", "STORE", "none"], 2, "no zone “none”"),
    (["export", "STORE", "--zone", "none"], 2, "no zone “none”"),
    (["explain", "STORE", "milk"], 2, "does not name a record"),
    (["state", "STORE", "a/b/c"], 2, "does not name a zone"),
    (["state", "STORE", "shopping:"], 2, "does not name a record"),
    (["log", "STORE", "--zone", ":"], 2, "does not name a zone"),
    (["log", "STORE", "--since", "soon"], 2, "“soon” is not a time"),
    (["log", "STORE", "--until", "2026-02-30"], 2, "is not a time"),
    (["log", "STORE", "--replica", "xyz"], 2, "is not the start of a replica"),
  ]

  @Test("missing names, and invalid ones", arguments: unknown)
  func tellsUnknown(_ arguments: [String], _ exit: Int32, _ text: String) async throws {
    let store = try await ShoppingStore()
    let result = await run(arguments, store.path)
    #expect(result.exit == exit)
    #expect(result.errors.contains(text), "\(result.errors)")
    #expect(result.output == "")
    let json = await run(arguments + ["--json"], store.path)
    #expect(json.exit == exit)
    let error = try JSONScanner.read(Array(json.errors.utf8))
    #expect(error.line.hasPrefix(#"{"error":{"code":"#))
  }

  @Test("a cut list in a hint says how many more there are")
  func cutLists() async throws {
    let path = temporary.path + "/many"
    let store = try ShoppingStore.open(path)
    try await store.write { tx in
      for number in 10..<25 { try tx.createZone(ZoneID(name: Name("z\(number)"))) }
      let fields = (10..<25).map { (Name("f\($0)"), Value.int(1)) }
      try tx.create(
        RecordID(zone: ZoneID(name: "z10"), name: "r"), type: "t",
        fields: Dictionary(uniqueKeysWithValues: fields))
    }
    store.close()
    let field = await tool.run("explain", path, "z10:r", "none")
    #expect(
      field.errors.contains("it has f10, f11, ") && field.errors.contains(", f21 and 3 more\n"), "\(field)")
    let zone = await tool.run("log", path, "--zone", "none")
    #expect(zone.errors.contains("it has z10, ") && zone.errors.contains(", z17 and 7 more\n"), "\(zone)")
    let step = "{op: create, dev: a, rec: r, fields: {n: 1}}"
    let yaml =
      "format: scenarios/1\nscenarios:\n"
      + (10..<20).map { "- id: s\($0)\n  devices: [a]\n  steps:\n  - \(step)\n" }.joined()
    let scenario = await tool.run("scenario", "-", "--only", "none", input: Array(yaml.utf8))
    #expect(
      scenario.errors.contains("there are s10, ") && scenario.errors.contains(", s17 and 2 more\n"),
      "\(scenario)")
  }

  @Test(
    "arguments that are not a command",
    arguments: [
      [], ["none"], ["info"], ["show", "x"], ["show", "x", "one"], ["log", "x", "--follow", "--reverse"],
      ["log", "x", "--limit", "-1"], ["import", "x", "file", "--git", "y"], ["import", "x", "--zone", "y"],
      ["explain", "x", "z:r", "f", "--existence"], ["state", "x", "--limit", "-1"],
    ])
  func refusesUsage(_ arguments: [String]) async throws {
    let result = await tool.run(arguments)
    // Without arguments the help is printed.
    #expect(result.exit == (arguments.isEmpty ? 0 : 2))
    #expect(arguments.isEmpty || result.errors.hasPrefix("error: "), "\(result.errors)")
    let json = await tool.run(arguments + ["--json"])
    #expect(json.exit == 2)
    let error = try JSONScanner.read(Array(json.errors.utf8))
    #expect(error.line.contains(#""code":"usage""#))
  }

  @Test("a store that cannot be written ends each command the same way: the import is not blamed")
  func unwritableStores() {
    for code in [StoreError.Code.full, .commitFailed, .commitUncertain, .readOnly, .system] {
      let error = ToolError(StoreError(code, "the disk is full", hint: "make room"))
      #expect(error.exit == .store && error.ofInput("line 3").exit == .store, "\(code)")
      #expect(error.ofInput("line 3").message == "line 3: the disk is full")
      guard code != .system else { continue }
      let failure = SyncFailure(code: code.rawValue, message: "", hint: "", scope: .round)
      #expect(ToolError(failure).exit == .store, "\(code)")
    }
    let large = ToolError(StoreError(.transactionTooLarge, "too large", hint: "write less"))
    #expect(large.exit == .problem && large.ofInput("line 3").exit == .input)
  }

  @Test("an interrupt reports that nothing was changed if nothing was")
  func interruptsTellTheTruth() async throws {
    let store = try await ShoppingStore()
    var interrupted = tool
    interrupted.isInterrupted = { true }
    for arguments in [["verify", store.path], ["export", store.path]] {
      let result = await interrupted.run(arguments)
      #expect(
        result.exit == 130 && result.errors.contains("hint: nothing was changed; run it again"), "\(result)")
    }
    let rebuilt = await interrupted.run("rebuild", store.path)
    #expect(rebuilt.exit != 130 || rebuilt.errors.contains("no record has changed"), "\(rebuilt)")
  }

  @Test("for a nearly right command or remote, the right one is suggested")
  func tellsWhatIsMeant() async throws {
    for (wrong, right) in [("inof", "info"), ("exprot", "export"), ("syn", "sync"), ("exlpain", "explain")] {
      let result = await tool.run([wrong, "x"])
      #expect(result.exit == 2)
      #expect(
        result.errors == "error: there is no command “\(wrong)”\nhint: did you mean `replay \(right)`?\n")
    }
    let far = await tool.run(["frobnicate"])
    #expect(far.exit == 2 && far.errors.contains("hint: `replay --help` lists the commands"))
    for (arguments, hint) in [
      (["asset", "notes.store"], "did you mean `replay asset list notes.store`?"),
      (["asset", "lits", "notes.store"], "did you mean `replay asset list`?"),
    ] {
      let asset = await tool.run(arguments)
      #expect(
        asset.errors == "error: `replay asset` has no command “\(arguments[1])”\n"
          + "hint: it has list, export, policy, download, upload: \(hint)\n" && asset.exit == 2, "\(asset)")
    }
    #expect(await tool.run(["asset", "help"]).exit != 0)
    #expect(await tool.run(["asset"]).exit == 0)
    let help = await tool.run(["help", "syn"])
    #expect(help.exit == 2 && help.errors.contains("hint: did you mean `replay sync`?"), "\(help)")
    #expect(await tool.run(["help", "sync"]).exit == 0)
    let bare = await tool.run(["remote", "shared"])
    #expect(bare.exit == 2 && bare.errors.contains("hint: did you mean folder:shared?"), "\(bare.errors)")
  }

  @Test("a hint's command has the given store and remote")
  func fillsHints() async throws {
    let store = try await ShoppingStore()
    let wrong = await tool.run("explain", store.path, "shopping:nope", "title")
    #expect(wrong.errors.contains("`replay state \(store.path) shopping`"), "\(wrong)")
    let places = HintPlaces(store: "my notes.store", remote: "folder:/r")
    #expect(
      places.fill("`replay sync STORE --remote REMOTE`")
        == "`replay sync 'my notes.store' --remote folder:/r`")
    #expect(places.fill("RESTORE REMOTE/x") == "RESTORE folder:/r/x")
    #expect(ZoneID(name: "x; y").argument == "'x; y'" && ZoneID(name: "it's").argument == #"'it'\''s'"#)
    let ofZone = places.of(ZoneID(name: "x; y"))
    #expect(ofZone.fill("`--reread ZONE@12`, `--zone ZONE`") == "`--reread 'x; y@12'`, `--zone 'x; y'`")
    #expect(places.fill("`--reread ZONE@12` of ZONE") == "`--reread ZONE@12` of ZONE")
    #expect(HintPlaces().fill("`replay info STORE`") == "`replay info STORE`")
  }

  @Test("every command has help with an example")
  func hasHelp() async {
    for command in [
      "info", "log", "show", "state", "explain", "conflicts", "verify", "rebuild", "digest", "export",
      "import",
    ] {
      let result = await tool.run(command, "--help")
      #expect(result.exit == 0)
      #expect(result.output.contains("Example: replay \(command) "), "\(command)")
      #expect(result.errors == "")
    }
    let root = await tool.run("--help")
    #expect(root.output.contains("replay explain notes.store shopping:milk title"))
    let version = await tool.run("--version")
    #expect(version.output == "0.1.0\n")
  }
}
