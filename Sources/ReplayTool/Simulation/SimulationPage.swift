import EventStore
import StoreTesting

/// Prints the result of a run of many seeds, for people and for programs.
struct SimulationPage {
  /// With at least this many seeds, the page says what never occurred. Fewer seeds do not reach everything.
  static let seedsOfNever: UInt64 = 1000
  /// The number of steps of the seed that is used to compare rates.
  private static let stepsOfSeed = 300.0
  private static let widthMax = 100

  var tally: SimulationTally
  var seconds: Double
  /// How many processes ran at the same time, at most one for each core.
  var cores: Int
  /// The faults that may occur.
  var faults: Set<SimulationFault>
  /// The arguments, besides the seed, that run the same worlds: ` --steps 300`, or nothing.
  var arguments = ""
  /// Where the stores of failing seeds are kept.
  var keepDirectory: String?

  private var seedRate: Double { rate(Double(tally.seeds + tally.repeats)) }
  private var comparableRate: Double { rate(Double(tally.steps) / Self.stepsOfSeed) }
  private func rate(_ count: Double) -> Double { count / max(seconds, 1e-3) / Double(max(1, cores)) }

  /// Faults and marks that never occurred, if there were enough seeds to expect them.
  private var never: [String]? {
    tally.seeds >= Self.seedsOfNever ? tally.counts.missing(of: faults) : nil
  }

  func print(_ output: Output) throws {
    var heading =
      "\(Display.count(tally.seeds, "seed")), \(Display.count(tally.steps)) steps in \(Self.text(seconds)) s"
    if tally.repeats > 0 { heading += ", \(Display.count(tally.repeats)) run twice" }
    try output.line(output.styled(heading, .heading))
    try output.line(
      "\(Self.text(seedRate)) seeds a second and core, \(Self.text(comparableRate)) of 300 steps")
    try output.line("\(Self.text(milliseconds: tally.simulatedMilliseconds)) in \(Self.text(seconds)) s")
    try printCounts("faults", SimulationFault.allCases.map(\.rawValue), tally.counts.faults, output)
    try printCounts("marks", SimulationCoverage.Mark.allCases.map(\.rawValue), tally.counts.marks, output)
    try printCounts("errors", tally.counts.codes.keys.sorted(), tally.counts.codes, output)
    if let never, !never.isEmpty {
      try output.line(output.styled("never: \(never.joined(separator: ", "))", .warning))
    }
    try printFailures(output)
  }

  /// Prints each failure with the commands to examine it, or that there was none.
  func printFailures(_ output: Output) throws {
    guard !tally.failures.isEmpty else {
      return try output.line(output.styled("no failures", .winner))
    }
    for failure in sortedFailures {
      try output.line(output.styled(failure.line, .loser))
      try output.line("  replay simulate --seed \(failure.seed) --trace\(arguments)")
      if case .invariant = failure.kind {
        try output.line("  replay simulate --seed \(failure.seed) --shrink\(arguments)")
      }
      if let keepDirectory { try output.line("  stores: \(keepDirectory)/seed-\(failure.seed)") }
    }
    try output.line(output.styled(Display.count(tally.failures.count, "failure"), .loser))
  }

  private var sortedFailures: [SeedFailure] { tally.failures.sorted { $0.seed < $1.seed } }

  var json: JSON {
    .members([
      "seeds": .number(tally.seeds), "repeats": .number(tally.repeats), "steps": .number(tally.steps),
      "seconds": .fraction(Self.text(seconds)), "seedsPerSecondAndCore": .fraction(Self.text(seedRate)),
      "seedsOf300StepsPerSecondAndCore": .fraction(Self.text(comparableRate)),
      "simulatedMilliseconds": .number(tally.simulatedMilliseconds), "counts": tally.counts.json,
      "never": never.map { .array($0.map { .string($0) }) },
      "failures": .array(sortedFailures.map(\.json)),
    ])
  }

  private func printCounts(
    _ title: String, _ names: [String], _ counts: [String: Int], _ output: Output
  ) throws {
    let words = names.compactMap { name in counts[name].map { "\(name) \(Display.count($0))" } }
    guard !words.isEmpty else { return }
    try output.line(output.styled(title, .heading))
    var line = ""
    for (index, word) in words.enumerated() {
      if !line.isEmpty, line.count + word.count > Self.widthMax {
        try output.line(line)
        line = ""
      }
      line += (line.isEmpty ? "  " : " ") + word + (index < words.count - 1 ? "," : "")
    }
    try output.line(line)
  }

  /// A simulated time: in days if it is long enough.
  private static func text(milliseconds: Int128) -> String {
    let days = milliseconds / 86_400_000
    return days > 0
      ? Display.count(days, "day") : Display.duration(milliseconds: UInt64(max(0, milliseconds)))
  }

  /// A number with one decimal.
  static func text(_ number: Double) -> String {
    let tenths = UInt64(max(0, min(number, 1e15)) * 10)
    return "\(tenths / 10).\(tenths % 10)"
  }
}
