import EventStore
import OperationFormat
import Testing

@testable import StoreTesting

@Suite("Worlds of an app's own workloads")
struct WorldsOfAnApp {
  private struct Refusal: Error {}

  /// Writes one record; its closure or its check may throw.
  private struct Notes: SimulationWorkload {
    var name = "notes"
    var zones: [ZoneID] = [ZoneID(name: "notes")]
    var throwsAlways = false
    var holds = true

    func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
      if throwsAlways { throw Refusal() }
      guard let zone = zones.first else { return }
      let note = RecordID(zone: zone, name: choices.pick(["a", "b"]))
      if try !transaction.contains(note) { try transaction.create(note, type: "note") }
      try transaction.set("text", of: note, to: .int(Int64(choices.next(below: 9))))
    }

    func check(_ transaction: borrowing ReadTransaction) throws {
      if !holds { throw SimulationFailure(.workloadHolds, "it never does") }
    }
  }

  private func run(_ workloads: [Notes], steps: Int = 80, seed: UInt64) -> SimulationResult {
    var options = SimulationOptions(workloads: workloads)
    options.steps = steps
    return Simulation(options).run(seed: seed)
  }

  @Test("A world in which every write fails fails, and says why", arguments: 1...3 as ClosedRange<UInt64>)
  func failingWrites(seed: UInt64) {
    let failure = run([Notes(throwsAlways: true)], steps: 600, seed: seed).failure
    #expect(failure?.invariant == .noSurprise)
    #expect(failure?.message.contains("no write of workload “notes” was committed") ?? false, "\(failure)")
    #expect(failure?.message.contains("Refusal()") ?? false, "\(failure)")
  }

  @Test("Nothing fails if workloads share a zone, or have none", arguments: 1...3 as ClosedRange<UInt64>)
  func sharedZones(seed: UInt64) {
    #expect(run([Notes(), Notes(name: "others")], seed: seed).failure == nil)
    #expect(run([Notes(), Notes(name: "nowhere", zones: [])], seed: seed).failure == nil)
  }

  @Test("Nor if nothing is done", arguments: [0, -1, Int.min])
  func noSteps(steps: Int) { #expect(run([Notes()], steps: steps, seed: 1).failure == nil) }

  @Test("A failed check of an app fails the world, in every run")
  func failingCheck() {
    let results = (0..<2).map { _ in run([Notes(holds: false)], seed: 1) }
    #expect(results[0].failure?.invariant == .workloadHolds)
    #expect(results[0].failure == results[1].failure)
    #expect(results[0].traceHash == results[1].traceHash)
  }

  @Test("A failure does not contain the world's directory, which differs from run to run")
  func failureWithoutDirectory() throws {
    let options = SimulationOptions()
    let world = try SimulatedWorld(SimulationPlan(seed: 1, options), options, isTraceKept: false)
    let failure = world.failure(SimulationFailure(.noSurprise, "no \(world.directory.path)/d0-0/data"))
    #expect(failure.message == "no …/d0-0/data")
  }
}
