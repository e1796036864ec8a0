import ChildProcesses
import StoreTesting

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Runs seeds in several processes at the same time. If a world ends its process, or never ends, only its
/// seed fails.
struct SimulationPool {
  /// How many seeds a process is given ahead, so that it never waits for the next one.
  private static let jobsMax = 2
  /// After how many seeds a process is replaced, so that leaks stay small and hash seeds vary.
  private static let seedsOfWorkerMax = 1000
  /// How long to wait for results before checking time limits and interrupts.
  private static let waitMilliseconds: Int32 = 100

  struct Limits {
    /// How many processes run at the same time.
    var jobs = 1
    /// One of this many seeds is run again in another process; 0: none.
    var repeatEvery: UInt64 = 100
    /// After this many failures, no new seed starts.
    var stopAfter = 10
    /// The most time for one world.
    var seedMilliseconds: Int64 = 60_000
  }

  /// Starts the worker with this number, which writes its errors to a file.
  typealias Start = (_ number: Int, _ errors: String) throws -> ChildProcess

  private(set) var tally = SimulationTally()
  private var seeds: SeedList
  private let limits: Limits
  private let start: Start
  private let milliseconds: () -> Int64
  private let scratch: TemporaryDirectory
  private var workers: [SimulationWorker] = []
  private var workerCount = 0
  private var seedCount: UInt64 = 0
  /// The jobs that ended workers did not finish.
  private var left: [SimulationWorker.Job] = []
  private var repeats: [SimulationWorker.Job] = []

  /// - Parameters:
  ///   - scratch: the directory for the workers' errors.
  ///   - milliseconds: a clock that never goes back.
  ///   - start: starts a worker: a process that reads seeds and prints a ``SeedReport`` on a line for each.
  init(
    _ seeds: SeedList, _ limits: Limits, scratch: TemporaryDirectory, milliseconds: @escaping () -> Int64,
    start: @escaping Start
  ) {
    self.seeds = seeds
    self.limits = limits
    self.scratch = scratch
    self.milliseconds = milliseconds
    self.start = start
  }

  private var isStopping: Bool { tally.failures.count >= limits.stopAfter }

  /// Runs all seeds, or stops after enough failures.
  ///
  /// - Parameter shouldContinue: called many times a second with the results so far; returns whether to continue. If
  ///   it returns false, unfinished seeds are dropped.
  /// - Returns: whether all seeds were run.
  mutating func run(_ shouldContinue: (SimulationTally) -> Bool) throws -> Bool {
    // A process without references is killed.
    defer { workers = [] }
    while shouldContinue(tally) {
      try hire()
      guard workers.contains(where: { !$0.jobs.isEmpty }) else { return true }
      let ready = ChildProcess.ready(
        workers.map(\.process), waitingMilliseconds: Self.waitMilliseconds)
      var ended: [Int] = []
      for index in ready where try !hear(workers[index]) { ended.append(workers[index].number) }
      let now = milliseconds()
      for worker in workers
      where !worker.jobs.isEmpty && now - worker.milliseconds > limits.seedMilliseconds
        && !ended.contains(worker.number)
      {
        worker.process.send(SIGKILL)
        bury(worker, .noEnd, "it did not end within \(limits.seedMilliseconds / 1000) s")
        ended.append(worker.number)
      }
      workers.removeAll { ended.contains($0.number) }
    }
    return false
  }

  // MARK: Work

  /// Gives work to every worker, and starts and ends workers.
  private mutating func hire() throws {
    for worker in workers { fill(worker) }
    // A worker without work is ended, because a new one may repeat what it ran.
    workers.removeAll { worker in
      guard worker.jobs.isEmpty else { return false }
      worker.process.endInput()
      _ = worker.process.wait()
      return true
    }
    while workers.count < limits.jobs, hasWork {
      workerCount += 1
      let errors = "\(scratch.path)/errors-\(workerCount)"
      let worker = SimulationWorker(
        number: workerCount, process: try start(workerCount, errors), errors: errors,
        milliseconds: milliseconds())
      fill(worker)
      workers.append(worker)
    }
  }

  private var hasWork: Bool { !isStopping && (!left.isEmpty || !repeats.isEmpty || !seeds.ranges.isEmpty) }

  private mutating func fill(_ worker: SimulationWorker) {
    while worker.jobs.count < Self.jobsMax, worker.taken < Self.seedsOfWorkerMax,
      let job = takeJob(for: worker.number)
    {
      worker.give(job, milliseconds: milliseconds())
    }
  }

  private mutating func takeJob(for number: Int) -> SimulationWorker.Job? {
    if isStopping { return nil }
    if let index = left.firstIndex(where: { $0.first?.worker != number }) { return left.remove(at: index) }
    if let index = repeats.firstIndex(where: { $0.first?.worker != number }) {
      return repeats.remove(at: index)
    }
    guard let seed = seeds.takeFirst() else { return nil }
    defer { seedCount += 1 }
    return SimulationWorker.Job(seed: seed, ordinal: seedCount)
  }

  // MARK: Answers

  /// Handles the answers of a worker. False if it has ended.
  private mutating func hear(_ worker: SimulationWorker) throws -> Bool {
    let isThere = worker.process.receive()
    while let (job, report) = try worker.takeAnswer(milliseconds: milliseconds()) {
      take(report, of: job, worker)
    }
    if !isThere { bury(worker, .processEnded, worker.epitaph()) }
    return isThere
  }

  private mutating func take(_ report: SeedReport, of job: SimulationWorker.Job, _ worker: SimulationWorker) {
    guard let (first, _) = job.first else {
      tally.add(report)
      if limits.repeatEvery > 0, job.ordinal.isMultiple(of: limits.repeatEvery) {
        var job = job
        job.first = (report, worker.number)
        repeats.append(job)
      }
      return
    }
    tally.addRepeat(report)
    guard report != first else { return }
    tally.add(
      SeedFailure(
        job.seed, .notDeterministic,
        "two processes ran it differently: \(Self.text(first)), and \(Self.text(report))"))
  }

  /// The worker's current seed has failed; other workers get its remaining jobs.
  private mutating func bury(_ worker: SimulationWorker, _ kind: SeedFailure.Kind, _ words: String) {
    guard let job = worker.jobs.first else { return }
    if job.first == nil { tally.seeds += 1 } else { tally.repeats += 1 }
    tally.add(SeedFailure(job.seed, kind, words))
    left += worker.jobs.dropFirst()
  }

  private static func text(_ report: SeedReport) -> String {
    let hash = String(report.traceHash, radix: 16)
    return "\(report.steps) steps, trace \(hash), \(report.failure.map { "\($0.kind.name)" } ?? "no failure")"
  }
}
