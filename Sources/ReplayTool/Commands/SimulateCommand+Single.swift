import EventStore
import StoreTesting

extension SimulateCommand {
  /// Runs a seed in this process, and prints each event as it happens. So if the seed ends the process, its
  /// last event is printed.
  func runTraced(_ seed: UInt64, _ console: Console) throws -> ToolError.Exit? {
    var options = try options()
    let output = console.output
    if !json {
      options.traceSink = { line in
        // A closed output is reported at the end.
        do {
          try output.line(Display.plain(line))
          try output.flush()
        } catch {}
      }
    }
    let result = Simulation(options).run(seed: seed, keepsTrace: json)
    if json {
      try output.line(
        .members([
          "report": SeedReport(result).json, "trace": .array(result.trace.map { .string($0) }),
        ]))
    } else if let failure = result.failure {
      try output.line(output.styled(SeedFailure(seed, failure).line, .loser))
    } else {
      try output.line(output.styled("no failure in \(Display.count(result.steps, "step"))", .winner))
    }
    return result.failure == nil ? nil : .problem
  }

  /// Shrinks a failing seed, and prints the smallest world that fails: its plan, its events, and the failure.
  func runShrunk(_ seed: UInt64, _ console: Console) throws -> ToolError.Exit? {
    let progress = Progress(console)
    defer { progress.end() }
    let shrunk = try Simulation(try options()).shrink(seed: seed) { step in
      try progress.update(
        "shrinking, \(Display.count(step.steps, "step"))", done: UInt64(step.runs),
        total: UInt64(step.runsMax))
    }
    progress.end()
    let output = console.output
    guard let shrunk else {
      if json {
        try output.line(.object(["seed": .number(seed), "failure": .null]))
      } else {
        try output.line("seed \(seed) does not fail")
      }
      return nil
    }
    let failure = SeedFailure(seed, shrunk.failure)
    if json {
      try output.line(
        .object([
          "seed": .number(seed), "failure": failure.json, "isSmallest": .bool(shrunk.isSmallest),
          "plan": .array(shrunk.plan.map { .string($0) }), "runs": .number(shrunk.runs),
          "steps": .number(shrunk.stepCount), "trace": .array(shrunk.trace.map { .string($0) }),
        ]))
      return .problem
    }
    try output.line(output.styled("plan", .heading))
    for line in shrunk.plan { try output.line("  " + Display.plain(line)) }
    try output.line(output.styled("events", .heading))
    for line in shrunk.trace { try output.line("  " + Display.plain(line)) }
    try output.line(output.styled(failure.line, .loser))
    let end = shrunk.isSmallest ? "nothing more can be taken away" : "it may be smaller still"
    try output.line(
      "\(Display.count(shrunk.stepCount, "step")) after \(Display.count(shrunk.runs, "run")): \(end)")
    return .problem
  }
}
