import ChildProcesses
import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

/// The command as a separate process, as it was built beside the tests.
@Suite("As a process")
struct OtherProcesses {
  let temporary = TemporaryDirectory()

  private func shell(_ script: String) async throws -> (output: String, exit: Int32) {
    try await OtherProcess.run(
      "/bin/bash", ["-c", "set -o pipefail; " + script],
      environment: ["PATH": "/usr/bin:/bin", "REPLAY": try #require(OtherProcess.replay)], takesErrors: true)
  }

  private func makeLongLog(_ path: String) throws {
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let id = RecordID(zone: ZoneID(name: "z"), name: "r")
    try store.writeBlockingThisThread { tx in
      try tx.createZone(id.zone)
      try tx.create(id, type: "t")
    }
    for number in 0..<3000 {
      try store.writeBlockingThisThread { tx in try tx.set("n", of: id, to: .int(Int64(number))) }
    }
  }

  @Test("a closed pipe ends it quietly", .enabled(if: OtherProcess.replay != nil))
  func endsWithPipe() async throws {
    let path = temporary.path + "/store"
    try makeLongLog(path)
    let result = try await shell("\"$REPLAY\" log \(path) --operations | head -n 1")
    #expect(result.exit == 0)
    let lines = result.output.split(separator: "\n")
    #expect(lines.count == 1, "\(result.output)")
  }

  @Test("exit codes reach the shell", .enabled(if: OtherProcess.replay != nil))
  func hasExitCodes() async throws {
    let none = try await shell("\"$REPLAY\" info \(temporary.path)/none")
    #expect(none.exit == 3)
    #expect(!none.output.contains("\u{1B}"))
    let usage = try await shell("\"$REPLAY\" info")
    #expect(usage.exit == 2)
    let version = try await shell("\"$REPLAY\" --version")
    #expect(version.output == "0.1.0\n")
    #expect(version.exit == 0)
  }

  @Test(
    "--follow prints what another process writes, and Ctrl-C ends it with 0",
    .enabled(if: OtherProcess.replay != nil))
  func follows() async throws {
    let path = temporary.path + "/store"
    let store = try ShoppingStore.open(path)
    defer { store.close() }
    let id = RecordID(zone: ZoneID(name: "z"), name: "r")
    try await store.write { tx in
      tx.label = "before"
      try tx.createZone(id.zone)
      try tx.create(id, type: "t")
    }
    let process = try ChildProcess(
      path: try #require(OtherProcess.replay), ["log", path, "--follow", "--json"], environment: [])
    let first = try #require(process.line())
    #expect(first.contains(#""label":"before""#))
    try await store.write { tx in
      tx.label = "after"
      try tx.set("f", of: id, to: 1)
    }
    let second = try #require(process.line())
    #expect(second.contains(#""label":"after""#))
    process.send(SIGINT)
    #expect(process.line() == nil)
    #expect(process.wait() == .exit(0))
  }
}
