import EventStore
import OperationFormat
import Replicator

/// Runs scenarios: a real store a device, a real remote, and a clock that stands still.
///
/// One seed determines everything: equal runs end in equal digests.
///
/// ```swift
/// let runner = ScenarioRunner(remote: .memory)
/// for scenario in try ScenarioFile.parse(yaml: text).scenarios { print(await runner.run(scenario).line) }
/// ```
public struct ScenarioRunner: Sendable {
  /// Where the devices meet; each scenario gets a fresh one there.
  public let remote: RunnerRemote
  /// What identities are made from.
  public let seed: UInt64

  /// Creates a runner.
  public init(remote: RunnerRemote, seed: UInt64 = 1) {
    self.remote = remote
    self.seed = seed
  }

  /// Runs a scenario up to the first step or assertion that fails.
  public func run(_ scenario: Scenario) async -> ScenarioResult {
    if let capability = scenario.missingCapability {
      return ScenarioResult(id: scenario.id, outcome: .skipped(capability), devices: [])
    }
    let world: ScenarioWorld
    do {
      world = try await ScenarioWorld(scenario, remote: try remote.fresh(for: scenario.id), seed: seed)
    } catch {
      let failure = ScenarioFailure(place: "the start", expected: "stores and a remote", found: "\(error)")
      return ScenarioResult(id: scenario.id, outcome: .failed(failure), devices: [])
    }
    var outcome = ScenarioResult.Outcome.passed
    do {
      try await world.run(scenario.steps, "step")
      try await world.run(scenario.expectations, "expectation")
    } catch let failure as ScenarioFailure {
      outcome = .failed(failure)
    } catch {
      outcome = .failed(ScenarioFailure(place: "the run", expected: "no error", found: "\(error)"))
    }
    var devices: [ScenarioResult.Device] = []
    do {
      devices = try world.finalDigests()
    } catch {
      if outcome == .passed {
        outcome = .failed(ScenarioFailure(place: "the end", expected: "digests", found: "\(error)"))
      }
    }
    await world.close()
    return ScenarioResult(id: scenario.id, outcome: outcome, devices: devices)
  }
}
