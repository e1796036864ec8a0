import ChildProcesses
import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

@Suite("Worlds from the command line")
struct SimulateCommands {
  let tool = Tool()
  let temporary = TemporaryDirectory()

  /// Runs the command as a separate process, which starts others.
  private func replay(_ arguments: String...) async throws -> (output: String, exit: Int32) {
    try await OtherProcess.run(try #require(OtherProcess.replay), ["simulate"] + arguments)
  }

  private func members(_ text: String) throws -> JSONMembers {
    try JSONMembers(try JSONScanner.read(Array(text.utf8)), in: "")
  }

  @Test("the most workers have the same result as one", .enabled(if: OtherProcess.replay != nil))
  func countsEqually() async throws {
    var outputs: [JSONMembers] = []
    for jobs in ["1", "3"] {
      let (output, exit) = try await replay(
        "--seeds", "2..4", "--steps", "10", "--faults", "none", "--jobs", jobs, "--repeat-every", "1",
        "--json")
      var document = try members(output)
      let failures = try document.array("failures")
      #expect(failures == [] && exit == 0, "\(output)")
      let (seeds, repeats) = try (
        document.integer("seeds", as: Int.self), document.integer("repeats", as: Int.self)
      )
      #expect(seeds == 3 && repeats == 3)
      for name in ["seconds", "seedsPerSecondAndCore", "seedsOf300StepsPerSecondAndCore"] as [Name] {
        guard case .fraction? = document.take(name) else {
          Issue.record("\(name) is missing: \(output)")
          continue
        }
      }
      #expect(document.isMissing("never"), "three seeds never meet everything")
      outputs.append(document)
    }
    for name in ["steps", "simulatedMilliseconds", "counts"] as [Name] {
      let values = [outputs[0].take(name), outputs[1].take(name)]
      #expect(values[0] != nil && values[0] == values[1], "\(name)")
    }
    try outputs[0].finish()
  }

  @Test(
    "a worker in this process and one in another see the same worlds",
    .enabled(if: OtherProcess.replay != nil))
  func hashesEqually() async throws {
    let arguments = ["simulate", "--worker", "--steps", "40", "--scratch", temporary.path]
    let here = await tool.run(arguments, input: Array("3\n4\n".utf8))
    #expect(here.exit == 0)
    let process = try ChildProcess(
      path: try #require(OtherProcess.replay), arguments, environment: [], takesInput: true)
    process.send("3")
    process.send("4")
    process.endInput()
    let there = process.lines()
    #expect(process.wait() == .exit(0))
    #expect(there.count == 2)
    #expect(there == here.lines.filter { !$0.isEmpty })
    let report = try SeedReport(line: there[1])
    #expect(report.seed == 4 && report.steps >= 40)
    #expect(report.json.line == there[1])
    let left = try FileManager.default.contentsOfDirectory(atPath: temporary.path)
    #expect(left == [], "worlds are taken away")
  }

  #if os(Linux)
    @Test("a worker that exceeds its memory limit is ended", .enabled(if: OtherProcess.replay != nil))
    func limitsMemory() throws {
      for (mebibytes, isEnough) in [("1", false), ("512", true)] {
        let process = try ChildProcess(
          path: try #require(OtherProcess.replay),
          ["simulate", "--worker", "--steps", "20", "--scratch", temporary.path, "--memory-max", mebibytes],
          environment: ["SWIFT_BACKTRACE=enable=no"], takesInput: true)
        process.send("3")
        process.endInput()
        _ = process.lines()
        #expect((process.wait() == .exit(0)) == isEnough, "\(mebibytes) MiB")
      }
    }
  #endif

  @Test("a page for people, with the events that occurred", .enabled(if: OtherProcess.replay != nil))
  func printsPage() async throws {
    let (output, exit) = try await replay("--seeds", "2", "--steps", "20", "--faults", "none")
    #expect(exit == 0, "\(output)")
    let lines = output.split(separator: "\n").map(String.init)
    #expect(lines[0].hasPrefix("1 seed, "), "\(output)")
    #expect(lines[0].hasSuffix(" s, 1 run twice"), "\(output)")
    #expect(lines[1].hasSuffix(" of 300 steps"), "\(output)")
    #expect(lines.contains { $0.contains("writes ") }, "\(output)")
    #expect(lines.last == "no failures")
  }

  @Test("the seeds of a file, which may be empty", .enabled(if: OtherProcess.replay != nil))
  func readsFiles() async throws {
    let path = temporary.path + "/seeds.txt"
    try "# found before\n 2 # a crash\n\n5#x\n".write(toFile: path, atomically: true, encoding: .utf8)
    let (output, exit) = try await replay("--seeds-file", path, "--steps", "10", "--faults", "none", "--json")
    #expect(exit == 0)
    #expect(output.contains(#""seeds":2,"#), "\(output)")
    try "# none\n".write(toFile: path, atomically: true, encoding: .utf8)
    let none = try await replay("--seeds-file", path, "--json")
    #expect(none.exit == 0)
    #expect(none.output.contains(#""seeds":0,"#), "\(none.output)")
  }

  @Test("one world's events, as lines and as data")
  func traces() async throws {
    let arguments = ["simulate", "--seed", "3", "--trace", "--steps", "20", "--faults", "none"]
    let text = await tool.run(arguments)
    #expect(text.exit == 0, "\(text.output)")
    let lines = text.lines.filter { !$0.isEmpty }
    #expect(lines.count > 20)
    #expect(lines[0].contains("a world of"), "\(lines[0])")
    #expect(lines.last?.hasPrefix("no failure in ") == true, "\(lines.last ?? "")")
    let data = await tool.run(arguments + ["--json"])
    var document = try members(data.output)
    let trace = try document.array("trace")
    #expect(trace == lines.dropLast().map { .string($0) })
    let report = try SeedReport(line: try document.require("report").line)
    #expect(report.seed == 3 && report.failure == nil)
    let shrunk = await tool.run("simulate", "--seed", "3", "--shrink", "--steps", "20", "--faults", "none")
    #expect(shrunk.output == "seed 3 does not fail\n")
    #expect(shrunk.exit == 0)
  }

  @Test("the faults with their descriptions")
  func listsFaults() async throws {
    let text = await tool.run("simulate", "--faults", "list")
    #expect(text.exit == 0)
    let data = await tool.run("simulate", "--faults", "list", "--json")
    var document = try members(data.output)
    let faults = try document.array("faults")
    #expect(faults.count == SimulationFault.allCases.count)
    for fault in SimulationFault.allCases {
      #expect(text.lines.contains { $0.contains(fault.rawValue) && $0.contains(fault.summary) }, "\(fault)")
      #expect(faults.contains(.object(["name": .string(fault.rawValue), "summary": .string(fault.summary)])))
    }
    try document.finish()
  }

  @Test(
    "arguments that make no sense are refused before anything runs",
    arguments: [
      ["--seeds", "5..1"], ["--seeds", "0..18446744073709551615"], ["--seeds", "1..1000000000001"],
      ["--seeds", "18446744073709551616"], ["--seeds", ""], ["--seeds", ".."], ["--seeds", "1.."],
      ["--seeds", "..1"], ["--seeds", "1..2..3"], ["--seeds", "1...3"], ["--seeds=-1"],
      ["--seeds", "1 .. 2"],
      ["--seeds", "a..b"], ["--seeds", "\u{1B}[2J"], ["--seed", "x"], ["--seed", "-1"],
      ["--seeds", "1", "--seed", "1"], ["--seeds", "1", "--seeds-file", "x"], ["--trace"], ["--shrink"],
      ["--seed", "1", "--trace", "--shrink"], ["--steps", "0"], ["--steps", "1000001"], ["--jobs", "0"],
      ["--jobs", "1025"], ["--stop-after", "0"], ["--timeout", "0"], ["--timeout", "9223372036854775807"],
      ["--repeat-every", "-1"], ["--faults", "nonsense"], ["--faults", ""], ["--faults", "crash,-sleep"],
      ["--faults", "crash,"], ["--faults", "-"], ["--seeds-file", "/nowhere"],
      ["--planted-bug", "tokenBeforeDataX"],
    ])
  func refuses(_ arguments: [String]) async {
    let result = await tool.run(["simulate"] + arguments)
    #expect(result.exit == 2, "\(result)")
    #expect(result.output == "")
    #expect(!result.errors.isEmpty && !result.errors.contains("\u{1B}"), "\(result.errors)")
  }
}
