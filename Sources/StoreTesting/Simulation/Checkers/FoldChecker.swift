import EventStore

/// Checks that a store's records are a fold of its log: invariant 5.
struct FoldChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func check(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    world.count(.verified)
    let report = try world.whileVerifying { try store.verify() }
    guard report.isSound else {
      throw SimulationFailure(
        .recordsAreFold, "d\(device.number): \(report.problems.map(\.description).joined(separator: "; "))")
    }
  }
}
