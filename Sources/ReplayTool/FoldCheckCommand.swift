import ArgumentParser
import StoreTesting

/// `replay foldcheck`: checks the fold against the naive oracle.
struct FoldCheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "foldcheck", abstract: "Checks the fold against a naive second implementation.")
  @Option var sequences = 100_000
  @Option var seed: UInt64 = 1

  func run() async throws {
    let clock = ContinuousClock()
    let start = clock.now
    let report = FoldCheck(seed: seed).run(sequences: 0..<sequences)
    print(start.duration(to: clock.now), report.sequences)
    for (name, count) in report.coverage.named { print(name, count) }
    if let failure = report.failure { print(failure) }
  }
}
