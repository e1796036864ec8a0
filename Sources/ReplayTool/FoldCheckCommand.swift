import ArgumentParser
import Foundation
import StoreTesting
import Synchronization

/// `replay foldcheck`: checks the fold against the naive oracle.
struct FoldCheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "foldcheck", abstract: "Checks the fold against a naive second implementation.",
    discussion: """
      Runs random sequences of writes, shipments and fetches at a few replicas, compares each replica's state with \
      that of a slow and obvious oracle, and folds the same transactions again in other orders. One seed \
      determines everything. A sequence that fails is made as small as it can be, and printed.

      Example: replay foldcheck --sequences 1000000 --seed 7
      """)

  @Option(help: "How many sequences to run.")
  var sequences = 100_000

  @Option(help: "What all sequences are made from.")
  var seed: UInt64 = 1

  @Option(help: ArgumentHelp("Run sequence <n> alone, and print its steps.", valueName: "n"))
  var only: Int?

  @Option(help: "How many threads to run on.")
  var threads = 2

  @Option(
    help: ArgumentHelp(
      "Plant a fault in the check itself, to see it found: "
        + FoldCheckFault.allCases.map(\.rawValue).joined(separator: ", ") + ".", valueName: "fault"),
    transform: Self.fault)
  var plant: FoldCheckFault?

  @Flag(help: "Print one JSON object.")
  var json = false

  func validate() throws {
    guard sequences > 0, threads > 0, only ?? 0 >= 0 else {
      throw ValidationError("the numbers of sequences and threads must be positive")
    }
  }

  func run() async throws {
    let check = FoldCheck(seed: seed, fault: plant)
    let range = only.map { $0..<$0 + 1 } ?? 0..<sequences
    if let only, !json {
      for step in check.schedule(of: only).steps { print(step) }
    }
    let clock = ContinuousClock()
    let start = clock.now
    let report = await report(of: check, range)
    let duration = start.duration(to: clock.now)
    let seconds = Double(duration.components.seconds) + Double(duration.components.attoseconds) / 1e18
    try show(report, seconds: seconds)
    if report.failure != nil { throw ExitCode(1) }
  }

  private static func fault(_ name: String) throws -> FoldCheckFault {
    guard let fault = FoldCheckFault(rawValue: name) else {
      throw ValidationError("there is no fault “\(name)” to plant")
    }
    return fault
  }

  // MARK: Running

  /// Runs the sequences, a range on each thread; all stop soon after one has failed.
  private func report(of check: FoldCheck, _ range: Range<Int>) async -> FoldCheckReport {
    let progress = Progress(total: range.count)
    let parts = min(threads, range.count)
    let report = await withTaskGroup(of: FoldCheckReport.self) { group in
      for part in 0..<parts {
        let from = range.lowerBound + range.count * part / parts
        let to = range.lowerBound + range.count * (part + 1) / parts
        group.addTask {
          let report = check.run(sequences: from..<to) { _ in progress.advance() }
          if report.failure != nil { progress.stop() }
          return report
        }
      }
      return await group.reduce(into: FoldCheckReport()) { $0.add($1) }
    }
    progress.finish()
    return report
  }

  /// Counts thousands of sequences over all threads, and shows them where standard error is a terminal.
  private final class Progress: Sendable {
    private let total: Int
    private let isShown = isatty(STDERR_FILENO) == 1
    private let state = Mutex((done: 0, isStopped: false))

    init(total: Int) { self.total = total }

    /// Says whether to go on.
    func advance() -> Bool {
      state.withLock { state in
        state.done += 1000
        if isShown && state.done.isMultiple(of: 10_000) { write("\r\(state.done) of \(total) sequences") }
        return !state.isStopped
      }
    }

    func stop() { state.withLock { $0.isStopped = true } }

    func finish() { if isShown { write("\r\u{1b}[K") } }

    private func write(_ text: String) { FileHandle.standardError.write(Data(text.utf8)) }
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

  private func show(_ report: FoldCheckReport, seconds: Double) throws {
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
      return print(String(decoding: try encoder.encode(summary), as: UTF8.self))
    }
    let time = String(format: "%.1f s, %.0f a second and thread", seconds, rate)
    print("seed \(seed): \(report.sequences) sequences in \(time)")
    let width = report.coverage.named.map(\.name.count).max() ?? 0
    for (name, count) in report.coverage.named {
      print("  \(name.padding(toLength: width, withPad: " ", startingAt: 0))  \(count)")
    }
    if let failure = report.failure { print("\n\(failure)") } else { print("sound") }
  }
}
