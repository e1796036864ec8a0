import EventStore
import Foundation

/// A git repository, which it reads with the `git` command.
struct GitRepository {
  let directory: String
  /// The directory of the repository: its work tree, or the repository itself if it is bare.
  let root: String
  private let executable: String

  /// - Parameter executable: the path of git; nil looks it up in `PATH`.
  init(_ directory: String, executable: String? = nil) throws {
    self.directory = directory
    self.executable = try executable ?? ExternalProgram.lookUp("git")
    var isDirectory: ObjCBool = false
    guard FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory), isDirectory.boolValue
    else {
      throw ToolError.input(
        "notARepository", "there is no directory “\(directory)”",
        hint: "give the directory of a git repository")
    }
    let bare = try Self.run(self.executable, directory, ["rev-parse", "--is-bare-repository"])
    do {
      let isBare = try bare.text() == "true"
      root = try Self.run(
        self.executable, directory,
        ["rev-parse", isBare ? "--absolute-git-dir" : "--show-toplevel"]
      ).text()
    } catch let error as ProcessFailure {
      throw ToolError.input(
        "notARepository", "“\(directory)” is not a git repository: \(error.message)",
        hint: "give the directory of a git repository")
    }
  }

  /// A zone with the name of the repository's directory.
  func zone() throws -> ZoneID {
    var name = root.split(separator: "/").last.map(String.init) ?? ""
    if name == ".git" { name = root.split(separator: "/").dropLast().last.map(String.init) ?? "" }
    if name.hasSuffix(".git") { name.removeLast(4) }
    guard 1...Limits.nameBytesMax ~= name.utf8.count else {
      throw ToolError.input(
        "zoneInvalid", "the directory's name “\(name)” cannot be a zone's", hint: "name the zone with --zone")
    }
    return ZoneID(name: Name(name))
  }

  /// How many commits the history has.
  func commitCount() throws -> UInt64 {
    do {
      return UInt64(try run(["rev-list", "--count", "--first-parent", "HEAD"]).text()) ?? 0
    } catch is ProcessFailure {
      throw ToolError.input(
        "repositoryEmpty", "the repository “\(directory)” has no commits", hint: "choose one that has")
    }
  }

  /// The commits, oldest first, with their changes compared with their first parent.
  func log() throws -> GitLog {
    // Sets every option that a user's configuration could change.
    GitLog(
      try run([
        "-c", "log.showSignature=false", "-c", "diff.orderFile=/dev/null", "log", "--first-parent", "-m",
        "--reverse", "--raw", "-z", "--no-renames",
        "--root", "--no-abbrev", "--no-notes", "--no-color", "--no-decorate", "--no-ext-diff",
        "--no-relative",
        "--ignore-submodules=none", "--encoding=UTF-8", "--format=\(GitLog.format)", "HEAD", "--",
      ]))
  }

  /// How many authors the history has.
  func authorCount() throws -> Int {
    let process = try run([
      "-c", "log.showSignature=false", "log", "--first-parent", "--no-notes", "--no-color", "--no-decorate",
      "--encoding=UTF-8", "--format=%an", "HEAD", "--",
    ])
    var lines = DelimitedReader(process, delimiter: UInt8(ascii: "\n"), partBytesMax: 1 << 20)
    var authors: Set<String> = []
    do {
      while let line = try lines.next() { authors.insert(String(decoding: line, as: UTF8.self)) }
    } catch is PartTooLong {
      throw ProcessFailure(message: "an author's name is longer than 1 MiB")
    }
    try process.finish()
    return authors.count
  }

  /// Lists the files of the last commit: mode, type, hash, size and path of each.
  func tree() throws -> GitTree { GitTree(try run(["ls-tree", "-r", "-z", "-l", "--full-tree", "HEAD"])) }

  /// Starts a process that returns the sizes of blobs.
  func sizes() throws -> GitSizes {
    GitSizes(try run(["cat-file", "--batch-check=%(objectname) %(objectsize)"], takesInput: true))
  }

  private func run(_ arguments: [String], takesInput: Bool = false) throws -> ExternalProgram {
    try Self.run(executable, directory, arguments, takesInput: takesInput)
  }

  private static func run(
    _ executable: String, _ directory: String, _ arguments: [String], takesInput: Bool = false
  ) throws -> ExternalProgram {
    // The environment may name the repository in which git runs this command; it must not replace the given
    // one.
    var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("GIT_") }
    environment["LC_ALL"] = "C"
    environment["GIT_OPTIONAL_LOCKS"] = "0"
    environment["GIT_TERMINAL_PROMPT"] = "0"
    return try ExternalProgram(
      executable, name: "git", ["--no-pager", "-C", directory] + arguments, environment: environment,
      takesInput: takesInput)
  }
}
