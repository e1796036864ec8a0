/// The smallest world that was found to fail as a seed's does.
public struct ShrunkSimulation: Sendable, CustomStringConvertible {
  /// The seed that it was made from.
  public let seed: UInt64
  /// How it fails: the same invariant as in the seed's own world.
  public let failure: SimulationFailure
  /// The world, then a line for each step.
  public let plan: [String]
  /// How many steps it has.
  public let stepCount: Int
  /// A line for each event of its run.
  public let trace: [String]
  /// How many worlds were tried.
  public let runs: Int
  /// Whether nothing more can be removed; false if the number of runs reached its limit.
  public let isSmallest: Bool

  /// The plan, the events, and what fails.
  public var description: String {
    let lines = ["plan"] + plan.map { "  " + $0 } + ["events"] + trace.map { "  " + $0 } + ["\(failure)"]
    return lines.joined(separator: "\n")
  }
}

/// How far shrinking is.
public struct ShrinkProgress: Sendable {
  /// Worlds that were tried, and may be.
  public let runs: Int
  public let runsMax: Int
  /// Steps of the smallest that failed.
  public let steps: Int
}

extension Simulation {
  /// Makes the world of a failing seed as small as it can be. It takes as long as some hundreds of runs.
  ///
  /// - Parameters:
  ///   - seed: which world.
  ///   - runsMax: how many worlds are tried at most.
  ///   - progress: hears of each run. What it throws ends the work.
  /// - Returns: nil if the seed does not fail.
  public func shrink(
    seed: UInt64, runsMax: Int = 2000, progress: (ShrinkProgress) throws -> Void = { _ in }
  ) throws -> ShrunkSimulation? {
    var quiet = options
    quiet.keepDirectory = nil
    quiet.traceSink = nil
    let simulation = Simulation(quiet)
    let (result, plan) = simulation.run(SimulationPlan(seed: seed, quiet), keepsTrace: false)
    guard let failure = result.failure else { return nil }
    return try withoutActuallyEscaping(progress) { progress in
      var shrinker = SimulationShrinker(plan, failure, runsMax: runsMax) { plan in
        simulation.run(plan, keepsTrace: false).result.failure
      } progress: {
        try progress(ShrinkProgress(runs: $0, runsMax: runsMax, steps: $1))
      }
      try shrinker.shrink()
      let smallest = simulation.run(shrinker.plan, keepsTrace: true).result
      return ShrunkSimulation(
        seed: seed, failure: smallest.failure ?? shrinker.failure, plan: shrinker.plan.lines,
        stepCount: shrinker.plan.steps.count, trace: smallest.trace, runs: shrinker.runs,
        isSmallest: !shrinker.isSpent)
    }
  }
}
