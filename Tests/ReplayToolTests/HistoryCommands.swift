import ChildProcesses
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Running histories from the command line")
struct HistoryCommands {
  let temporary = TemporaryDirectory()
  let tool = Tool()

  private func write(_ text: String, _ name: String) throws -> String {
    let path = "\(temporary.path)/\(name)"
    try Data(text.utf8).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func gzip(_ path: String) throws -> String {
    let process = try ChildProcess(
      path: "/usr/bin/env", ["gzip", path], environment: ["PATH=/usr/bin:/bin"])
    let end = process.wait()
    try #require(end == .exit(0))
    return path + ".gz"
  }

  private static let log = [
    #"{"seq":0,"commit":"c0","parents":[],"device":"ann","lane":"ann.0","t":1000,"at":1,"ct":1,"msg_len":3,"merge":false,"ops":[["put","a/x","b1",10,"100644"],["put","top","b2",0,"100755"]]}"#,
    #"{"seq":1,"commit":"c1","parents":[0],"device":"bob","lane":"bob.0","t":1001,"at":0,"ct":1,"msg_len":3,"merge":false,"ops":[["del","a/gone"],["put","a/x","b3",11,"100644"]]}"#,
    #"{"seq":2,"commit":"c2","parents":[1],"device":"ann","lane":"ann.0","t":2000,"at":9,"ct":2,"msg_len":3,"merge":true,"ops":[]}"#,
    #"{"seq":3,"commit":"c3","parents":[2],"device":"ann","lane":"ann.0","t":2001,"at":9,"ct":2,"msg_len":3,"merge":false,"ops":[["del","top"],["put","tab\there","b4",1,"100644"]]}"#,
  ]
  private static let final = "a/x\tb3\t11\ntab\there\tb4\t1\n"

  @Test("a git history ends with the files of its last commit", arguments: ["memory", "folder"])
  func runsGit(remote: String) async throws {
    let repository = try GitFixture(in: temporary)
    try repository.makeHistory()
    let remote = remote == "memory" ? remote : "folder:\(temporary.path)/remote"
    let keep = temporary.path + "/kept"
    let result = await tool.run(
      "history", "--git", repository.directory, "--remote", remote, "--devices", "4", "--sync-every", "3",
      "--offline",
      "0.5", "--seed", "3", "--keep", keep)
    #expect(result.errors == "")
    #expect(result.exit == 0)
    let files = try repository.git("ls-tree", "-r", "HEAD").split(separator: "\n").count
    #expect(
      result.lines.dropLast().last == "4 devices equal the final tree, \(files) files", "\(result.output)")
    for device in 0..<4 {
      let verified = await tool.run("verify", "\(keep)/d00\(device)")
      #expect(verified.output.hasPrefix("sound"), "\(verified.output)\(verified.errors)")
    }
    let first = await tool.run("digest", "\(keep)/d000")
    let last = await tool.run("digest", "\(keep)/d003")
    #expect(first.output == last.output)
    #expect(first.lines.count > 4)
  }

  @Test("a git history by its authors' clocks, a device for each author")
  func runsAuthorsClocks() async throws {
    let repository = try GitFixture(in: temporary)
    try repository.makeHistory()
    let result = await tool.run("history", "--git", repository.directory, "--clock", "author")
    #expect(result.output.contains("3 devices equal the final tree"), "\(result.output)\(result.errors)")
  }

  @Test("a history in files, plain and packed")
  func runsFiles() async throws {
    let log = try write(Self.log.joined(separator: "\n"), "log.jsonl")
    let final = try write(Self.final, "final.tsv")
    let plain = await tool.run("history", log, "--final", final, "--json")
    #expect(plain.exit == 0, "\(plain.errors)")
    #expect(plain.output.contains(#""areEqual":true"#))
    #expect(plain.output.contains(#""commits":4,"conflicts":0,"devices":["d000","d001"]"#), "\(plain.output)")
    // Three fields and an existence for each put, one write for each zone; a missing file is created before
    // it is deleted.
    #expect(plain.output.contains(#""operations":18"#), "\(plain.output)")
    #expect(plain.output.contains(#""transactions":5"#), "\(plain.output)")
    let packed = await tool.run(
      "history", try gzip(log), "--final", try gzip(final), "--devices", "1", "--sync-every", "9")
    #expect(
      packed.output.contains("1 device equals the final tree, 2 files"), "\(packed.output)\(packed.errors)")
  }

  @Test(
    "a wrong final tree is a difference, also in the exit code",
    arguments: [
      (
        "a/x\tb3\t12\n",
        "a:a/x on d000: expected blob b3, 12 bytes, found blob \"b3\", mode \"100644\", size 11"
      ),
      ("a/x\tb1\t11\n", "a:a/x on d000: expected blob b1"),
      ("a/w\tb\t1\n", "a:a/w on d000: expected blob b, 1 bytes, found no such record"),
      ("", "a:a/x on d000: expected no such record"),
      ("a/x\tb3\t11\nzzz\tb\t1\n", "zzz:zzz on d000: expected blob b, 1 bytes, found no such record"),
    ])
  func tellsDifferences(tree: String, words: String) async throws {
    let log = try write(Self.log.joined(separator: "\n"), "log.jsonl")
    let final = try write(
      tree + (tree.contains("a/x\tb3\t11") || tree.isEmpty ? "" : "") + "tab\there\tb4\t1\n", "final.tsv")
    let result = await tool.run("history", log, "--final", final)
    #expect(result.exit == 1)
    #expect(result.output.contains("different: " + words), "\(result.output)")
    let json = await tool.run("history", log, "--final", final, "--json")
    #expect(json.exit == 1)
    #expect(json.output.contains(#""areEqual":false"#))
  }

  @Test(
    "a wrong line is reported with its number",
    arguments: [
      ("{", "byte 1"), ("[]", "an object was expected"),
      (#"{"device":"a","t":3000,"at":1}"#, "“ops” is missing"),
      (#"{"device":"a","t":3000,"at":1,"ops":[],"more":1}"#, "“more” is unknown"),
      (#"{"device":"a","t":2001,"at":1,"ops":[]}"#, "a time after that of the line before"),
      (#"{"device":"","t":3000,"at":1,"ops":[]}"#, "device"),
      (#"{"device":"a","t":3000,"at":9223372036854775807,"ops":[]}"#, "a time"),
      (#"{"device":"a","t":-3000,"at":1,"ops":[]}"#, "a time"),
      (#"{"device":"a","t":3000,"at":1,"ops":[["put","p"]]}"#, "put with five parts"),
      (#"{"device":"a","t":3000,"at":1,"ops":[["put","p","b",-1,"m"]]}"#, "put, path, blob"),
      (#"{"device":"a","t":3000,"at":1,"ops":[["del",""]]}"#, "a kind, a path"),
    ])
  func tellsLines(line: String, words: String) async throws {
    let log = try write((Self.log + [line]).joined(separator: "\n"), "log.jsonl")
    let final = try write(Self.final, "final.tsv")
    let result = await tool.run("history", log, "--final", final)
    #expect(result.exit == 2)
    #expect(result.errors.contains("line 5 of "), "\(result.errors)")
    #expect(result.errors.contains(words), "\(result.errors)")
  }

  @Test(
    "a wrong table of files is reported with its line",
    arguments: ["x", "x\tb", "x\tb\t-", "\tb\t1", "a/x\tb\t1"])
  func tellsTableLines(line: String) async throws {
    let log = try write(Self.log.joined(separator: "\n"), "log.jsonl")
    let final = try write(Self.final + line + "\n", "final.tsv")
    let result = await tool.run("history", log, "--final", final)
    #expect(result.exit == 2)
    #expect(result.errors.contains("line 3 of "), "\(result.errors)")
  }

  @Test("a damaged or cut compressed file is refused")
  func tellsDamage() async throws {
    let log = try gzip(try write(Self.log.joined(separator: "\n"), "log.jsonl"))
    let final = try write(Self.final, "final.tsv")
    var data = try Data(contentsOf: URL(fileURLWithPath: log))
    data.removeLast(9)
    try data.write(to: URL(fileURLWithPath: log))
    let result = await tool.run("history", log, "--final", final)
    #expect(result.exit == 2)
    #expect(result.errors.contains("cannot be unpacked"), "\(result.errors)")
  }

  @Test("contradicting options, missing directories and files")
  func refuses() async throws {
    for arguments in [
      ["history"], ["history", "x"], ["history", "--final", "x", "--git", "y"],
      ["history", "--generate", "5", "--git", "."],
      ["history", "--generate", "5", "--offline", "2"], ["history", "--generate", "5", "--sync-every", "0"],
      ["history", "--generate", "5", "--devices", "0"], ["history", "--generate", "5", "--clock", "mine"],
      ["history", "--generate", "-1"],
    ] {
      let result = await tool.run(arguments)
      #expect(result.exit == 2, "\(arguments) \(result.errors)")
    }
    let remote = await tool.run("history", "--generate", "5", "--remote", "ftp:x")
    #expect(remote.exit == 2)
    let missing = await tool.run("history", "\(temporary.path)/none", "--final", "\(temporary.path)/none")
    #expect(missing.exit == 2)
    let git = await tool.run("history", "--git", temporary.path)
    #expect(git.errors.contains("is not a git repository"))
    let keep = await tool.run("history", "--generate", "5", "--keep", try GitFixture(in: temporary).directory)
    #expect(keep.errors.contains("is not empty"), "\(keep.errors)")
    #expect(keep.exit == 2)
    let file = temporary.path + "/file"
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    for option in [["--keep", file + "/x"], ["--remote", "folder:\(file)/x"]] {
      let unusable = await tool.run(["history", "--generate", "5"] + option)
      #expect(
        unusable.exit == 2 && unusable.errors.contains("cannot be used: Not a directory\n"), "\(unusable)")
    }
  }

  @Test("a folder that has been a remote is refused: its contents would look like a difference")
  func refusesUsedRemotes() async throws {
    let arguments = [
      "history", "--generate", "40", "--devices", "3", "--remote", "folder:\(temporary.path)/r",
    ]
    let first = await tool.run(arguments)
    #expect(first.exit == 0, "\(first)")
    let second = await tool.run(arguments + ["--seed", "2"])
    #expect(second.exit == 2 && second.errors.contains("/r” is not empty"), "\(second)")
    #expect(second.errors.contains("for the remote"))
  }

  @Test("an interrupt ends it and leaves nothing behind")
  func ends() async throws {
    var interrupted = tool
    interrupted.isInterrupted = { true }
    let result = await interrupted.run("history", "--generate", "50")
    #expect(result.exit == 130)
    #expect(result.output == "")
  }
}
