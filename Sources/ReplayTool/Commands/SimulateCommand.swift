import ArgumentParser
import Foundation
import StoreTesting

/// `replay simulate`: runs worlds in which everything fails.
struct SimulateCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Runs worlds in which everything fails, and checks what must hold.",
    discussion: """
      A world has some devices with real stores and replicators, over a network, disks and clocks that are \
      made up. One seed determines all that happens in it. After every step the invariants are checked. The \
      seeds run in processes of their own, so that one which ends its process is a failure like others. It \
      ends with 1 if any failed. Without --seeds, --seed and --seeds-file it runs the worlds 1 to 100.

      Example: replay simulate --seeds 1..100000
      Example: replay simulate --seed 17 --shrink
      """)

  @Option(help: ArgumentHelp("Which worlds to run, such as 1..1000.", valueName: "A..B"))
  var seeds: String?

  @Option(help: ArgumentHelp("Run this one alone.", valueName: "seed"))
  var seed: UInt64?

  @Option(help: ArgumentHelp("Run the seeds of a file: one a line, # begins a comment.", valueName: "file"))
  var seedsFile: String?

  @Flag(help: "Print every event of the one seed.")
  var trace = false

  @Flag(help: "Make the failure of the one seed as small as it can be.")
  var shrink = false

  @Flag(help: "Worlds in which bytes of some tens are assets, whose files and transfers fail too.")
  var assets = false

  @Option(
    help: ArgumentHelp("Steps of each world while faults are on; else 200 to 2,000.", valueName: "count"))
  var steps: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "list prints them; none, a,b for these alone, or -a,-b for all but these.", valueName: "faults"))
  var faults = "all"

  @Option(
    help: ArgumentHelp("Processes at a time; as many as there are cores if not given.", valueName: "count"))
  var jobs: Int?

  @Option(
    help: ArgumentHelp(
      "Run one seed in so many again in another process, and compare; 0: none.", valueName: "count"))
  var repeatEvery: UInt64 = 100

  @Option(help: ArgumentHelp("End after so many failures.", valueName: "count"))
  var stopAfter = 10

  @Option(help: ArgumentHelp("The longest that one world may take.", valueName: "seconds"))
  var timeout: Int64 = 60

  @Option(help: ArgumentHelp("Keep the stores of failing seeds in this directory.", valueName: "directory"))
  var keep: String?

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  @Flag(help: .hidden)
  var worker = false

  /// Where worlds are made; a worker's are taken away by who started it, however it ends.
  @Option(help: .hidden)
  var scratch: String?

  /// Mebibytes that a worker may take: a world that takes more, or leaves some behind each time, ends it.
  @Option(help: .hidden)
  var memoryMax: UInt64?

  var printsJSON: Bool { json }

  /// The most steps of a world: more take longer than anybody waits.
  private static let stepsMax = 1_000_000
  private static let jobsMax = 1024
  /// What a worker takes of memory is some 50 MiB, and of a long world all that happened in it is known to the end.
  private static let memoryMax = 192
  private static let stepsOfMebibyte = 20

  func validate() throws {
    guard [seeds, seedsFile, seed.map { String($0) }].count(where: { $0 != nil }) <= 1 else {
      throw ValidationError("Give --seeds, --seed or --seeds-file: one of them.")
    }
    guard !(trace || shrink) || seed != nil else {
      throw ValidationError("--trace and --shrink are about one --seed.")
    }
    guard !(trace && shrink) else { throw ValidationError("--shrink prints a trace too: leave out --trace.") }
    guard 1...Self.stepsMax ~= steps ?? 1 else {
      throw ValidationError("--steps is from 1 to \(Display.count(Self.stepsMax)).")
    }
    guard 1...Self.jobsMax ~= jobs ?? 1, stopAfter > 0, 1...86_400 ~= timeout else {
      throw ValidationError(
        "--jobs is from 1 to \(Self.jobsMax), --stop-after at least 1, --timeout from 1 to 86400 seconds.")
    }
  }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    if faults == "list" {
      if json {
        try console.output.line(FaultChoice.listJSON)
      } else {
        try FaultChoice.printList(console.output)
      }
      return nil
    }
    if worker { return try work(console) }
    if let seed, trace { return try runTraced(seed, console) }
    if let seed, shrink { return try runShrunk(seed, console) }
    return try runMany(console)
  }

  // MARK: What is run

  /// What the worlds are made of.
  func options() throws -> SimulationOptions {
    var options = assets ? SimulationOptions.withAssets() : SimulationOptions()
    options.steps = steps
    options.faults = try FaultChoice.parse(faults)
    options.keepDirectory = keep
    options.scratchDirectory = scratch
    return options
  }

  private func seedList(_ console: Console) throws -> SeedList {
    if let seed { return SeedList([seed...seed]) }
    if let seedsFile {
      return try SeedList(file: seedsFile == "-" ? console.input() : DescriptorSource(path: seedsFile))
    }
    return try SeedList(seeds ?? "1..100")
  }

  /// What a command takes besides the seed to run the same worlds.
  func worldArguments() throws -> [String] {
    var arguments: [String] = []
    if assets { arguments.append("--assets") }
    if let steps { arguments += ["--steps", String(steps)] }
    if let faults = FaultChoice.text(try FaultChoice.parse(faults)) { arguments += ["--faults", faults] }
    return arguments
  }

  // MARK: Many seeds

  private func runMany(_ console: Console) throws -> ToolError.Exit? {
    let list = try seedList(console)
    let (page, isWhole) = try run(list, console, limits: limits(of: list))
    if json { try console.output.line(page.json) } else { try page.print(console.output) }
    if !isWhole {
      try console.errors.line("interrupted: the seeds that were under way are not counted")
      return .interrupted
    }
    return page.tally.failures.isEmpty ? nil : .problem
  }

  var cores: Int { ProcessInfo.processInfo.activeProcessorCount }

  func limits(of list: SeedList) -> SimulationPool.Limits {
    SimulationPool.Limits(
      jobs: min(jobs ?? cores, Int(clamping: max(1, list.count))), repeatEvery: repeatEvery,
      stopAfter: stopAfter,
      seedMilliseconds: timeout * 1000)
  }

  /// Runs seeds in worker processes. Says too whether it came to the end.
  func run(
    _ list: SeedList, _ console: Console, limits: SimulationPool.Limits, workerArguments: [String] = [],
    what: String = "simulating"
  ) throws -> (page: SimulationPage, isWhole: Bool) {
    let arguments = try worldArguments()
    let scratch = TemporaryDirectory()
    var command = ["simulate", "--worker", "--scratch", scratch.path] + arguments + workerArguments
    command += ["--memory-max", String(Self.memoryMax + (steps ?? 0) / Self.stepsOfMebibyte)]
    if let keep { command += ["--keep", keep] }
    let progress = Progress(console)
    defer { progress.end() }
    let clock = ContinuousClock()
    let start = clock.now
    let program = WorkerProgram.current
    var pool = SimulationPool(
      list, limits, scratch: scratch,
      milliseconds: { Int64(start.duration(to: clock.now) / .milliseconds(1)) },
      start: { _, errors in try program.start(command, errors: errors) })
    let total = list.count
    let isWhole = try pool.run { tally in
      let failures = tally.failures.count
      let text = failures == 0 ? what : "\(what), \(Display.count(failures, "failure"))"
      do {
        try progress.update(text, done: tally.seeds, total: total)
        return true
      } catch {
        // Interrupted, or nobody looks at it any more.
        return false
      }
    }
    progress.end()
    let page = SimulationPage(
      tally: pool.tally, seconds: start.duration(to: clock.now) / .seconds(1), cores: min(limits.jobs, cores),
      faults: try FaultChoice.parse(faults).subtracting(assets ? [] : [.assetInTheWay]),
      arguments: arguments.map { " \($0)" }.joined(),
      keepDirectory: keep)
    return (page, isWhole)
  }

  /// Runs the seeds that come on standard input, and says what came of each in a line.
  private func work(_ console: Console) throws -> ToolError.Exit? {
    if let memoryMax { try MemoryLimit.set(mebibytes: memoryMax) }
    let simulation = Simulation(try options())
    var lines = LineReader(try console.input())
    while let line = try lines.next() {
      guard let seed = UInt64(String(decoding: line, as: UTF8.self)) else {
        throw ToolError.input("seedsInvalid", "line \(lines.number) is no seed", hint: "give a number")
      }
      try console.output.line(SeedReport(simulation.run(seed: seed)).json)
      try console.output.flush()
    }
    return nil
  }
}
