import EventStore
import OperationFormat
import Testing

@testable import StoreTesting

@Suite("Shrinking a failing world")
struct ShrunkWorlds {
  /// A plan of a seed as if it had run: every step has choices.
  private func makePlan(seed: UInt64, steps: Int) -> SimulationPlan {
    var options = SimulationOptions()
    options.steps = steps
    var plan = SimulationPlan(seed: seed, options)
    var random = SeededRandom(seed: seed)
    for index in plan.steps.indices {
      plan.steps[index].choices = (0..<random.next(in: 1...6)).map { _ in random.next(below: 100) }
    }
    for stream in [SimulationPlan.Stream.network, .disk, .timing] {
      plan.recorded[stream] = (0..<200).map { _ in random.next(below: 1000) }
    }
    return plan
  }

  /// Fails if device 1 writes after a step of another device, and the network's fifth choice is at least 100.
  private static func fails(_ plan: SimulationPlan) -> SimulationFailure? {
    guard let network = plan.recorded[.network], network.count > 4, network[4] >= 100 else { return nil }
    guard let other = plan.steps.firstIndex(where: { $0.device != 1 && $0.action == .write }) else {
      return nil
    }
    let isFound = plan.steps[other...].contains {
      $0.device == 1 && $0.action == .write && $0.choices?.contains { $0 >= 10 } == true
    }
    return isFound ? SimulationFailure(.stateIsOracles, "found") : nil
  }

  @Test("keeps what fails, and nothing else", .serialized, arguments: 1...20 as ClosedRange<UInt64>)
  func findsTheCore(seed: UInt64) throws {
    var plan = makePlan(seed: seed, steps: 400)
    plan.recorded[.network]?[4] = 500
    let failure = try #require(Self.fails(plan), "seed \(seed) has no such steps")
    var shrinker = SimulationShrinker(plan, failure, runsMax: 5000, run: Self.fails)
    try shrinker.shrink()
    let smallest = shrinker.plan
    #expect(!shrinker.isSpent)
    #expect(Self.fails(smallest) == failure)
    #expect(smallest.steps.map(\.action) == [.write, .write])
    #expect(smallest.steps.map(\.events) == [0, 0])
    #expect(smallest.steps[0].choices == [])
    let choices = try #require(smallest.steps[1].choices)
    #expect(choices.dropLast().allSatisfy { $0 == 0 })
    // Half of it would not fail.
    #expect(10..<20 ~= choices.last ?? 0)
    #expect(smallest.configuration.devices.count == 2)
    #expect(smallest.configuration.rates.isEmpty)
    #expect(smallest.recorded[.disk] == [] && smallest.recorded[.timing] == [])
    #expect(smallest.recorded[.network]?.count == 5)
    #expect(smallest.recorded[.network]?.dropLast().allSatisfy { $0 == 0 } == true)
  }

  @Test("never gives another failure")
  func keepsInvariant() throws {
    let plan = makePlan(seed: 3, steps: 60)
    let count = plan.steps.count
    var shrinker = SimulationShrinker(plan, SimulationFailure(.clockIsBounded, "a"), runsMax: 2000) { plan in
      SimulationFailure(plan.steps.count > count / 2 ? .clockIsBounded : .stateIsOracles, "b")
    }
    try shrinker.shrink()
    #expect(shrinker.plan.steps.count == count / 2 + 1)
    #expect(shrinker.failure.invariant == .clockIsBounded)
  }

  @Test("does not replace one unexpected failure by another, although both have no invariant")
  func keepsSurprise() throws {
    let plan = makePlan(seed: 3, steps: 60)
    let count = plan.steps.count
    var shrinker = SimulationShrinker(plan, SimulationFailure(.noSurprise, "d7 is full"), runsMax: 2000) {
      plan in
      let steps = plan.steps.count
      return SimulationFailure(.noSurprise, "d\(steps) is \(steps > count / 2 ? "full" : "denied")")
    }
    try shrinker.shrink()
    #expect(shrinker.plan.steps.count == count / 2 + 1)
    #expect(shrinker.failure.message == "d\(count / 2 + 1) is full")
  }

  @Test("takes a limited number of runs, reports each, and ends on request")
  func isBounded() throws {
    let plan = makePlan(seed: 5, steps: 400)
    let failure = SimulationFailure(.stateIsOracles, "always")
    var told = 0
    var runs = 0
    var shrinker = SimulationShrinker(plan, failure, runsMax: 7) { _ in
      runs += 1
      return nil
    } progress: { _, _ in
      told += 1
    }
    try shrinker.shrink()
    #expect(runs == 7 && told == 7 && shrinker.isSpent)
    #expect(shrinker.plan == plan)

    struct Enough: Error {}
    var ended = SimulationShrinker(plan, failure, runsMax: 100) { _ in
      failure
    } progress: { runs, _ in
      if runs == 3 { throw Enough() }
    }
    #expect(throws: Enough.self) { try ended.shrink() }
    #expect(ended.runs == 3)
    #expect(ended.plan != plan, "what was found before stays")
  }

  @Test("immediately removes steps that the run did not reach")
  func dropsUnreached() throws {
    var plan = makePlan(seed: 7, steps: 200)
    for index in 5..<plan.steps.count { plan.steps[index].choices = nil }
    var shrinker = SimulationShrinker(plan, SimulationFailure(.stateIsOracles, "a"), runsMax: 0) { _ in nil }
    try shrinker.shrink()
    #expect(shrinker.plan.steps.count == 5)
  }

  @Test("reduces a real world whose workload fails for one value to one write")
  func shrinksWorkload() throws {
    var options = SimulationOptions(workloads: [BadNumber()])
    options.steps = 60
    options.faults = [.sleep, .restart]
    let simulation = Simulation(options)
    let failing = (1...200 as ClosedRange<UInt64>).first {
      simulation.run(seed: $0).failure?.message == "the number is \(BadNumber.bad)"
    }
    let seed = try #require(failing)
    var runs = 0
    let found = try simulation.shrink(seed: seed) { _ in runs += 1 }
    let shrunk = try #require(found, "seed \(seed)")
    #expect(shrunk.seed == seed)
    #expect(shrunk.runs == runs)
    #expect(shrunk.isSmallest)
    #expect(shrunk.failure.message == "the number is \(BadNumber.bad)")
    #expect(shrunk.stepCount == 1, "\(shrunk.plan.joined(separator: "\n"))")
    #expect(shrunk.plan.last?.contains("write") == true)
    #expect(shrunk.trace.last?.contains("FAILED") == true)
  }

  @Test("has nothing to do for a seed that does not fail")
  func passes() throws {
    var options = SimulationOptions(workloads: [BadNumber(isHarmless: true)])
    options.steps = 20
    options.faults = []
    let shrunk = try Simulation(options).shrink(seed: 1)
    #expect(shrunk == nil)
  }
}

/// Writes numbers, one of which is bad.
private struct BadNumber: SimulationWorkload {
  static let bad: Int64 = 37

  let name = "numbers"
  let zones: [ZoneID] = [ZoneID(name: "numbers")]
  var isHarmless = false

  private var record: RecordID { RecordID(zone: zones[0], name: "r") }

  func write(_ transaction: inout WriteTransaction, _ choices: inout SimulationChoices) throws {
    if try !transaction.contains(record) { try transaction.create(record, type: "t") }
    try transaction.set("number", of: record, to: .int(Int64(choices.next(below: 40))))
  }

  func check(_ transaction: borrowing ReadTransaction) throws {
    guard !isHarmless, try transaction.value(of: "number", in: record) == .int(Self.bad) else { return }
    throw SimulationFailure(.countedOnce, "the number is \(Self.bad)")
  }
}
