import ChildProcesses
import EventStore
import Foundation
import StoreTesting
import Testing

@testable import ReplayTool

/// The pool that runs seeds in processes; here the processes are scripts that answer, crash and hang as
/// instructed.
@Suite("Worlds in separate processes")
struct SimulationPools {
  /// The action of a script for a seed before it answers.
  private func run(
    _ seeds: ClosedRange<UInt64>, _ limits: SimulationPool.Limits, _ atSeed: String,
    shouldContinue: (SimulationTally) -> Bool = { _ in true }
  ) throws -> (tally: SimulationTally, isWhole: Bool, processes: Int) {
    let script = """
      number=$1
      while read -r seed; do
        hash=$seed
        failure=
        \(atSeed)
        echo "{\\"seed\\":$seed,\\"steps\\":10,\\"milliseconds\\":1000,\\"hash\\":$hash,$failure\\
      \\"counts\\":{\\"faults\\":{\\"crash\\":2},\\"marks\\":{},\\"codes\\":{}}}"
      done
      """
    var processes = 0
    var pool = SimulationPool(
      SeedList([seeds]), limits, scratch: TemporaryDirectory(),
      milliseconds: { Int64(Date().timeIntervalSince1970 * 1000) },
      start: { number, errors in
        processes = number
        return try ChildProcess(
          path: "/bin/bash", ["-c", script, "worker", "\(number)"], environment: ["PATH=/usr/bin:/bin"],
          errors: .file(errors), takesInput: true, isApart: true)
      })
    let isWhole = try pool.run(shouldContinue)
    return (pool.tally, isWhole, processes)
  }

  private func limits(
    jobs: Int = 2, repeatEvery: UInt64 = 0, stopAfter: Int = 10
  ) -> SimulationPool.Limits {
    SimulationPool.Limits(jobs: jobs, repeatEvery: repeatEvery, stopAfter: stopAfter)
  }

  @Test("all seeds are run once and added up", arguments: [1, 2, 5])
  func addsUp(jobs: Int) throws {
    let (tally, isWhole, processes) = try run(1...40, limits(jobs: jobs), "")
    #expect(isWhole)
    #expect(tally.seeds == 40 && tally.repeats == 0)
    #expect(tally.steps == 400 && tally.simulatedMilliseconds == 40_000)
    #expect(tally.counts.faults == ["crash": 80])
    #expect(tally.failures == [])
    #expect(processes == jobs)
  }

  @Test("a process that crashes is one seed's failure, and its remaining seeds are run by others")
  func survivesDeaths() throws {
    let (tally, isWhole, _) = try run(
      1...30, limits(),
      """
      if [ $seed = 7 ]; then echo "Fatal error: the world ends" >&2; kill -TRAP $$; fi
      if [ $seed = 12 ]; then exit 3; fi
      """)
    #expect(isWhole)
    #expect(tally.seeds == 30)
    #expect(tally.steps == 280)
    let failures = tally.failures.sorted { $0.seed < $1.seed }
    try #require(failures.count == 2)
    #expect(failures.map(\.seed) == [7, 12])
    #expect(failures.allSatisfy { $0.kind == .processEnded && $0.step == nil })
    #expect(failures[0].message.contains("signal 5"), "\(failures[0].message)")
    #expect(failures[0].message.hasSuffix("Fatal error: the world ends"), "\(failures[0].message)")
    #expect(failures[1].message == "its process ended with 3")
  }

  @Test("an endless world is killed after its time limit")
  func killsHanging() throws {
    var limits = limits()
    limits.seedMilliseconds = 300
    let (tally, isWhole, _) = try run(1...10, limits, "if [ $seed = 4 ]; then while :; do :; done; fi")
    #expect(isWhole)
    #expect(tally.seeds == 10)
    // On a busy machine a seed may take longer than its time: those are failures of the same kind.
    #expect(tally.failures.contains { $0.seed == 4 })
    #expect(tally.failures.allSatisfy { $0.kind == .noEnd })
  }

  @Test("a seed is repeated in another process, even if only one runs at a time", arguments: [1, 2])
  func repeats(jobs: Int) throws {
    let (tally, _, processes) = try run(1...20, limits(jobs: jobs, repeatEvery: 5), "")
    #expect(tally.seeds == 20 && tally.repeats == 4 && tally.failures == [])
    #expect(processes > 1)
    let (other, _, _) = try run(
      1...20, limits(jobs: jobs, repeatEvery: 1), "if [ $seed = 9 ]; then hash=$((100 + number)); fi")
    #expect(other.repeats == 20)
    #expect(other.failures.map(\.seed) == [9])
    #expect(other.failures.first?.kind == .notDeterministic)
  }

  @Test("it stops after enough failures, and those of the lowest seeds are among them")
  func stops() throws {
    let (tally, isWhole, _) = try run(
      1...10_000, limits(stopAfter: 3),
      """
      if [ $seed -ge 5 ]; then failure='"failure":{"seed":'$seed',"kind":"x","invariant":6,"step":4,"message":"m"},'; fi
      """)
    #expect(isWhole)
    #expect(tally.seeds < 30)
    #expect(3...7 ~= tally.failures.count)
    #expect(Set(tally.failures.map(\.seed)).isSuperset(of: [5, 6, 7]))
    #expect(tally.failures.allSatisfy { $0.kind == .invariant(.tokenIsNotAhead) && $0.step == 4 })
  }

  @Test("the user can end it, whatever the worlds do")
  func isInterrupted() throws {
    let (tally, isWhole, _) = try run(1...100, limits(), "if [ $seed -ge 5 ]; then while :; do :; done; fi") {
      $0.seeds < 4
    }
    #expect(!isWhole)
    #expect(tally.seeds == 4)
    #expect(tally.failures == [])
  }

  @Test("an invalid answer is reported")
  func refusesNoise() throws {
    #expect(throws: ToolError.self) { _ = try run(1...3, limits(), "echo hello") }
    #expect(throws: ToolError.self) { _ = try run(1...3, limits(), "seed=99") }
  }
}
