import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("The report about many worlds")
struct SimulationReports {
  private let sink = CapturedSink()
  private var output: Output { Output(sink, isTerminal: false, usesColor: false) }

  private func makePage(_ failures: [SeedFailure], seeds: UInt64 = 0) -> SimulationPage {
    var tally = SimulationTally()
    for failure in failures { tally.add(failure) }
    tally.seeds = seeds
    tally.simulatedMilliseconds = 412 * 86_400_000
    return SimulationPage(tally: tally, seconds: 31, cores: 2, faults: Set(SimulationFault.allCases))
  }

  @Test("a failure has the commands to examine it, in the order of the seeds")
  func printsFailures() throws {
    var page = makePage([
      SeedFailure(40, .processEnded, "its process ended with 3"),
      SeedFailure(17, .invariant(.tokenIsNotAhead), "a\u{1B}[2J token\nis ahead", step: 301),
      SeedFailure(17, .notDeterministic, "two ways"), SeedFailure(3, .notDeterministic, "two ways"),
      SeedFailure(9, .invariant(.stateIsOracles), "r has 3", step: 0),
    ])
    page.arguments = " --steps 300 --faults -crash"
    page.keepDirectory = "kept"
    let output = output
    try page.printFailures(output)
    try output.flush()
    #expect(
      sink.text == """
        seed 3: notDeterministic: two ways
          replay simulate --seed 3 --trace --steps 300 --faults -crash
          stores: kept/seed-3
        seed 9 (step 0): stateIsOracles: r has 3
          replay simulate --seed 9 --trace --steps 300 --faults -crash
          replay simulate --seed 9 --shrink --steps 300 --faults -crash
          stores: kept/seed-9
        seed 17: notDeterministic: two ways
          replay simulate --seed 17 --trace --steps 300 --faults -crash
          stores: kept/seed-17
        seed 40: processEnded: its process ended with 3
          replay simulate --seed 40 --trace --steps 300 --faults -crash
          stores: kept/seed-40
        4 failures

        """)
    let line = SeedFailure(17, .invariant(.tokenIsNotAhead), "a\u{1B}[2J token\nis ahead", step: 301).line
    #expect(line == "seed 17 (step 301): tokenIsNotAhead: a\\u{1B}[2J token\\nis ahead")
  }

  @Test("time, rates, and what never occurred in a thousand seeds")
  func printsSummary() throws {
    var page = makePage([], seeds: 1000)
    page.tally.steps = 300_000
    for fault in SimulationFault.allCases where fault != .crash && fault != .sleep {
      page.tally.counts.faults[fault.rawValue] = 1234
    }
    for mark in SimulationCoverage.Mark.allCases where mark != .retimed {
      page.tally.counts.marks[mark.rawValue] = 1
    }
    page.tally.counts.codes["full"] = 2
    page.faults.remove(.sleep)
    let output = output
    try page.print(output)
    try output.flush()
    let lines = sink.text.split(separator: "\n")
    #expect(lines[0] == "1,000 seeds, 300,000 steps in 31.0 s")
    #expect(lines[1] == "16.1 seeds a second and core, 16.1 of 300 steps")
    #expect(lines[2] == "412 days in 31.0 s")
    #expect(sink.text.contains("requestLost 1,234,"))
    #expect(lines.contains("  full 2"))
    #expect(lines.contains("never: crash, retimed"))
    #expect(lines.allSatisfy { $0.count <= 110 })
    guard case .object(let members) = page.json else {
      Issue.record("no object: \(page.json)")
      return
    }
    #expect(members["never"] == .array([.string("crash"), .string("retimed")]))
    page.tally.seeds = 999
    guard case .object(let fewer) = page.json else {
      Issue.record("no object: \(page.json)")
      return
    }
    #expect(fewer["never"] == nil)
  }

  @Test("a worker's line is parsed as it was written, and no other text")
  func readsLines() throws {
    let line =
      #"{"counts":{"codes":{"full":2},"faults":{"crash":1},"marks":{"writes":9}},"failure":{"invariant":6,"#
      + #""kind":"tokenIsNotAhead","message":"m","seed":18446744073709551615,"step":3},"hash":18446744073709551615,"#
      + #""milliseconds":-5,"seed":18446744073709551615,"steps":300}"#
    let report = try SeedReport(line: line)
    #expect(report.json.line == line)
    #expect(report.seed == .max && report.traceHash == .max && report.simulatedMilliseconds == -5)
    for length in 0..<line.count {
      #expect(throws: JSONError.self) { _ = try SeedReport(line: String(line.prefix(length))) }
    }
    for (part, wrong) in [
      (#""invariant":6"#, #""invariant":600"#), (#""steps":300"#, #""steps":"300""#),
      (#""crash":1"#, #""crash":1e3"#),
      (#""hash":1"#, #""hash":-1"#), (#""seed":1"#, #""more":0,"seed":1"#),
    ] {
      let changed = line.replacingOccurrences(of: part, with: wrong)
      #expect(throws: JSONError.self) { _ = try SeedReport(line: changed) }
    }
  }

  @Test("chosen and excluded faults are written as they are parsed")
  func choosesFaults() throws {
    let all = Set(SimulationFault.allCases)
    let sets: [Set<SimulationFault>] = [
      all, [], [.crash], [.crash, .sleep], all.subtracting([.crash]),
      all.subtracting([.crash, .requestLost]),
    ]
    for faults in sets {
      let text = FaultChoice.text(faults) ?? "all"
      let read = try FaultChoice.parse(text)
      #expect(read == faults, "\(text)")
    }
    let without = try FaultChoice.parse("-crash,-sleep")
    #expect(without == all.subtracting([.crash, .sleep]))
  }

  @Test("seeds are taken one after the other, up to the greatest one")
  func takesSeeds() throws {
    var list = try SeedList("18446744073709551614..18446744073709551615")
    #expect(list.count == 2)
    let taken = [list.takeFirst(), list.takeFirst(), list.takeFirst()]
    #expect(taken == [.max - 1, .max, nil])
    let most = try SeedList("0..999999999999")
    #expect(most.count == SeedList.countMax)
    let file = try SeedList(file: MemorySource(Array("# of old\r\n\n 5 # first\r\n7#\n5".utf8)))
    #expect(file.ranges == [5...5, 7...7, 5...5])
    for text in ["7..8", "2 3", "-1", "18446744073709551616", "seed", "\u{FF17}"] {
      #expect(throws: ToolError.self, "\(text)") {
        _ = try SeedList(file: MemorySource(Array("5 # first\n\(text)\n".utf8)))
      }
    }
  }
}
