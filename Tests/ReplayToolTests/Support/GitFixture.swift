import ChildProcesses
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

/// A git repository for a test.
struct GitFixture {
  let directory: String

  init(in temporary: TemporaryDirectory, name: String = "project") throws {
    directory = "\(temporary.path)/\(name)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    try git("init", "-q", "-b", "main")
  }

  /// Runs git. `time` is the committer's, in seconds after a fixed time; the author's is an hour earlier.
  @discardableResult
  func git(_ arguments: String..., time: Int = 0, author: String = "Ann") throws -> String {
    try Self.run(
      arguments, in: directory, author: author, authorDate: "\(1_700_000_000 + time - 3600) +0000",
      committerDate: "\(1_700_000_000 + time) +0100")
  }

  /// Runs git without the user's settings, and returns its output.
  static func run(
    _ arguments: [String], in directory: String, author: String, authorDate: String, committerDate: String,
    input: String = ""
  ) throws -> String {
    let environment = [
      "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin", "HOME": directory,
      "GIT_AUTHOR_NAME": author, "GIT_AUTHOR_EMAIL": "a@example.com", "GIT_COMMITTER_NAME": "Bob",
      "GIT_COMMITTER_EMAIL": "bob@example.com", "GIT_AUTHOR_DATE": authorDate,
      "GIT_COMMITTER_DATE": committerDate, "GIT_CONFIG_NOSYSTEM": "1",
    ]
    let process = try ChildProcess(
      path: "/usr/bin/env", ["git", "-C", directory, "-c", "protocol.file.allow=always"] + arguments,
      environment: environment.map { "\($0.key)=\($0.value)" }, takesInput: true)
    process.send(Array(input.utf8))
    process.endInput()
    let output = String(decoding: process.receiveAll(), as: UTF8.self)
    let end = process.wait()
    try #require(end == .exit(0), "git \(arguments)")
    return output
  }

  func put(_ path: String, _ text: String) throws {
    let url = URL(fileURLWithPath: "\(directory)/\(path)")
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try Data(text.utf8).write(to: url)
  }

  /// Commits all files.
  func commit(_ message: String, time: Int, author: String = "Ann") throws {
    try git("add", "-A")
    try git("commit", "-q", "--allow-empty", "-m", message, time: time, author: author)
  }

  /// Three authors, clocks that go back, a merge, deletions and re-creations, a long path, a submodule.
  func makeHistory() throws {
    let long = [String(repeating: "d", count: 200), String(repeating: "e", count: 200)].joined(separator: "/")
    for round in 0..<12 {
      let author = ["Ann", "Bob", "Cy"][round % 3]
      try put("src/a", "round \(round)")
      try put("src/file \(round % 4)", "\(round)")
      try put("docs/ä\"\(round % 2)", "\(author) \(round)")
      if round == 3 { try put(long, "long") }
      if round % 4 == 2 { try FileManager.default.removeItem(atPath: "\(directory)/src/a") }
      try commit("round \(round)", time: round % 5 == 4 ? 1 : round * 10, author: author)
    }
    try git("checkout", "-qb", "side", "HEAD~3")
    try put("side/s", "side")
    try commit("aside", time: 7, author: "Dan")
    try git("checkout", "-q", "main")
    try git("merge", "-q", "--no-ff", "-m", "merge", "side", time: 200)
    try git("update-index", "--add", "--cacheinfo", "160000,0123456789012345678901234567890123456789,sub")
    try git("commit", "-qm", "submodule", time: 201)
    try commit("empty", time: 202, author: "Cy")
  }
}
