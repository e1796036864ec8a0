import Foundation
import Testing

@testable import Replicator

/// The files in `Scripts` have inputs of the machine, and its outputs after each. A change of its behaviour
/// is a diff of these files: run the tests with `REWRITE_SCRIPTS=1` to write them again, and read the diff.
@Suite("The machine follows the scripts, line by line")
struct MachineScripts {
  static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("Scripts")

  static let names = ((try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? [])
    .filter { $0.hasSuffix(".txt") }.sorted()

  @Test("a script", arguments: names)
  func script(name: String) throws {
    let file = Self.directory.appendingPathComponent(name)
    let text = try String(contentsOf: file, encoding: .utf8)
    let played = try MachineScript.play(text)
    if ProcessInfo.processInfo.environment["REWRITE_SCRIPTS"] != nil, played != text {
      try played.write(to: file, atomically: true, encoding: .utf8)
      return
    }
    let (lines, now) = (
      text.split(separator: "\n", omittingEmptySubsequences: false),
      played.split(separator: "\n", omittingEmptySubsequences: false)
    )
    let first = zip(lines, now).enumerated().first { $1.0 != $1.1 }?.offset ?? min(lines.count, now.count)
    #expect(
      played == text,
      "\(name):\(first + 1): is now “\(now.dropFirst(first).prefix(3).joined(separator: " ⏎ "))”")
  }

  @Test("the scripts exist")
  func count() {
    #expect(Self.names.count >= 25)
  }
}
