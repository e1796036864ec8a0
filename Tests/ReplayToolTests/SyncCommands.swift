import EventStore
import Foundation
import StoreTesting
import Synchronization
import Testing

@testable import ReplayTool
@testable import Replicator

@Suite("Syncing from the command line")
struct SyncCommands {
  let temporary = TemporaryDirectory()
  private var folder: String { temporary.path + "/remote" }
  private var remote: String { "folder:\(folder)" }

  private func path(_ name: String) -> String { "\(temporary.path)/\(name).store" }

  /// A tool with its own random bits.
  private func tool(_ seed: UInt64 = 1) -> Tool {
    Tool(seed: seed)
  }

  /// Creates a store with local zones that have this many records each.
  private func makeStore(_ name: String, zones: [String], records: Int = 2, seed: UInt64) async throws {
    let store = try ShoppingStore.open(path(name), TestClock(ShoppingStore.start), SharedBits(seed))
    for zone in zones.map({ ZoneID(name: Name($0)) }) {
      for index in 0..<records {
        try await store.write { tx in
          try tx.createZone(zone)
          try tx.create(RecordID(zone: zone, name: Name("\(name) \(index)")), type: "note", fields: ["n": 1])
        }
      }
    }
    store.close()
  }

  private func digest(_ name: String) async -> String { await tool().run("digest", path(name)).output }

  @Test("a zone that neither side has is reported; a store with a remote does not get another")
  func wrongZoneAndRemote() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    let made = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes")
    #expect(made.exit == 0)
    let typo = await tool().run("sync", path("a"), "--remote", remote, "--zone", "nope")
    #expect(typo.exit == 2 && typo.errors.contains("the store has no zone “nope”"), "\(typo)")
    #expect(typo.output == "")
    let right = await tool().run("sync", path("a"), "--remote", remote, "--zone", "notes")
    #expect(right.exit == 0)
    // A zone that only the remote has is received in the round.
    let other = await tool(2).run(
      "sync", path("b"), "--remote", remote, "--create-store", "--zone", "notes")
    #expect(other.exit == 0)
    let second = await tool().run(
      "sync", path("a"), "--remote", "folder:\(temporary.path)/second", "--create-remote")
    #expect(second.exit == 4)
    #expect(second.errors.contains("this store belongs to remote "), "\(second.errors)")
    #expect(!second.errors.contains("create a remote"))
    #expect(!FileManager.default.fileExists(atPath: temporary.path + "/second"))
  }

  @Test("a new store attaches a zone of the remote, and reads it; of one that neither has, it says so")
  func attachesInNewStore() async throws {
    try await makeStore("a", zones: ["notes", "lists"], seed: 10)
    let made = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--attach", "lists")
    #expect(made.exit == 0)
    let new = await tool(2).run(
      "sync", path("b"), "--remote", remote, "--create-store", "--attached", "--attach", "notes")
    #expect(new.exit == 0 && new.output.contains("received 2 transactions"), "\(new)")
    let digest = await digest("b")
    #expect(digest.contains("notes") && !digest.contains("lists"), "\(digest)")
    let typo = await tool(3).run("sync", path("c"), "--remote", remote, "--create-store", "--attach", "nope")
    #expect(typo.exit == 2 && typo.errors.contains("has no zone “nope”, nor has the remote"), "\(typo)")
    #expect(typo.errors.contains("its remote offers "), "\(typo)")
  }

  @Test("the first device creates the remote and attaches its zones, the second one gets them in a new store")
  func firstSync() async throws {
    try await makeStore("a", zones: ["notes", "lists"], seed: 10)
    let first = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--attach", "lists")
    #expect(first.exit == 0 && first.errors == "")
    let lines = first.lines
    try #require(lines.count == 3)
    for (line, zone) in zip(lines, ["lists", "notes"]) {
      #expect(line.hasPrefix(zone) && line.contains("in sync"))
      #expect(line.contains("sent 2 transactions in 1 segment, ") && line.contains("received nothing"))
    }
    let second = await tool(2).run("sync", path("b"), "--remote", remote, "--create-store")
    #expect(second.exit == 0)
    #expect(second.output.contains("received 2 transactions in 1 segment, "))
    let digests = (await digest("a"), await digest("b"))
    #expect(digests.0 == digests.1 && digests.0.contains("notes") && digests.0.contains("lists"))
    let again = await tool().run("sync", path("a"), "--remote", remote)
    #expect(again.exit == 0)
    #expect(again.lines.filter { $0.contains("sent nothing") && $0.contains("received nothing") }.count == 2)
  }

  @Test("a local zone with the name of a remote zone: the hint joins the two, for any name")
  func namesakes() async throws {
    for (index, name) in ["home", "-z", "z@3", "it's here"].enumerated() {
      let (first, other) = ("a\(index)", "b\(index)")
      try await makeStore(first, zones: [name], seed: 10)
      let made = await tool().run(
        "sync", path(first), "--remote", remote + first, "--create-remote", "--attach=\(name)")
      #expect(made.exit == 0, "\(made)")
      try await makeStore(other, zones: [name], seed: 20)
      _ = await tool(2).run("sync", path(other), "--remote", remote + first)
      let told = await tool(2).run("sync", path(other), "--remote", remote + first)
      #expect(told.output.contains("the remote has a zone of that name"), "\(told)")
      #expect(!told.output.contains("it is only here"), "\(told)")
      let command = HintPlaces(store: path(other)).of(name).zoneCommand("attach")
      #expect(told.output.contains("\(command) joins the two"), "\(told)")
    }
    #expect(HintPlaces(store: "s").of("-z").zoneCommand("attach") == "`replay zone attach s -- -z`")
    #expect(await tool(2).run("zone", "attach", path("b2"), "--", "z@3").exit == 0)
    #expect(Display.option("--attach", "-z") == "--attach=-z")
    #expect(Display.option("--zone", "it's here") == #"--zone 'it'\''s here'"#)
    let joined = await tool(2).run("sync", path("b1"), "--remote", remote + "a1", "--attach=-z")
    #expect(joined.exit == 0 && joined.output.contains("received"), "\(joined)")
    let beyond = await tool(2).run("sync", path("a2"), "--remote", remote + "a2", "--reread", "z@3@99")
    #expect(
      beyond.exit == 2 && beyond.errors.contains("give an offset from 1, the log's start, to"), "\(beyond)")
    let again = await tool(2).run("sync", path("a2"), "--remote", remote + "a2", "--reread", "z@3@1")
    #expect(again.exit == 0, "\(again)")
  }

  @Test("a parked zone reports what moves: nothing if its user must decide, or its log is read again")
  func parked() throws {
    func told(_ code: String, shipping: String?) throws -> String {
      func failure(_ code: String) -> SyncFailure {
        SyncFailure(code: code, message: "it is \(code)", hint: "do --let-go or --take-over", scope: .zone)
      }
      var zone = ZoneReport(ZoneID(name: "home"), .parked(offset: 3, failure(code)))
      zone.shippingFailure = shipping.map { failure($0) }
      var report = SyncReport()
      report.zones = [zone]
      let sink = CapturedSink()
      let output = Output(sink, isTerminal: false, usesColor: false)
      try SyncPage(output: output, printsJSON: false).print(report)
      try output.flush()
      return sink.text
    }
    let sending = try told("damagedSegment", shipping: nil)
    #expect(sending.contains("what is written here is still sent"), "\(sending)")
    let closed = try told("laneClosed", shipping: "laneClosed")
    #expect(closed.contains("Until you decide, nothing of the zone is read or sent"), "\(closed)")
    #expect(closed.contains("--let-go") && closed.contains("--take-over"), "\(closed)")
    let rereading = try told("damagedSegment", shipping: "damagedSegment")
    #expect(rereading.contains("waits, and nothing is sent before it is read"), "\(rereading)")
    let other = try told("damagedSegment", shipping: "denied")
    #expect(other.contains("waits, and nothing is sent: it is denied (denied)"), "\(other)")
    for text in [closed, rereading, other] { #expect(!text.contains("is still sent"), "\(text)") }
  }

  @Test("a zone that the remote refuses is a problem of the zone; an unusable remote is one of all zones")
  func exits() {
    func exit(_ code: String, of scope: SyncFailure.Scope) -> ToolError.Exit? {
      let failure = SyncFailure(code: code, message: "it is \(code)", hint: "wait", scope: scope)
      var report = SyncReport()
      if scope == .zone {
        report.zones = [
          ZoneReport(ZoneID(name: "home"), .failed(failure)), ZoneReport(ZoneID(name: "work"), .inSync),
        ]
      } else {
        report.failure = failure
      }
      return report.exit
    }
    for code in ["denied", "overQuota", "damaged"] {
      #expect(exit(code, of: .zone) == .problem, "\(code)")
      #expect(exit(code, of: .round) == .remote, "\(code)")
    }
    #expect(exit("unreachable", of: .zone) == .remote)
    #expect(exit("full", of: .zone) == .store)
  }

  @Test("transactions that the remote has not refused cannot be let go")
  func neverSynced() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    let made = await tool().run("sync", path("a"), "--remote", remote, "--create-remote")
    #expect(made.exit == 0, "\(made)")
    let result = await tool().run("sync", path("a"), "--remote", remote, "--let-go", "notes")
    #expect(result.exit == 2 && result.errors.contains("was never synced"), "\(result)")
    let unknown = await tool().run("sync", path("a"), "--remote", remote, "--let-go", "nope")
    #expect(unknown.exit == 2 && unknown.errors.contains("no zone “nope”"), "\(unknown)")
  }

  @Test("a local zone stays here, and so do zones that were not chosen")
  func chosenZones() async throws {
    try await makeStore("a", zones: ["notes", "lists", "own"], seed: 10)
    let first = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--attach", "lists",
      "--zone", "notes")
    #expect(first.exit == 0 && first.lines.count == 2 && first.lines[0].hasPrefix("notes"))
    let all = await tool().run("sync", path("a"), "--remote", remote)
    #expect(all.exit == 0 && all.lines.count == 5)
    #expect(all.lines[0].contains("sent 2 transactions") && all.lines[1].contains("sent nothing"))
    #expect(all.lines[2].hasPrefix("own") && all.lines[2].contains("local"))
    #expect(
      all.lines[3]
        == "  it is only here. `replay zone attach \(path("a")) own` lets it be synced from now on")
    let second = await tool(2).run(
      "sync", path("b"), "--remote", remote, "--create-store", "--zone", "lists")
    #expect(second.exit == 0 && second.lines.count == 2 && second.lines[0].hasPrefix("lists"))
  }

  @Test("an empty store and an empty remote: it gives advice")
  func nothingToDo() async throws {
    let result = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--create-store")
    #expect(result.exit == 0)
    #expect(
      result.output == "no zones: neither the store nor the remote has one yet\n")
  }

  @Test("zones that the remote offers are listed, with the command that fetches one")
  func offered() async throws {
    try await makeStore("a", zones: ["notes", "lists"], seed: 10)
    let made = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--attach", "lists")
    #expect(made.exit == 0, "\(made)")
    let told = await tool(2).run("sync", path("b"), "--remote", remote, "--create-store", "--attached")
    #expect(
      told.exit == 0
        && told.output == """
          no zone of the remote is synced here
          lists  offered
          notes  offered
          Offered zones are at the remote, and not here. `replay zone attach \(path("b")) ZONE` lets the next sync fetch one

          """,
      "\(told)")
    let json = await tool(2).run("sync", path("b"), "--remote", remote, "--attached", "--json")
    #expect(json.output.contains(#""offered":["lists","notes"]"#), "\(json)")
    let evicted = await tool(2).run("zone", "evict", path("b"), "notes")
    #expect(
      evicted.exit == 2
        && evicted.errors.contains(
          "the remote offers it: `replay zone attach \(path("b")) notes` lets the next sync fetch it"),
      "\(evicted)")
    let unknown = await tool(2).run("zone", "evict", path("b"), "nope")
    #expect(unknown.errors.contains("its remote offers lists, notes"), "\(unknown)")
    #expect(await tool(2).run("zone", "attach", path("b"), "notes").exit == 0)
    let fetched = await tool(2).run("sync", path("b"), "--remote", remote, "--attached")
    #expect(
      fetched.output.contains("received 2") && fetched.output.contains("\nlists  offered\n"), "\(fetched)")
  }

  @Test("the same as data")
  func printsJSON() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    let result = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--json")
    #expect(result.exit == 0)
    guard case .object(let round) = try JSONScanner.read(Array(result.output.utf8)),
      case .array(let zones)? = round["zones"], case .object(let zone)? = zones.first
    else {
      Issue.record("\(result.output)")
      return
    }
    #expect(
      round["isInSync"] == .bool(true) && round["failure"] == nil && round["createdZones"] == .array([]))
    #expect(zone["zone"] == .string("notes") && zone["status"] == .object(["state": .string("inSync")]))
    #expect(
      zone["sent"] == .number(2) && zone["sentSegments"] == .number(1) && zone["received"] == .number(0))
    let second = await tool(2).run("sync", path("b"), "--remote", remote, "--create-store", "--json")
    #expect(second.output.contains(#""createdZones":["notes"]"#) && second.output.contains(#""received":2"#))
  }

  @Test("clocks that differ by more than a minute are told, as text and as data")
  func tellsClocks() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    var behind = tool()
    behind.folderAhead = 7_500_000
    let result = await behind.run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes")
    #expect(result.exit == 0)
    #expect(
      result.lines.first?.hasPrefix("this device's clock is 2 hours behind the remote's: set ") == true,
      "\(result.output)")
    try await makeStore("b", zones: ["other"], seed: 11)
    var near = tool(2)
    near.folderAhead = -60_000
    let json = await near.run("sync", path("b"), "--remote", remote, "--attach", "other", "--json")
    #expect(json.output.contains(#""clockOffsetMilliseconds":-60000"#), "\(json.output)")
    let again = await near.run("sync", path("b"), "--remote", remote)
    #expect(!again.output.contains("clock"), "\(again.output)")
  }

  @Test("a zone that cannot be synced is reported with its reason, with exit code 1; after a repair it is 0")
  func parkedZone() async throws {
    try await makeStore("a", zones: ["notes", "other"], seed: 10)
    _ = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--attach", "other")
    let remote = try await FolderRemote.open(directory: folder)
    let events = try await remote.zoneEvents(after: nil).events
    let notes = try #require(events.first { $0.zone.name == "notes" })
    let file = "\(folder)/\(ObjectName.entry(of: notes.incarnation, 1))"
    let bytes = try Data(contentsOf: URL(fileURLWithPath: file))
    try bytes.dropLast(5).write(to: URL(fileURLWithPath: file))
    let bad = await tool(2).run("sync", path("b"), "--remote", self.remote, "--create-store")
    #expect(bad.exit == 1 && bad.errors == "")
    #expect(bad.output.contains("parked at offset 1") && bad.output.contains("(damagedSegment)"))
    #expect(bad.lines.contains { $0.hasPrefix("other") && $0.contains("received 2 transactions") })
    let json = await tool(2).run("sync", path("b"), "--remote", self.remote, "--json")
    #expect(json.exit == 1 && json.output.contains(#""isInSync":false"#))
    #expect(json.output.contains(#""code":"damagedSegment""#) && json.output.contains(#""state":"parked""#))
    try bytes.write(to: URL(fileURLWithPath: file))
    let good = await tool(2).run("sync", path("b"), "--remote", self.remote)
    #expect(good.exit == 0)
    #expect(await digest("a") == digest("b"))
  }

  @Test("paused and forked zones are reported with what still works, as text and as data")
  func pausedAndForked() throws {
    let zone = ZoneID(name: "notes")
    for (status, words) in [
      (ZoneStatus.paused(.deleted), "`replay zone attach STORE notes`, `replay zone detach STORE notes` or"),
      (.paused(.purged), "`replay zone delete STORE notes`"),
      (.paused(.revoked), "Ask its owner for access"),
      (.paused(.reset), "Sync with a store that may send it"),
      (.forked(offset: 3), "takes another epoch"),
    ] {
      var report = SyncReport()
      report.zones = [ZoneReport(zone, status)]
      for printsJSON in [false, true] {
        let sink = CapturedSink()
        let output = Output(sink, isTerminal: false, usesColor: false)
        try SyncPage(output: output, printsJSON: printsJSON).print(report)
        try output.flush()
        #expect(sink.text.contains(words), "\(sink.text)")
        #expect(!printsJSON || sink.text.contains(#""hint":""#) && sink.text.contains(#""message":""#))
      }
    }
  }

  @Test("problems of the address, the zones, the store and the remote, each with its own code")
  func exitCodes() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    func run(_ arguments: String...) async -> Tool.Result { await tool().run(["sync"] + arguments) }
    let scheme = await run(path("a"), "--remote", "ftp://x")
    #expect(scheme.exit == 2 && scheme.output == "")
    #expect(
      scheme.errors.contains("“ftp://x” is not the address of a known kind of remote")
        && scheme.errors.contains("hint: "))
    for remote in ["ftp://x", "memory"] {
      let newStore = await run(path("new"), "--remote", remote, "--create-store", "--create-remote")
      #expect(newStore.exit == 2 && !FileManager.default.fileExists(atPath: path("new")), "\(newStore)")
    }
    let memory = await run(path("a"), "--remote", "memory", "--attach", "notes")
    #expect(memory.exit == 2 && memory.errors.contains("“memory” ends with the command"), "\(memory)")
    let zone = await run(path("a"), "--remote", remote, "--zone", "")
    #expect(zone.exit == 2 && zone.errors.contains("does not name a zone"))
    let noStore = await run(path("none"), "--remote", remote, "--create-remote")
    #expect(noStore.exit == 3 && !FileManager.default.fileExists(atPath: path("none")))
    #expect(!FileManager.default.fileExists(atPath: folder), "nothing is made for a store that is not there")
    let noRemote = await run(path("a"), "--remote", remote, "--attach", "notes")
    #expect(noRemote.exit == 4 && noRemote.output == "" && noRemote.errors.contains("Add --create-remote"))
    let noRemoteNewStore = await run(path("new"), "--remote", remote, "--create-store")
    #expect(noRemoteNewStore.errors.contains("Add --create-remote"), "\(noRemoteNewStore)")
    let notMade = await run(path("none"), "--remote", remote, "--create-remote")
    #expect(notMade.errors.contains("Add --create-store"), "\(notMade)")
    #expect(noRemoteNewStore.exit == 4 && !FileManager.default.fileExists(atPath: path("new")))
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let empty = await run(path("a"), "--remote", remote, "--attach", "notes", "--json")
    #expect(empty.exit == 4 && empty.errors.contains(#""code":"notARemote""#))
    let made = await run(path("a"), "--remote", remote, "--create-remote")
    #expect(made.exit == 0 && made.output.contains("local"), "a remote that failed has attached nothing")
    let unknown = await run(path("a"), "--remote", remote, "--attach", "unknown")
    #expect(unknown.exit == 2 && unknown.errors.contains("zone “unknown”"))
    #expect(unknown.errors.contains("hint: it has notes"), "\(unknown)")
    let other = await tool(9).run(
      "sync", path("a"), "--remote", "folder:\(temporary.path)/other", "--create-remote")
    #expect(
      other.exit == 4 && other.errors.contains("there is no folder"),
      "a store that has a remote gets no new one")
    try await makeStore("b", zones: ["notes"], seed: 12)
    _ = await tool(10).run("sync", path("b"), "--remote", "folder:\(temporary.path)/other", "--create-remote")
    let changed = await run(path("a"), "--remote", "folder:\(temporary.path)/other")
    #expect(changed.exit == 4 && changed.errors.contains("as before"))
  }

  @Test(
    "--watch continues until it is interrupted, and reports what moves", .timeLimit(.minutes(20)),
    arguments: [false, true])
  func watches(printsJSON: Bool) async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    try await makeStore("b", zones: ["notes"], seed: 11)
    var watching = tool()
    let sink = CapturedSink()
    watching.sink = sink
    let (sent, received) =
      printsJSON
      ? (#""sent":2"#, #""received":2"#) : ("sent 2 transactions in 1 segment", "received 2 transactions")
    watching.isInterrupted = { sink.text.contains(received) }
    let arguments = [
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes", "--watch",
    ]
    async let watched = watching.run(arguments + (printsJSON ? ["--json"] : []))
    while !sink.text.contains(sent) { try await Task.sleep(for: .milliseconds(10)) }
    let other = await tool(2).run("sync", path("b"), "--remote", remote, "--attach", "notes")
    #expect(other.exit == 0)
    let result = await watched
    #expect(result.exit == 0 && result.errors == "")
    if printsJSON {
      let documents = try result.lines.filter { !$0.isEmpty }.map { try JSONScanner.read(Array($0.utf8)) }
      #expect(documents.count >= 2)
    }
    let after = await tool().run("sync", path("a"), "--remote", remote)
    #expect(after.exit == 0)
    #expect(await digest("a") == digest("b"))
  }

  @Test("--watch waits for a missing remote; with a store without a remote it ends", .timeLimit(.minutes(20)))
  func watchesForRemote() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    let never = await tool().run("sync", path("a"), "--remote", remote, "--watch")
    #expect(never.exit == 4 && never.errors.contains("there is no folder"), "\(never)")
    let made = await tool().run(
      "sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes")
    #expect(made.exit == 0)
    try await makeStore("a", zones: ["other"], records: 1, seed: 12)
    let (folder, away) = (folder, temporary.path + "/away")
    try FileManager.default.moveItem(atPath: folder, toPath: away)
    var watching = tool(3)
    let sink = CapturedSink()
    let isBack = Mutex(false)
    watching.sink = sink
    watching.isInterrupted = {
      // The command checks while it waits: the disk is mounted then.
      isBack.withLock { isBack in
        if !isBack { isBack = rename(away, folder) == 0 }
      }
      return sink.text.contains("sent 1 transaction")
    }
    let arguments = ["sync", path("a"), "--remote", remote, "--watch", "--create-store", "--attach", "other"]
    let result = await watching.run(arguments)
    #expect(result.exit == 0 && result.output.contains("sent 1 transaction"), "\(result)")
    #expect(result.errors == "waiting for the remote: there is no folder \(folder)\n", "\(result)")
  }

  @Test("--watch ends after the first round if neither side has the zone", .timeLimit(.minutes(20)))
  func watchesNoUnknownZone() async throws {
    try await makeStore("a", zones: ["notes"], seed: 10)
    #expect(
      await tool().run("sync", path("a"), "--remote", remote, "--create-remote", "--attach", "notes").exit
        == 0)
    let result = await tool().run("sync", path("a"), "--remote", remote, "--watch", "--zone", "nope")
    #expect(result.exit == 2 && result.errors.contains("the store has no zone “nope”"), "\(result)")
    #expect(result.output == "")
  }

  @Test("an interruption in a round is reported, and the next run continues")
  func interrupted() async throws {
    try await makeStore("a", zones: (0..<8).map { "zone \($0)" }, seed: 10)
    var arguments = ["sync", path("a"), "--remote", remote, "--create-remote"]
    for index in 0..<8 { arguments += ["--attach", "zone \(index)"] }
    var hurried = tool()
    hurried.isInterrupted = { true }
    let result = await hurried.run(arguments)
    // The round may end first.
    if result.exit != 0 {
      #expect(result.exit == 130 && result.errors.contains("interrupted"))
    }
    let next = await tool(3).run("sync", path("a"), "--remote", remote)
    #expect(next.exit == 0 && next.lines.filter { $0.contains("in sync") }.count == 8)
    let second = await tool(2).run("sync", path("b"), "--remote", remote, "--create-store")
    #expect(second.exit == 0)
    #expect(await digest("a") == digest("b"))
  }
}
