/// What came of many seeds.
struct SimulationTally {
  /// Seeds that were run, each counted once.
  var seeds: UInt64 = 0
  /// Runs that were made again to compare them.
  var repeats: UInt64 = 0
  var steps: UInt64 = 0
  /// Wide, since a world may live for a century.
  var simulatedMilliseconds: Int128 = 0
  var counts = SimulationCounts()
  /// One a seed at most.
  private(set) var failures: [SeedFailure] = []

  mutating func add(_ report: SeedReport) {
    seeds += 1
    add(stepsOf: report)
    simulatedMilliseconds += Int128(report.simulatedMilliseconds)
    counts.add(report.counts)
    if let failure = report.failure { add(failure) }
  }

  mutating func addRepeat(_ report: SeedReport) {
    repeats += 1
    add(stepsOf: report)
  }

  /// Adds a failure. One that differs between two runs says more than what either of them said.
  mutating func add(_ failure: SeedFailure) {
    guard let index = failures.firstIndex(where: { $0.seed == failure.seed }) else {
      return failures.append(failure)
    }
    if failure.kind == .notDeterministic { failures[index] = failure }
  }

  private mutating func add(stepsOf report: SeedReport) { steps += UInt64(max(0, report.steps)) }
}
