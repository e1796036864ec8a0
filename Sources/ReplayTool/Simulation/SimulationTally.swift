/// The results of many seeds.
struct SimulationTally {
  /// How many seeds were run, counting each once.
  var seeds: UInt64 = 0
  /// How many runs were repeated to compare them.
  var repeats: UInt64 = 0
  var steps: UInt64 = 0
  /// 128 bits, since a world may last a century.
  var simulatedMilliseconds: Int128 = 0
  var counts = SimulationCounts()
  /// At most one for each seed.
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

  /// Adds a failure. A difference between two runs replaces the failure of either of them, because it says
  /// more.
  mutating func add(_ failure: SeedFailure) {
    guard let index = failures.firstIndex(where: { $0.seed == failure.seed }) else {
      return failures.append(failure)
    }
    if failure.kind == .notDeterministic { failures[index] = failure }
  }

  private mutating func add(stepsOf report: SeedReport) { steps += UInt64(max(0, report.steps)) }
}
