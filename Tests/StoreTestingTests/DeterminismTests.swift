import Foundation
import Testing

@Suite("Simulated code is deterministic")
struct DeterminismTests {
  /// The files that may use banned things, which ones, and why.
  private static let adapters: [(file: String, bans: [SourceBan], reason: String)] = [
    (
      "EventStore/Common/SystemEnvironment.swift", [.clockTime, .systemGenerator],
      "the machine's clock and randomness, which a configuration replaces"
    ),
    (
      "EventStore/Common/StoreThread.swift", [.createThread],
      "a store's own thread, which a configuration does without"
    ),
    ("EventStore/Common/FileWatch.swift", [.queue], "the system's word that another process wrote"),
    (
      "EventStore/Commits/ObserverHub.swift", [.sleep],
      "lets commits gather while a task looks at them, which a simulation does itself"
    ),
    (
      "EventStore/Past/Fold/PinnedRead.swift", [.sleep],
      "looks now and then how much of its budget a pinned read has used, which a simulation does at commits"
    ),
    ("LMDB/Process/Gate.swift", [.clockTime], "how long a map that must grow waits for open reads"),
    ("Replicator/Remote/Folder/FolderWatch.swift", [.queue], "the system's word that a folder changed"),
    ("Replicator/Shell/SystemTimer.swift", [.sleep], "the default timer, which a configuration replaces"),
    (
      "Replicator/Remote/NetworkClock.swift", [.continuousClock, .sleep],
      "the default time of clients and servers, which a configuration replaces"
    ),
    ("RemoteIndex/LMDB/LMDBIndex.swift", [.queue], "commits, and waits for the disk, while others call"),
    ("RemoteIndex/LMDB/ServerData.swift", [.files], "makes the directory of a server's data"),
    ("StoreTesting/ChildProcess+Programs.swift", [.queue], "waits for programs that tests start"),
    ("StoreTesting/TemporaryDirectory.swift", [.files], "removes a test's directory"),
    ("StoreTesting/Runners/RunnerRemote.swift", [.files], "makes the folder of a run's remote"),
    ("StoreTesting/Histories/HistoryRunner.swift", [.files], "makes the directory of a history's stores"),
    (
      "StoreTesting/Scenarios/ScenarioDevice.swift", [.files],
      "takes away the store of a device that was wiped"
    ),
    (
      "StoreTesting/Remotes/RemoteAppendChecks.swift", [.sleep],
      "waits for a real remote's change stream"
    ),
    ("ReplayTool/Commands/FoldCheckCommand.swift", [.continuousClock], "prints how long the check took"),
    ("ReplayTool/Commands/HistoryCommand.swift", [.continuousClock], "prints how long the run took"),
    ("ReplayTool/Commands/SimulateCommand.swift", [.continuousClock], "prints how long the run took"),
    ("ReplayTool/Commands/LogCommand.swift", [.sleep], "follows a log that others write"),
    ("ReplayTool/Console/ExternalProgram.swift", [.files], "finds the program to start"),
    ("ReplayTool/Import/GitRepository.swift", [.files], "looks at the repository to import"),
  ]

  @Test(
    "outside the adapters no source uses time, randomness, threads or files, and each adapter still does")
  func sources() throws {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<3 { root.deleteLastPathComponent() }
    let sources = root.appendingPathComponent("Sources").path
    let files = try FileManager.default.subpathsOfDirectory(atPath: sources).filter { $0.hasSuffix(".swift") }
    #expect(files.count > 250)
    var violations: [SourceBan.Violation] = []
    for file in files.sorted() {
      let source = try String(contentsOfFile: "\(sources)/\(file)", encoding: .utf8)
      violations += SourceBan.violations(in: source, file: file)
    }
    for violation in violations {
      let isAllowed = Self.adapters.contains { $0.file == violation.file && $0.bans.contains(violation.ban) }
      #expect(isAllowed, "\(violation): take it from the configuration, or name the file as an adapter")
    }
    for (file, bans, reason) in Self.adapters {
      for ban in bans {
        let isUsed = violations.contains { $0.file == file && $0.ban == ban }
        #expect(isUsed, "\(file) uses \(ban.rawValue) no more (\(reason)): take it off the list")
      }
    }
  }

  private func bans(_ source: String) -> [SourceBan] {
    SourceBan.violations(in: source, file: "Sample.swift").map(\.ban)
  }

  @Test("a plain use of each banned thing is found", arguments: SourceBan.allCases)
  func found(_ ban: SourceBan) {
    let word = ban.rawValue
    let use = word.hasPrefix(".") ? "x\(word)" : word
    let call = word.hasSuffix("(") ? "\(use))" : use
    #expect(bans("let a = \(call)\n") == [ban])
    #expect(bans("\(call)") == [ban])
    #expect(bans("// \(call)\nlet a = \"\(call)\"") == [])
    if !word.hasPrefix(".") { #expect(bans("let a = my\(call)") == []) }
  }

  @Test("a violation has file and line")
  func place() {
    let found = SourceBan.violations(in: "/* one\ntwo */\n\n  let a = Date()\n", file: "F.swift")
    #expect(found == [SourceBan.Violation(file: "F.swift", line: 4, ban: .date)])
    #expect(found.first?.description == "F.swift:4: Date()")
  }

  @Test("a draw from a given generator is allowed, whatever its other arguments are")
  func generators() {
    #expect(bans("let a = UInt8.random(in: .min ... .max, using: &random)") == [])
    #expect(bans("let a = list.shuffled(using: &random)") == [])
    #expect(bans("let a = Int.random(\n  in: f(1, 2)...3,\n  using: &random)") == [])
    #expect(bans("let a = Int.random(in: 0...9)") == [.random])
    #expect(bans("let a = Int.random(in: f(using: 1)...9)") == [.random])
    #expect(bans("let a = [Bool.random(), f(using: 1)]") == [.random])
    #expect(bans("let a = Int.random(\n  in: 0...9)") == [.random])
    #expect(bans("self.random = random.stream(2); let a = plan.random(.identities)") == [])
  }

  @Test("words that only look similar are allowed")
  func lookalikes() {
    #expect(bans("WriterThread(); let threads = MyThread(); currentThreadNumber()") == [])
    #expect(bans("Display.time(t); Self.time(left); let uptime(x)\nfunc time(_ a: Int) {}") == [])
    #expect(bans("let Dates = UpDate(); Date(timeIntervalSince1970: 1); UUID(uuid: bytes)") == [])
    #expect(bans("hash.hashValueOf; SystemTimer.sleep(1); Task { }") == [])
    #expect(bans("let a = Glibc.time(nil)") == [.time])
    #expect(bans("Thread.sleep(forTimeInterval: 1)") == [.thread])
  }

  @Test("comments and strings do not count; code inside a string does")
  func text() {
    #expect(bans("/* a /* Date() */ UUID() */ let a = UUID()") == [.uuid])
    #expect(bans("let a = \"Date() \\\"UUID()\\\" \\\\\" + f(UUID())") == [.uuid])
    #expect(bans("let a = \"\\(Date()) and UUID()\"") == [.date])
    #expect(bans("let a = \"\\(f(\"\\(Date())\", (1))) UUID()\"; FileManager.default") == [.date, .files])
    #expect(bans("let a = #\"\\(Date()) \" UUID()\"#; UUID()") == [.uuid])
    #expect(bans("let a = #\"\\#(Date()) \" UUID()\"#") == [.date])
    #expect(bans("let a = \"\"\"\n  Date() \"quoted\" UUID()\n  \"\"\"\nUUID()") == [.uuid])
    #expect(bans("#if os(Linux) // Date()\n  UUID()\n#endif") == [.uuid])
    #expect(bans("let a = \"// no comment\"; Date()") == [.date])
  }
}
