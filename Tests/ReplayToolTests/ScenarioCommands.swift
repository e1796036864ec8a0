import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Running scenarios from the command line")
struct ScenarioCommands {
  let temporary = TemporaryDirectory()
  let tool = Tool()

  private static let yaml = """
    format: scenarios/1
    scenarios:
    - id: good
      devices: [a, b]
      steps:
      - {op: create, dev: a, rec: r, fields: {n: 1}}
      - {op: quiesce, dev: '*'}
      expect:
      - {assert: converged, dev: '*'}
    - id: later
      devices: [a]
      steps:
      - {op: share, dev: a, zone: main}
    - id: wrong
      devices: [a]
      steps:
      - {op: create, dev: a, rec: r, fields: {}}
      expect:
      - {assert: count, dev: a, eq: 2}
    """

  @Test(
    "a line for each scenario, the counts last, and exit code 1 if any failed",
    arguments: ["memory", "folder"])
  func runs(remote: String) async throws {
    let remote = remote == "memory" ? remote : "folder:\(temporary.path)/remotes"
    let result = await tool.run("scenario", "-", "--remote", remote, input: Array(Self.yaml.utf8))
    #expect(
      result.output == """
        passed good
        skipped later: sharing
        failed wrong: expectation 1 (assert count, line 19), expected 2 records in main on a, found 1
        1 passed, 1 failed, 1 skipped

        """)
    #expect(result.exit == 1)
    let one = await tool.run(
      "scenario", "-", "--remote", remote, "--only", "good", input: Array(Self.yaml.utf8))
    #expect(one.output == "passed good\n1 passed, 0 failed, 0 skipped\n")
    #expect(one.exit == 0)
  }

  @Test("the same as data, with every device's digests")
  func printsJSON() async throws {
    let result = await tool.run("scenario", "-", "--json", input: Array(Self.yaml.utf8))
    let documents = try result.lines.filter { !$0.isEmpty }.map { try JSONScanner.read(Array($0.utf8)) }
    try #require(documents.count == 4)
    guard case .object(let good) = documents[0], case .array(let devices)? = good["devices"] else {
      Issue.record("\(documents[0])")
      return
    }
    #expect(good["outcome"] == .string("passed"))
    try #require(devices.count == 2)
    guard case .object(let a) = devices[0], case .object(let b) = devices[1] else {
      Issue.record("\(devices)")
      return
    }
    #expect(a["digests"] == b["digests"])
    #expect(a["digests"] != .array([]))
    guard case .object(let wrong) = documents[2] else {
      Issue.record("\(documents[2])")
      return
    }
    #expect(wrong["found"] == .string("1"))
    #expect(documents[3] == .object(["passed": .integer(1), "failed": .integer(1), "skipped": .integer(1)]))
  }

  @Test("a wrong file is reported with its line, before anything runs")
  func refuses() async throws {
    let wrong = await tool.run("scenario", "-", input: Array((Self.yaml + "\n- 3").utf8))
    #expect(wrong.exit == 2)
    #expect(wrong.output == "")
    #expect(wrong.errors.contains("line 20 of standard input: "), "\(wrong.errors)")
    let other = await tool.run("scenario", "-", input: [0xff, 0xfe, 0x00])
    #expect(other.exit == 2)
    let missing = await tool.run("scenario", "\(temporary.path)/none")
    #expect(missing.exit == 2)
    let unknown = await tool.run("scenario", "-", "--only", "x", input: Array(Self.yaml.utf8))
    #expect(unknown.errors.contains("there are good, later, wrong"))
    // A directory that cannot be created is one error, not one for each scenario.
    let file = temporary.path + "/file"
    #expect(FileManager.default.createFile(atPath: file, contents: nil))
    let unusable = await tool.run(
      "scenario", "-", "--remote", "folder:\(file)/x", input: Array(Self.yaml.utf8))
    #expect(unusable.exit == 2 && unusable.output == "", "\(unusable)")
    #expect(unusable.errors.contains("“\(file)/x” cannot be used: Not a directory\n"), "\(unusable)")
    let remote = await tool.run("scenario", "-", "--remote", "sky", input: Array(Self.yaml.utf8))
    #expect(remote.exit == 2)
    #expect(remote.errors.contains("names no remote"))
  }
}
