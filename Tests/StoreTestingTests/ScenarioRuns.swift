import Foundation
import Testing

@testable import StoreTesting

@Suite("Running scenarios")
struct ScenarioRuns {
  let temporary = TemporaryDirectory()

  /// The files of `Tests/Scenarios`.
  static let files: [String] = {
    let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Scenarios").path
    let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
    return names.sorted().filter { $0.hasSuffix(".yaml") }.map { "\(directory)/\($0)" }
  }()

  private func run(_ steps: String, expect: String = "[]", remote: RunnerRemote = .memory) async throws
    -> ScenarioResult
  {
    let yaml = """
      format: scenarios/1
      scenarios:
      - id: s
        devices: [a, b]
        steps:
      \(steps.split(separator: "\n").map { "  - \($0)" }.joined(separator: "\n"))
        expect: \(expect)
      """
    let scenario = try #require(try ScenarioFile.parse(yaml: yaml).scenarios.first)
    return await ScenarioRunner(remote: remote).run(scenario)
  }

  @Test("the files exist")
  func hasFiles() { #expect(Self.files.count > 10) }

  @Test("every scenario passes, over memory and over a folder", arguments: files)
  func passes(file: String) async throws {
    let text = try String(contentsOfFile: file, encoding: .utf8)
    let isLater = file.hasSuffix("/later.yaml")
    for remote in [RunnerRemote.memory, .folder(directory: temporary.path)] {
      for scenario in try ScenarioFile.parse(yaml: text).scenarios {
        let result = await ScenarioRunner(remote: remote).run(scenario)
        if isLater {
          guard case .skipped = result.outcome else {
            Issue.record("\(result.line): it runs now; move it to a file of its own")
            continue
          }
        } else {
          #expect(result.outcome == .passed, "\(result.line)")
        }
      }
    }
  }

  @Test(
    "a wrong expectation fails, with the expected and the found value",
    arguments: [
      ("{assert: exists, dev: '*', rec: q}", "expected q to be on a, found no such record"),
      ("{assert: absent, dev: b, rec: r}", "expected no r on b, found a record"),
      ("{assert: field, dev: b, rec: r, field: n, eq: 2}", "expected 2 in r.n on b, found 1"),
      (
        "{assert: field, dev: a, rec: r, field: n, one_of: ['1', 2]}",
        "expected \"1\" or 2 in r.n on a, found 1"
      ),
      ("{assert: field, dev: a, rec: r, field: x, eq: ''}", "expected \"\" in r.x on a, found null"),
      ("{assert: count, dev: b, eq: 2}", "expected 2 records in main on b, found 1"),
      ("{assert: count, dev: b, eq: 1, zone: z}", "expected 1 records in z on b, found 0"),
      (
        "{assert: survivor, dev: a, rec: r, of: [z]}",
        "expected main:r beside its copies [z:r] on a, found []"
      ),
      (
        "{op: move_zone, dev: b, rec: p, from: main, zone: z}",
        "expected success on b, found there is no record"
      ),
      ("{assert: pending, dev: a, eq: 0}", "expected 0 pending on a, found 1"),
      ("{assert: pending_at_least, dev: a, eq: 2}", "expected at least 2 pending on a, found 1"),
      ("{assert: last_push_count, dev: a, eq: 3}", "expected 3 transactions in the last push of a, found 1"),
      ("{assert: last_pull_count, dev: b, eq: 0}", "expected 0 transactions in the last pull of b, found 1"),
      ("{op: create, dev: b, rec: r}", "expected success on b, found the record main:r is there already"),
      ("{op: push, dev: b, expect_error: true}", "expected an error on b, found success"),
    ])
  func fails(step: String, words: String) async throws {
    let start = """
      {op: create, dev: a, rec: r, fields: {n: 1}}
      {op: push, dev: a}
      {op: pull, dev: b}
      {op: create, dev: a, rec: p, zone: own, fields: {}}
      """
    let result = try await run(start + "\n" + step)
    #expect(result.line.hasPrefix("failed s: step 5 ("), "\(result.line)")
    #expect(result.line.contains(", line 10), \(words)"), "\(result.line)")
  }

  @Test("devices that differ have not converged")
  func noticesDivergence() async throws {
    let result = try await run(
      "{op: create, dev: a, rec: r, fields: {n: 1}}", expect: "[{assert: converged, dev: '*'}]")
    #expect(
      result.line.hasPrefix(
        "failed s: expectation 1 (assert converged, line 7), expected zone main of b as on a"))
    #expect(result.devices.map(\.name) == ["a", "b"])
    #expect(result.devices[0].digests.count == 1)
    #expect(result.devices[1].digests.isEmpty)
  }

  @Test("offline devices send nothing and fetch nothing")
  func staysOffline() async throws {
    let result = try await run(
      """
      {op: create, dev: a, rec: r, fields: {n: 1}}
      {op: offline, dev: a}
      {op: sync, dev: '*'}
      {op: quiesce, dev: '*'}
      {assert: pending, dev: a, eq: 1}
      {assert: absent, dev: b, rec: r}
      {op: push_begin, dev: a}
      {op: push_ack, dev: a}
      {assert: last_push_count, dev: a, eq: 0}
      """)
    #expect(result.outcome == .passed, "\(result.line)")
  }

  @Test("equal runs end in equal digests over any remote; another seed in other digests")
  func isDeterministic() async throws {
    let steps = """
      {op: bulk_create, dev: a, count: 5, prefix: r, fields: {n: '#i'}}
      {op: create, dev: b, rec: r1, fields: {n: 7}}
      {op: quiesce, dev: '*'}
      """
    let first = try await run(steps)
    #expect(first.outcome == .passed, "\(first.line)")
    #expect(try await run(steps).devices == first.devices)
    #expect(try await run(steps, remote: .folder(directory: temporary.path)).devices == first.devices)
    #expect(first.devices[0].digests.map(\.digest) == first.devices[1].digests.map(\.digest))
  }
}
