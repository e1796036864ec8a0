import EventStore
import OperationFormat
import Replicator

/// The devices of a scenario and what they do.
final class ScenarioWorld {
  let scenario: Scenario
  /// In the order of the scenario.
  let devices: [ScenarioDevice]
  let remote: any RemoteLog
  /// Where each record was created last.
  var zones: [Name: Name] = [:]
  var random: SeededRandom
  private let directory = TemporaryDirectory()

  init(_ scenario: Scenario, remote: RunnerRemote, seed: UInt64) async throws {
    self.scenario = scenario
    let random = SeededRandom(seed: seed)
    let open = try await remote.make(random: random.stream(1))
    var devices: [ScenarioDevice] = []
    for (index, name) in scenario.devices.enumerated() {
      devices.append(
        try ScenarioDevice(
          name: name, directory: "\(directory.path)/\(index)", remote: try await open(),
          random: random.stream(UInt64(index) + 16)))
    }
    self.devices = devices
    self.remote = try await open()
    self.random = random.stream(2)
  }

  func close() async {
    for device in devices { await device.close() }
  }

  // MARK: Steps

  /// Runs steps in order.
  ///
  /// - Throws: ``ScenarioFailure`` of the first that fails.
  func run(_ steps: [ScenarioStep], _ what: String) async throws {
    for (index, step) in steps.enumerated() {
      do {
        try await run(step, by: step.devices)
      } catch let mismatch as ScenarioMismatch {
        throw ScenarioFailure(
          place: "\(what) \(index + 1) (\(step.name), line \(step.line))", expected: mismatch.expected,
          found: mismatch.found)
      }
    }
  }

  /// - Parameter names: the devices, if the step names none.
  private func run(_ step: ScenarioStep, by names: [String]) async throws {
    let performers = devices(named: step.devices.isEmpty ? names : step.devices)
    switch step.action {
    case .steps(let parts):
      for part in parts { try await run(part, by: performers.map(\.name)) }
    case .check(let assertion): try check(assertion, on: performers)
    case .quiesce: try await guarding(performers) { try await quiesce(performers) }
    case .write, .transaction, .clock, .setOnline, .push, .pull, .beginPush, .acknowledgePush, .sync,
      .redeliver, .restart, .wipeLocal, .loseToken, .createZone, .deleteZone, .unsupported:
      for device in performers {
        if step.expectsError {
          try await expectError(of: step, on: device)
        } else {
          try await guarding([device]) { try await perform(step.action, on: device) }
        }
      }
    }
  }

  private func devices(named names: [String]) -> [ScenarioDevice] {
    names.compactMap { name in devices.first { $0.name == name } }
  }

  /// Tells of an error that nobody expected.
  private func guarding(_ devices: [ScenarioDevice], _ body: () async throws -> Void) async throws {
    do {
      try await body()
    } catch let error as ScenarioMismatch {
      throw error
    } catch {
      let names = devices.map(\.name).joined(separator: ", ")
      throw ScenarioMismatch(expected: "success on \(names)", found: "\(error)")
    }
  }

  private func expectError(of step: ScenarioStep, on device: ScenarioDevice) async throws {
    let before = try DeviceState(device.store)
    var hasThrown = false
    do {
      try await perform(step.action, on: device)
    } catch let error as ScenarioMismatch {
      throw error
    } catch {
      hasThrown = true
    }
    guard hasThrown else { throw ScenarioMismatch(expected: "an error on \(device.name)", found: "success") }
    guard try DeviceState(device.store) == before else {
      throw ScenarioMismatch(
        expected: "\(device.name) as it was before the error", found: "another state")
    }
  }

  private func perform(_ action: ScenarioAction, on device: ScenarioDevice) async throws {
    switch action {
    case .write(let write): try await self.write([write], on: device)
    case .transaction(let steps):
      guard let writes = ScenarioStep.writes(of: steps) else {
        preconditionFailure("a transaction holds writes: the parser has checked it")
      }
      try await write(writes, on: device)
    case .clock(let milliseconds): device.clock.milliseconds = milliseconds
    case .setOnline(let isOnline): device.isOnline = isOnline
    case .push: try await push(device)
    case .pull: try await pull(device)
    case .beginPush: if device.isOnline { try await device.beginPush() }
    case .acknowledgePush: try await device.acknowledgePush()
    case .sync: _ = try await sync(device)
    case .redeliver(let count, let order): try await redeliver(count, order, to: device)
    case .restart: try await device.restart()
    case .wipeLocal: try await device.wipe()
    case .loseToken: try await device.store.forgetTokens()
    case .createZone(let name): try await createZone(name, on: device)
    case .deleteZone(let name):
      try await device.store.write { tx in try tx.deleteZone(ZoneID(name: name)) }
    case .steps, .quiesce, .check, .unsupported:
      preconditionFailure("not a step of one device")
    }
  }
}

/// What a step expected and what it found.
struct ScenarioMismatch: Error {
  var expected: String
  var found: String
}
