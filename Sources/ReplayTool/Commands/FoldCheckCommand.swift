import ArgumentParser
import Foundation
import StoreTesting
import Synchronization

/// `replay foldcheck`: checks the fold against the naive oracle.
struct FoldCheckCommand: ReplayCommand {
  static let configuration = CommandConfiguration(
    commandName: "foldcheck", abstract: "Checks the fold against a naive second implementation.",
    discussion: """
      Runs random sequences of writes, sends and fetches at a few replicas. It compares each replica's state with that of a \
      slow and obvious oracle, and folds the same transactions again in other orders. One seed determines everything. A \
      sequence that fails is made as small as possible, and printed.

      With --schedules it runs every schedule of three replicas at one record instead: so many transactions of each, which \
      create, set or delete, with up to --syncs syncs between them.

      Example: replay foldcheck --sequences 1000000 --seed 7
      Example: replay foldcheck --schedules 3 --syncs 2
      """)

  @Option(help: "How many sequences to run.")
  var sequences = 100_000

  @Option(help: "The seed of all sequences.")
  var seed: UInt64 = 1

  @Option(
    help: ArgumentHelp("Run all schedules with so many transactions of each replica, 1 to 3.", valueName: "n")
  )
  var schedules: Int?

  @Option(help: "The most syncs between the transactions of a schedule, up to 4.")
  var syncs = 2

  @Option(help: ArgumentHelp("Run only sequence <n>, and print its steps.", valueName: "n"))
  var only: Int?

  @Option(help: "How many threads to run on.")
  var threads = 2

  @Option(
    help: ArgumentHelp(
      "Plant a fault in the check itself, to see that it is found: "
        + FoldCheckFault.allCases.map(\.rawValue).joined(separator: ", ") + ".", valueName: "fault"),
    transform: Self.fault)
  var plant: FoldCheckFault?

  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard sequences > 0, threads > 0, (0..<Int.max).contains(only ?? 0) else {
      throw ValidationError("the numbers of sequences and threads must be positive")
    }
    guard 1...3 ~= schedules ?? 1, 0...4 ~= syncs else {
      throw ValidationError("--schedules must be from 1 to 3, and --syncs from 0 to 4")
    }
    if let all = all?.count, let only, only >= all {
      throw ValidationError("there are \(all) schedules: --only must be below")
    }
  }

  var printsJSON: Bool { json }

  func run(_ console: Console) async throws -> ToolError.Exit? {
    let all = all
    var sizes = FoldCheckSizes()
    // Each other order is another schedule.
    if all != nil { sizes.orders = 0 }
    let check = FoldCheck(seed: seed, sizes: sizes, fault: plant, schedules: all)
    let range = only.map { $0..<$0 + 1 } ?? 0..<(all?.count ?? sequences)
    if let only, !json {
      for step in check.schedule(of: only).steps { try console.output.line("\(step)") }
    }
    let clock = ContinuousClock()
    let start = clock.now
    let report = try await report(of: check, range, console)
    let duration = start.duration(to: clock.now)
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    try show(report, seconds: seconds, console.output)
    return report.failure == nil ? nil : .problem
  }

  /// All schedules, if those are to run.
  private var all: FoldSchedules? { schedules.map { FoldSchedules(transactions: $0, syncs: syncs) } }

  private static func fault(_ name: String) throws -> FoldCheckFault {
    guard let fault = FoldCheckFault(rawValue: name) else {
      throw ValidationError("there is no fault “\(name)” to plant")
    }
    return fault
  }

  // MARK: Running

  /// Runs the sequences, a range on each thread. All threads stop after a failure, or when the user
  /// interrupts the command.
  private func report(
    of check: FoldCheck, _ range: Range<Int>, _ console: Console
  ) async throws -> FoldCheckReport {
    let progress = Progress(console)
    defer { progress.end() }
    let shared = Shared()
    let parts = min(threads, range.count)
    return try await withThrowingTaskGroup(of: FoldCheckReport.self) { group in
      for part in 0..<parts {
        let from = range.lowerBound + range.count * part / parts
        let to = range.lowerBound + range.count * (part + 1) / parts
        group.addTask {
          var problem: (any Error)?
          let report = check.run(sequences: from..<to) { _ in
            let count = shared.done.add(1, ordering: .relaxed).newValue
            do {
              try progress.update("sequences", done: count, total: UInt64(range.count))
            } catch {
              problem = error
            }
            return problem == nil && !shared.isStopped.load(ordering: .relaxed)
          }
          if problem != nil || report.failure != nil { shared.isStopped.store(true, ordering: .relaxed) }
          if let problem { throw problem }
          return report
        }
      }
      var whole = FoldCheckReport()
      for try await report in group { whole.add(report) }
      return whole
    }
  }

  /// The state that the threads share: how many sequences are done, and whether all threads must stop.
  private final class Shared: Sendable {
    let done = Atomic<UInt64>(0)
    let isStopped = Atomic(false)
  }

  // MARK: The report

  private struct Summary: Encodable {
    struct Failure: Encodable {
      var sequence: Int
      var steps: [String]
      var place: String
      var expected: [String]
      var found: [String]
    }

    var seed: UInt64
    var sequences: Int
    var seconds: Double
    var sequencesPerSecondAndThread: Double
    var coverage: [String: Int]
    var failure: Failure?
  }

  private func show(_ report: FoldCheckReport, seconds: Double, _ output: Output) throws {
    let rate = Double(report.sequences) / max(seconds, 1e-9) / Double(min(threads, report.sequences))
    if json {
      let summary = Summary(
        seed: seed, sequences: report.sequences, seconds: seconds, sequencesPerSecondAndThread: rate,
        coverage: Dictionary(uniqueKeysWithValues: report.coverage.named.map { ($0.name, $0.count) }),
        failure: report.failure.map {
          Summary.Failure(
            sequence: $0.sequence, steps: $0.schedule.steps.map(\.description), place: $0.place,
            expected: $0.expected, found: $0.found)
        })
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
      return try output.line(String(decoding: try encoder.encode(summary), as: UTF8.self))
    }
    let time = String(format: "%.1f s, %.0f a second and thread", seconds, rate)
    let what =
      schedules == nil ? "seed \(seed): \(report.sequences) sequences" : "\(report.sequences) schedules"
    try output.line("\(what) in \(time)")
    let width = report.coverage.named.map(\.name.count).max() ?? 0
    for (name, count) in report.coverage.named {
      try output.line("  \(name.padding(toLength: width, withPad: " ", startingAt: 0))  \(count)")
    }
    try output.line(report.failure.map { "\n\($0)" } ?? "sound")
  }
}
