/// Checks the fold: random schedules of a few replicas that write, ship and fetch, against a naive oracle,
/// and in other orders that causality allows.
///
/// It is pure: one seed determines everything, there is no clock, no disk and no thread in it. Sequence `n`
/// of a seed is the same whatever ran before it.
///
/// ```swift
/// let report = FoldCheck(seed: 1).run(sequences: 0..<10_000)
/// if let failure = report.failure { print(failure) }
/// ```
public struct FoldCheck: Sendable {
  /// What all sequences are made from.
  public let seed: UInt64
  /// How large they are.
  let sizes: FoldCheckSizes
  /// A bug planted in the harness itself, to show that the check finds it.
  let fault: FoldCheckFault?
  /// The schedules to run, by number, instead of random ones; nil for those.
  package let schedules: FoldSchedules?

  /// Creates a check.
  public init(seed: UInt64) { self.init(seed: seed, sizes: FoldCheckSizes(), fault: nil) }

  /// Creates a check of sequences of other sizes, or with a planted bug.
  package init(
    seed: UInt64, sizes: FoldCheckSizes = FoldCheckSizes(), fault: FoldCheckFault? = nil,
    schedules: FoldSchedules? = nil
  ) {
    precondition(
      sizes.replicasMax <= FoldSchedule.replicasMax, "at most \(FoldSchedule.replicasMax) replicas")
    precondition(
      sizes.exhaustiveTransactionsMax <= 12, "all orders of more than 12 transactions are too many")
    self.seed = seed
    self.sizes = sizes
    self.fault = fault
    self.schedules = schedules
  }

  /// Runs sequences, in order, up to the first that fails.
  ///
  /// - Parameters:
  ///   - sequences: the numbers of the sequences. Each can be run by itself.
  ///   - progress: called with the number of sequences done, after each. The run stops when it returns false.
  public func run(sequences: Range<Int>, progress: (Int) -> Bool = { _ in true }) -> FoldCheckReport {
    var report = FoldCheckReport()
    for number in sequences {
      let schedule = schedule(of: number)
      report.sequences += 1
      if let failure = run(schedule, &report.coverage) {
        report.failure = shrunk(schedule, failure, number)
        break
      }
      if !progress(report.sequences) { break }
    }
    return report
  }

  /// The schedule of a sequence.
  package func schedule(of number: Int) -> FoldSchedule {
    schedules?[number] ?? FoldScheduleGenerator.schedule(seed: seed, number: number, sizes: sizes)
  }

  /// Runs one schedule as it is, and makes it small if it fails.
  func run(_ schedule: FoldSchedule, coverage: inout FoldCheckCoverage) -> FoldCheckFailure? {
    run(schedule, &coverage).map { shrunk(schedule, $0, 0) }
  }

  private func run(_ schedule: FoldSchedule, _ coverage: inout FoldCheckCoverage) -> FoldMismatch? {
    var world = FoldWorld(schedule, fault: fault)
    defer { coverage.add(world.history.coverage) }
    do {
      try world.run(orders: sizes.orders, exhaustiveTransactionsMax: sizes.exhaustiveTransactionsMax)
      return nil
    } catch let mismatch as FoldMismatch {
      return mismatch
    } catch {
      return FoldMismatch(place: "an error", expected: [], found: ["\(error)"])
    }
  }

  private func shrunk(_ schedule: FoldSchedule, _ mismatch: FoldMismatch, _ number: Int) -> FoldCheckFailure {
    var ignored = FoldCheckCoverage()
    var shrinker = FoldShrinker(schedule, mismatch) { run($0, &ignored) }
    shrinker.shrink()
    return FoldCheckFailure(
      seed: seed, sequence: number, fault: fault, schedules: schedules, schedule: shrinker.schedule,
      generatedSteps: schedule.steps.count,
      place: shrinker.mismatch.place, expected: shrinker.mismatch.expected, found: shrinker.mismatch.found)
  }
}
