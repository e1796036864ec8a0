/// Runs worlds in which everything fails: the real store, the real replicator and the real remotes, over a
/// simulated network, simulated disks and simulated clocks.
///
/// One seed determines everything that happens in a world. A world uses no clock, thread or random number of
/// the machine.
///
/// ```swift
/// let simulation = Simulation(SimulationOptions(workloads: [MyWorkload()]))
/// for seed in 1...1000 as ClosedRange<UInt64> {
///   if let failure = simulation.run(seed: seed).failure { print(seed, failure) }
/// }
/// ```
public struct Simulation: Sendable {
  /// What its worlds are made of.
  public let options: SimulationOptions

  /// Creates a simulation.
  ///
  /// - Precondition: the options have a workload.
  public init(_ options: SimulationOptions = SimulationOptions()) {
    precondition(!options.workloads.isEmpty, "a simulation needs a workload")
    self.options = options
  }

  /// Runs the world of a seed. It takes some milliseconds, in which it blocks its thread.
  ///
  /// - Parameters:
  ///   - seed: which world.
  ///   - keepsTrace: whether the result has a line for each event.
  public func run(seed: UInt64, keepsTrace: Bool = false) -> SimulationResult {
    run(SimulationPlan(seed: seed, options), keepsTrace: keepsTrace).result
  }

  /// Runs a plan. Returns the plan with everything that was drawn meanwhile, which runs in the same way.
  func run(_ plan: SimulationPlan, keepsTrace: Bool) -> (result: SimulationResult, plan: SimulationPlan) {
    var result = SimulationResult(seed: plan.seed)
    do {
      let run = try SimulationRun(plan, options, isTraceKept: keepsTrace)
      let world = run.world
      do { try run.run() } catch { result.failure = world.failure(error) }
      run.close()
      if let failure = result.failure { result.failure = keep(world, failure) }
      result.steps = world.steps
      result.simulatedMilliseconds = world.now
      result.traceHash = world.trace.hash
      result.trace = world.trace.lines
      result.coverage = world.coverage
      return (result, run.recordedPlan)
    } catch {
      result.failure = SimulationFailure(.noSurprise, "the world cannot be made: \(error)")
      return (result, plan)
    }
  }

  /// Keeps the stores of a world that failed, if that is wanted. If they cannot be kept, the failure says so.
  private func keep(_ world: SimulatedWorld, _ failure: SimulationFailure) -> SimulationFailure {
    guard let keepDirectory = options.keepDirectory else { return failure }
    do {
      try world.directory.copy(to: keepDirectory, as: "seed-\(world.plan.seed)")
      return failure
    } catch {
      var told = SimulationFailure(
        failure.invariant, "\(failure.message); its stores cannot be kept in \(keepDirectory): \(error)")
      told.step = failure.step
      return told
    }
  }
}

/// The result of one world.
public struct SimulationResult: Sendable {
  /// Which world.
  public let seed: UInt64
  /// Events and steps until it had come to rest.
  public internal(set) var steps = 0
  /// How long the world ran, by its own time.
  public internal(set) var simulatedMilliseconds: Int64 = 0
  /// What did not hold; nil if everything did.
  public internal(set) var failure: SimulationFailure?
  /// Equal wherever and whenever the seed is run with the same code.
  public internal(set) var traceHash: UInt64 = 0
  /// A line for each event, if it was asked for.
  public internal(set) var trace: [String] = []
  /// What occurred in the world, counted.
  public internal(set) var coverage = SimulationCoverage()
}
