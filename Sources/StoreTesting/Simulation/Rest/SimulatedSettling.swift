import EventStore
import Replicator

/// Lets a healed world come to rest: syncs every device in turn until a whole pass changes nothing.
struct SimulatedSettling: WorldPart {
  /// The most passes over all devices. A world that needs more never comes to rest.
  private static let passesMax = 20
  /// The same where assets move a few at a time.
  private static let passesMaxWithAssets = 100

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// - Throws: ``SimulationFailure`` if the world does not come to rest; what the checkers find.
  func settle() throws {
    try attachAll()
    let passesMax = hasAssets ? Self.passesMaxWithAssets : Self.passesMax
    let assets = SimulatedAssets(world)
    for pass in 1...passesMax {
      world.count(.settlingRounds)
      note("settling round \(pass)")
      for device in devices { try assets.keepPolicies(of: device) }
      let before = try (states: states(), missing: assets.missingCounts())
      for device in devices {
        // A retry may be due much later, so the app asks for a round.
        try drain()
        // A second replicator uses the same store: one round shows that it comes to rest too.
        for index in device.replicators.indices where index == 0 || pass == 1 {
          try act(device) { try SimulatedRounds(world).deliver(.syncRequested(.all), device, index) }
          try drain()
        }
      }
      // Most conflicts show once all writes meet. The first time, each device restores a loser, which then
      // must sync too.
      if pass == 1, !world.hasRested {
        for device in devices { try SimulatedWrites(world).restoreLoser(on: device, &world.timing) }
      }
      if try states() == before.states, try assets.missingCounts() == before.missing, !assets.areMoving {
        world.hasRested = true
        return
      }
    }
    throw SimulationFailure(
      .roundsMakeProgress, "after \(passesMax) rounds over all devices something still moves")
  }

  /// Runs events until no round is under way.
  func drain() throws {
    while devices.contains(where: { $0.replicators.contains { $0.round != nil } }) { try world.advance() }
  }

  /// Attaches the zones that are still local to their device.
  private func attachAll() throws {
    for device in devices {
      guard let store = device.store else { continue }
      for zone in device.view.zones.map(\.facts.zone) {
        try act(device) { try store.writeBlockingThisThread { try $0.attachZone(zone) } }
      }
    }
  }

  private func states() throws -> [StoreSyncState] {
    try devices.compactMap { try $0.store?.syncState() }
  }
}
