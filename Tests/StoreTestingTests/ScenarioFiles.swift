import OperationFormat
import Testing

@testable import StoreTesting

@Suite("Reading files of scenarios")
struct ScenarioFiles {
  private func file(_ steps: String, devices: String = "[a, b]", expect: String = "[]") -> String {
    "format: scenarios/1\nscenarios:\n- id: one\n  devices: \(devices)\n  steps:\n\(steps)\n  expect: \(expect)\n"
  }

  private func error(_ yaml: String) -> ScenarioError? {
    do {
      _ = try ScenarioFile.parse(yaml: yaml)
      return nil
    } catch {
      return error as? ScenarioError
    }
  }

  @Test("steps, devices and values are those of the file")
  func reads() throws {
    let yaml = file(
      """
        - {op: create, dev: a, rec: r, zone: z, fields: {i: 1, d: 1.5, s: '1', t: yes, n: null, b: false, l: [a, 2], m: {k: ~}}}
        - {op: clock, dev: '*', t: 1.5}
        - {op: redeliver, dev: [b, a], what: 3, order: shuffled}
      """)
    let scenario = try #require(try ScenarioFile.parse(yaml: yaml).scenarios.first)
    #expect(scenario.devices == ["a", "b"])
    #expect(scenario.steps.map(\.line) == [6, 7, 8])
    guard case .write(.create(let record, let fields)) = scenario.steps[0].action else {
      Issue.record("\(scenario.steps[0])")
      return
    }
    #expect(record == ScenarioRecord(name: "r", zone: "z"))
    #expect(
      fields == [
        "i": 1, "d": 1.5, "s": "1", "t": "yes", "n": .null, "b": false, "l": ["a", 2],
        "m": .map(["k": .null]),
      ])
    #expect(scenario.steps[1].devices == ["a", "b"])
    guard case .clock(1500) = scenario.steps[1].action,
      case .redeliver(segments: 3, .shuffled) = scenario.steps[2].action
    else {
      Issue.record("\(scenario.steps)")
      return
    }
    #expect(scenario.steps[2].devices == ["b", "a"])
  }

  @Test("repetitions and bulk creations are expanded, each with its own number")
  func numbers() throws {
    let yaml = file(
      """
        - op: repeat
          dev: a
          count: 2
          step: {op: bulk_create, count: 2, prefix: 'r#i-', fields: {n: '#i', s: 'no #i'}}
      """)
    let scenario = try #require(try ScenarioFile.parse(yaml: yaml).scenarios.first)
    guard case .steps(let rounds) = scenario.steps[0].action else {
      Issue.record("\(scenario.steps)")
      return
    }
    let creations = rounds.flatMap { round -> [ScenarioStep] in
      if case .steps(let parts) = round.action { parts } else { [] }
    }
    let found = creations.map { step -> String in
      guard case .write(.create(let record, let fields)) = step.action else { return "\(step)" }
      return "\(record.name) \(fields["n"] ?? .null) \(fields["s"] ?? .null)"
    }
    #expect(found == [#"r1-0 0 "no 0""#, #"r1-1 1 "no 1""#, #"r2-0 0 "no 0""#, #"r2-1 1 "no 1""#])
  }

  @Test(
    "an error is reported with its line",
    arguments: [
      ("  - {op: create, dev: a}", 6, "has no “rec”"),
      ("  - {op: create, rec: r}", 6, "has no “dev”"),
      ("  - {op: create, dev: c, rec: r}", 6, "there is no device “c”"),
      ("  - {op: save, dev: a, rec: r, fields: 3}", 6, "“fields” is “3”, not a mapping"),
      ("  - {op: push, dev: a}\n  - {op: push, dev: a, fast: true}", 7, "“fast” is not known"),
      ("  - {op: clock, dev: a, t: -1}", 6, "“t” is “-1”"),
      ("  - {op: clock, dev: a, t: .inf}", 6, "“t” is “.inf”"),
      ("  - {op: redeliver, dev: a, what: some}", 6, "“what” is “some”"),
      ("  - {op: redeliver, dev: a, what: all, order: random}", 6, "the order is “random”"),
      ("  - {op: create, dev: a, rec: r, fields: {n: 99999999999999999999}}", 6, "more than 64 bits"),
      ("  - {op: create, dev: a, rec: r, fields: {n: !!int 3}}", 6, "has the tag"),
      ("  - {op: create, dev: a, rec: r, rec: q}", 6, "stands twice"),
      ("  - {op: transaction, dev: a, steps: [{op: push}]}", 6, "stands in a transaction"),
      (
        "  - {op: transaction, dev: a, steps: [{op: repeat, count: 2, step: {op: push}}]}", 6,
        "“repeat” stands in a transaction"
      ),
      ("  - {op: transaction, dev: a, steps: [{op: delete, dev: b, rec: r}]}", 6, "names another device"),
      ("  - {op: repeat, count: 2, step: {op: push}}", 6, "has no “dev”"),
      ("  - {op: push, dev: a, expect_error: 1}", 6, "neither true nor false"),
      (
        "  - {op: create, dev: a, rec: r, fields: &f {}}\n  - {op: save, dev: a, rec: r, fields: *f}", 7,
        "alias"
      ),
      ("  - [op]", 6, "a step is a list of 1, not a mapping"),
      ("  - {op: push, dev: a", 9, "no YAML"),
    ])
  func refuses(steps: String, line: Int, message: String) throws {
    let found = try #require(error(file(steps)))
    #expect(found.message.contains(message), "\(found)")
    #expect(found.line == line || line == 9 && found.line > 5, "\(found)")
  }

  @Test("other formats, empty files, repeated ids, devices with the same name")
  func refusesFiles() throws {
    #expect(error("")?.message == "the file is empty")
    #expect(error("format: scenarios/2\nscenarios: []")?.message == "the format is “scenarios/2”")
    #expect(error("- a")?.message == "the file is a list of 1, not a mapping")
    let twice =
      "format: scenarios/1\nscenarios:\n"
      + String(repeating: "- {id: x, devices: [a], steps: []}\n", count: 2)
    #expect(error(twice)?.line == 4)
    #expect(error(file("  - {op: push, dev: a}", devices: "[a, a]"))?.code == .scenarioInvalid)
    #expect(error(file("  - {op: push, dev: a}", devices: "[]"))?.code == .scenarioInvalid)
    #expect(
      error(file("  - {op: push, dev: a}", expect: "[{op: push, dev: a}]"))?.message
        == "an assertion has no “assert”")
  }

  @Test("unlimited nesting, repetition and aliases are refused before they take memory")
  func refusesBombs() throws {
    for count in [100, 10_000, 1_000_000] {
      let deep = error("format: " + String(repeating: "[", count: count))
      #expect(deep != nil)
      let closed = error(
        "format: scenarios/1\nscenarios: " + String(repeating: "[", count: count)
          + String(repeating: "]", count: count))
      #expect(closed != nil)
      let keys = error(String(repeating: "? ", count: count))
      #expect(keys != nil)
      let dashes = error(String(repeating: "- ", count: count))
      #expect(dashes != nil)
    }
    #expect(error(file("  - {op: bulk_create, dev: a, count: 200000, prefix: r}"))?.code == .tooLarge)
    #expect(
      error(file("  - {op: bulk_create, dev: a, count: 9223372036854775807, prefix: r}"))?.code
        == .scenarioInvalid)
    var step = "{op: push, dev: a}"
    for _ in 0..<9 { step = "{op: repeat, count: 1000, step: \(step)}" }
    #expect(error(file("  - \(step)"))?.code == .tooLarge)
    var aliases = "a0: &a0 [x, x]\n"
    for level in 1..<40 { aliases += "a\(level): &a\(level) [*a\(level - 1), *a\(level - 1)]\n" }
    #expect(error(aliases + "? *a39\n: x")?.message.contains("alias") == true)
    #expect(error(String(repeating: "#", count: ScenarioFile.bytesMax + 1))?.code == .tooLarge)
  }

  @Test("any bytes give scenarios or an error")
  func neverTraps() throws {
    let seed: UInt64 = 5
    var random = SeededRandom(seed: seed)
    let good = Array(
      file("  - {op: repeat, dev: a, count: 3, step: {op: create, rec: 'r#i', fields: {n: [1, {a: b}]}}}")
        .utf8)
    let marks = Array("[]{}:,-?&*!|>'\"%@`#\n ".utf8)
    for number in 0..<3000 {
      var bytes = good
      for _ in 0...random.next(below: 6) {
        let place = random.next(below: bytes.count)
        switch random.next(below: 3) {
        case 0: bytes[place] = UInt8(truncatingIfNeeded: random.next())
        case 1: bytes.remove(at: place)
        default: bytes.insert(marks[random.next(below: marks.count)], at: place)
        }
      }
      do {
        let found = try ScenarioFile.parse(yaml: String(decoding: bytes, as: UTF8.self))
        #expect(found.scenarios.count <= 2, "seed \(seed), text \(number)")
      } catch {
        #expect(error is ScenarioError, "seed \(seed), text \(number)")
      }
    }
  }

  @Test("features that no runner has yet are reported")
  func namesCapabilities() throws {
    let cases = [
      ("{op: clone_store, dev: a, from: b}", "clone-store"),
      ("{op: fly, dev: a}", "fly"),
      ("{op: push, dev: a, only: [r]}", "partial-push"),
      ("{op: share, dev: a, zone: z}", "sharing"), ("{assert: mood, dev: a}", "mood"),
      ("{op: transaction, dev: a, steps: [{op: leave_share}]}", "sharing"),
    ]
    for (step, capability) in cases {
      let scenario = try #require(try ScenarioFile.parse(yaml: file("  - \(step)")).scenarios.first)
      #expect(scenario.missingCapability == capability)
    }
    let users = "format: scenarios/1\nscenarios: [{id: x, devices: [a, b], users: {a: u, b: v}, steps: []}]"
    #expect(try ScenarioFile.parse(yaml: users).scenarios.first?.missingCapability == "sharing")
  }
}
