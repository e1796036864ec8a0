import ArgumentParser
import StoreTesting

struct SimulateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "simulate", abstract: "Runs worlds in which everything fails.")
  @Option var seeds: String = "1..10"
  @Option var steps: Int?
  @Flag var trace = false
  func run() async throws {
    let parts = seeds.split(separator: ".").compactMap { UInt64($0) }
    var options = SimulationOptions()
    options.steps = steps
    let simulation = Simulation(options)
    var coverage = SimulationCoverage()
    var steps = 0
    let time = ContinuousClock.now
    var failures = 0
    for seed in parts[0]...parts[parts.count - 1] {
      let result = simulation.run(seed: seed, keepsTrace: trace)
      coverage.add(result.coverage)
      steps += result.steps
      if trace { for line in result.trace { print(line) } }
      if let failure = result.failure {
        failures += 1
        print("seed \(seed) step \(failure.step): \(failure)")
      }
    }
    print("steps \(steps), \(ContinuousClock.now - time), failures \(failures)")
    for (f, c) in coverage.faultCounts { print(f, c, terminator: "  ") }
    print()
    for (f, c) in coverage.markCounts { print(f, c, terminator: "  ") }
    print()
    for (f, c) in coverage.codeCounts { print(f, c, terminator: "  ") }
    print()
  }
}
