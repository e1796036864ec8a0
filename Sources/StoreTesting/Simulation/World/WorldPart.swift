import EventStore

/// A part of a world, which does something to the world or checks it.
///
/// A part has no state of its own and refers to its world without owning it, so that any part can be made
/// where it is used.
protocol WorldPart: Sendable {
  var world: SimulatedWorld { get }

  init(_ world: SimulatedWorld)
}

extension WorldPart {
  var options: SimulationOptions { world.options }
  var configuration: SimulationConfiguration { world.configuration }
  var facts: SimulationFacts { world.facts }
  var place: SimulatedPlace { world.place }
  var devices: [SimulatedDevice] { world.devices }
  var executor: SimulatedExecutor { world.executor }
  var hasAssets: Bool { options.assetThresholdBytes != nil }

  func note(_ line: String) { world.note(line) }

  func mark(_ fault: SimulationFault) { world.mark(fault) }

  /// Does something in a device's process, and checks its store after.
  func act(_ device: SimulatedDevice, _ body: () throws -> Void) throws {
    try world.act(device, body)
  }
}
