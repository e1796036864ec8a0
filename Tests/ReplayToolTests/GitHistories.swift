import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Importing git histories")
struct GitHistories {
  let temporary = TemporaryDirectory()
  let tool = Tool()
  var repository: String { temporary.path + "/project" }
  var path: String { temporary.path + "/store" }

  @discardableResult
  private func git(_ arguments: String..., time: Int = 0, input: String = "") throws -> String {
    try GitFixture.run(
      arguments, in: repository, author: "Ann Ä", authorDate: "@5 +0000",
      committerDate: "\(1_700_000_000 + time) +0100", input: input)
  }

  private func put(_ path: String, _ text: String) throws {
    let url = URL(fileURLWithPath: "\(repository)/\(path)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  private var longPath: String {
    [String(repeating: "d", count: 200), String(repeating: "e", count: 200)].joined(separator: "/")
  }

  /// Two branches and a merge, a clock that goes back, an executable, a link, a submodule, and unusual names.
  private func makeRepository() throws {
    try FileManager.default.createDirectory(atPath: repository, withIntermediateDirectories: true)
    try git("init", "-q", "-b", "main")
    try put("a", "one")
    try put("folder/b: c\n\"ä", "two")
    try put(longPath, "long")
    try git("add", "-A")
    try git("commit", "-qm", "first", time: 10)
    try put("a", "one and more")
    try git("add", "a")
    try git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub")
    try git("commit", "-qm", String(repeating: "ä", count: 600), time: 5)
    try git("checkout", "-qb", "side")
    try put("side", "side")
    try put("folder/b: c\n\"ä", "changed at the side")
    try git("add", "side", "folder")
    try git("commit", "-qm", "not in the history", time: 20)
    try git("checkout", "-q", "main")
    try git("update-index", "--force-remove", "sub")
    try git("commit", "-q", "--allow-empty", "-m", "remove the submodule", time: 21)
    try git("commit", "-q", "--allow-empty", "-m", "empty", time: 22)
    try git("merge", "-q", "--no-ff", "-m", "merge", "side", time: 30)
    try FileManager.default.createSymbolicLink(atPath: repository + "/link", withDestinationPath: "a")
    try git("update-index", "--chmod=+x", "a")
    try git("add", "link")
    try git("rm", "-qf", "side")
    try git("commit", "-qm", "last", time: 40)
  }

  @Test("the existing records are the files of the last commit")
  func equalsTheTree() async throws {
    try makeRepository()
    let result = await tool.run("import", path, "--git", repository, "--json")
    #expect(result.errors == "")
    #expect(
      result.output == #"{"changes":11,"commits":6,"emptyCommits":1,"transactions":5,"zone":"project"}"#
        + "\n")
    var expected: [String: [String]] = [:]
    for line in try git("ls-tree", "-r", "-l", "-z", "HEAD").split(separator: "\0") {
      let parts = line.split(separator: "\t", maxSplits: 1).map(String.init)
      let words = parts[0].split(separator: " ").map(String.init)
      expected[parts[1]] = [words[0], words[2], words[3]]
    }
    var found: [String: [String]] = [:]
    let store = try ShoppingStore.open(path)
    let (records, entries) = try store.read { transaction in
      var entries: [LogEntry] = []
      try transaction.history { entry in
        entries.append(entry)
        return true
      }
      return (try transaction.records(in: ZoneID(name: "project")), entries)
    }
    store.close()
    for record in records {
      #expect(record.type == "file")
      var name = record.id.name.rawValue
      if case .string(let path)? = record["path"] {
        #expect(name == ContentHash(of: Array(path.utf8).span.bytes).description)
        name = path
      }
      guard case .string(let mode)? = record["mode"], case .string(let blob)? = record["blob"],
        case .int(let size)? = record["size"]
      else {
        Issue.record("\(record)")
        continue
      }
      found[name] = [mode, blob, "\(size)"]
    }
    #expect(found == expected)
    #expect(found.keys.contains(longPath))
    let times = entries.map { Int64($0.transaction.timestamp.milliseconds) - 1_700_000_000_000 }
    #expect(times == [10_000, 10_001, 21_000, 30_000, 40_000])
    #expect(entries.allSatisfy { $0.transaction.author == "Ann Ä" })
    #expect(entries[1].transaction.label == String(repeating: "ä", count: 512))
    #expect(entries.last?.transaction.label == "last")
    let submodules = entries[1].transaction.operations.filter { $0.record == "sub" }
    #expect(submodules.count == 3)
  }

  @Test("only the first commits, into a given zone, which must be new")
  func importsSome() async throws {
    try makeRepository()
    let none = await tool.run("import", path, "--git", repository, "--zone", "ann/p", "--limit", "0")
    #expect(none.exit == 0 && none.output.hasPrefix("imported 0 commits"), "\(none)")
    #expect(!FileManager.default.fileExists(atPath: path))
    let first = await tool.run("import", path, "--git", repository, "--zone", "ann/p", "--limit", "1")
    #expect(first.output == "imported 1 commit, as 1 transaction with 3 changes of files, into zone ann/p\n")
    var interrupted = tool
    interrupted.isInterrupted = { true }
    let part = await interrupted.run("import", path, "--git", repository, "--zone", "ann/q")
    #expect(part.exit == 130)
    #expect(part.errors.hasPrefix("error: interrupted; 1 commit before it was imported"), "\(part.errors)")
    let again = await tool.run("import", path, "--git", repository, "--zone", "ann/p")
    #expect(again.exit == 2)
    #expect(again.errors.contains("already has a zone “ann/p”"))
  }

  @Test("a directory without a repository, a missing directory, a repository without commits")
  func refusesOther() async throws {
    let absent = await tool.run("import", path, "--git", temporary.path + "/none")
    #expect(absent.exit == 2)
    #expect(absent.errors.contains("there is no directory"))
    let other = await tool.run("import", path, "--git", temporary.path)
    #expect(other.exit == 2)
    #expect(other.errors.contains("is not a git repository"))
    try FileManager.default.createDirectory(atPath: repository, withIntermediateDirectories: true)
    try git("init", "-q")
    let empty = await tool.run("import", path, "--git", repository)
    #expect(empty.exit == 2)
    #expect(empty.errors.contains("has no commits"))
  }

  @Test("if git fails half-way, no commit is written that may be incomplete")
  func distrustsFailures() async throws {
    try makeRepository()
    // The last 60 bytes of the log are missing, and git ends with an error.
    let script = """
      #!/bin/bash
      if [[ " $* " == *" log "* ]]; then git "$@" | head -c -60; echo "fatal: out of luck" >&2; exit 130; fi
      exec git "$@"
      """
    let executable = temporary.path + "/git"
    try Data(script.utf8).write(to: URL(fileURLWithPath: executable))
    try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: executable)
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let (output, errors) = (CapturedSink(), CapturedSink())
    let console = Console(
      output: Output(output, isTerminal: false, usesColor: false),
      errors: Output(errors, isTerminal: false, usesColor: false), input: { MemorySource([]) })
    let job = GitImport(
      repository: try GitRepository(repository, executable: executable), store: store,
      zone: ZoneID(name: "z"),
      clock: ImportClock(), total: 100, progress: Progress(console))
    let error = await #expect(throws: ToolError.self) { try await job.run() }
    #expect(error?.code == "gitFailed")
    #expect(error?.message == "git failed: fatal: out of luck; 5 commits before it were imported")
    let last = try store.read { transaction in try transaction.entry(at: transaction.lastPosition()) }
    #expect(last.transaction.label == "merge")
  }

  @Test("without git a command reports that")
  func needsGit() throws {
    let error = #expect(throws: ToolError.self) { try GitRepository("/", executable: "/nonexistent/git") }
    #expect(error?.code == "gitMissing")
    #expect(error?.exit == .input)
  }

  @Test("a commit of more changes than a transaction may have is split")
  func splitsLargeCommits() async throws {
    try FileManager.default.createDirectory(atPath: repository, withIntermediateDirectories: true)
    try git("init", "-q", "-b", "main")
    // 6,000 files with the same blob, without writing the files.
    try put("seed", "x")
    try git("add", "seed")
    let blob = try git("rev-parse", ":seed").prefix(40)
    try git(
      "update-index", "--add", "--index-info",
      input: (0..<6000).map { "100644 \(blob)\tf/\($0)\n" }.joined())
    try git("commit", "-qm", "many", time: 1)
    let result = await tool.run("import", path, "--git", repository)
    #expect(result.exit == 0, "\(result.errors)")
    #expect(
      result.output.hasPrefix("imported 1 commit, as 2 transactions with 6,001 changes"), "\(result.output)")
  }

  @Test("a text is cut between scalars")
  func cutsTexts() {
    let texts = [("", 5, nil), ("abc", 3, "abc"), ("abcd", 3, "abc"), ("aä", 2, "a"), ("😀", 3, "")]
    for (text, bytes, expected) in texts {
      let found = GitImport.cut(text, bytesMax: bytes)
      #expect(found == expected)
    }
  }
}
