import ArgumentParser
import Foundation
import StoreTesting

/// `replay simulate`: runs simulated worlds with faults everywhere.
struct SimulateCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate",
    abstract: "Runs simulated worlds in which everything may fail, and checks invariants.",
    discussion: """
      A world has some devices with real stores and replicators, over a simulated network and simulated disks and clocks. \
      One seed determines all that happens in it. The invariants are checked after every step. The seeds run in separate \
      processes, so that a seed that ends its process is a failure like any other. The command ends with 1 if any seed \
      failed. Without --seeds, --seed and --seeds-file it runs the worlds 1 to 100.

      Example: replay simulate --seeds 1..100000
      Example: replay simulate --seed 17 --shrink
      """)

  @Option(help: ArgumentHelp("Which worlds to run, such as 1..1000.", valueName: "A..B"))
  var seeds: String?

  @Option(help: ArgumentHelp("Run only this one.", valueName: "seed"))
  var seed: UInt64?

  @Option(
    help: ArgumentHelp("Run the seeds of a file: one a line, # begins a comment.", valueName: "file"))
  var seedsFile: String?

  @Flag(help: "Print every event of the one seed.")
  var trace = false

  @Flag(help: "Shrink the failure of the one seed.")
  var shrink = false

  @Flag(help: "Store longer bytes as assets; their files and transfers may fail too.")
  var assets = false

  @Option(
    help: ArgumentHelp("Steps of each world with faults; default: 200 to 2,000.", valueName: "count"))
  var steps: Int?

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "list prints them; none, a,b for only these, or -a,-b for all but these.", valueName: "faults"))
  var faults = "all"

  @Option(
    help: ArgumentHelp("Processes at the same time; default: the number of cores.", valueName: "count"))
  var jobs: Int?

  @Option(
    help: ArgumentHelp(
      "Run one of this many seeds again in another process, and compare; 0: none.", valueName: "count"))
  var repeatEvery: UInt64 = 100

  @Option(help: ArgumentHelp("End after this many failures.", valueName: "count"))
  var stopAfter = 10

  @Option(help: ArgumentHelp("The most time for one world.", valueName: "seconds"))
  var timeout: Int64 = 60

  @Option(help: ArgumentHelp("Keep the stores of failing seeds in this directory.", valueName: "directory"))
  var keep: String?

  @Flag(name: .long, help: "Print JSON: one object.")
  var json = false

  @Flag(help: .hidden)
  var worker = false

  /// Where worlds are made. The process that started a worker removes the worker's worlds, however the worker
  /// ends.
  @Option(help: .hidden)
  var scratch: String?

  /// How many mebibytes a worker may use. A world that uses more, or that leaks each time, ends the worker.
  @Option(help: .hidden)
  var memoryMax: UInt64?

  var printsJSON: Bool { json }

  /// The most steps of a world: a longer one takes too much time to wait for.
  private static let stepsMax = 1_000_000
  private static let jobsMax = 1024
  /// In mebibytes: a worker uses some 50 MiB, and it keeps all events of a long world until the end.
  private static let memoryMax = 192
  private static let stepsOfMebibyte = 20

  func validate() throws {
    guard [seeds, seedsFile, seed.map { String($0) }].count(where: { $0 != nil }) <= 1 else {
      throw ValidationError("Give one of: --seeds, --seed, --seeds-file.")
    }
    guard !(trace || shrink) || seed != nil else {
      throw ValidationError("--trace and --shrink need one --seed.")
    }
    guard !(trace && shrink) else {
      throw ValidationError("--shrink also prints a trace: leave out --trace.")
    }
    guard 1...Self.stepsMax ~= steps ?? 1 else {
      throw ValidationError("--steps must be from 1 to \(Display.count(Self.stepsMax)).")
    }
    guard 1...Self.jobsMax ~= jobs ?? 1, stopAfter > 0, 1...86_400 ~= timeout else {
      throw ValidationError(
        "--jobs must be from 1 to \(Self.jobsMax), --stop-after at least 1, --timeout from 1 to 86400 seconds."
      )
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

  // MARK: The worlds

  /// The options of the worlds.
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

  /// The arguments, besides the seed, with which a command runs the same worlds.
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
      try console.errors.line("interrupted: unfinished seeds are not counted")
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

  /// Runs seeds in worker processes. Also returns whether it ran all of them.
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
        // The command was interrupted, or nobody reads its output any more.
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

  /// Runs the seeds from standard input, and prints a line with the result of each.
  private func work(_ console: Console) throws -> ToolError.Exit? {
    if let memoryMax { try MemoryLimit.set(mebibytes: memoryMax) }
    let simulation = Simulation(try options())
    var lines = LineReader(try console.input())
    while let line = try lines.next() {
      guard let seed = UInt64(String(decoding: line, as: UTF8.self)) else {
        throw ToolError.input("seedsInvalid", "line \(lines.number) is not a seed", hint: "give a number")
      }
      try console.output.line(SeedReport(simulation.run(seed: seed)).json)
      try console.output.flush()
    }
    return nil
  }
}
