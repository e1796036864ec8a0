import EventStore

/// Checks that all that a device's app shows is what its store has, unless it was told to read again: invariant 20.
struct ObserverChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Looks at the commits of a device's store. Some devices do so only after several of them.
  func check(_ device: SimulatedDevice, _ store: LocalStore) throws {
    guard !device.screens.isEmpty else {
      device.screens = try SimulatedScreen.all(of: device.workloads.flatMap(\.zones), store)
      return
    }
    device.commitsUnseen += 1
    guard device.commitsUnseen > device.number % 3 else { return }
    device.commitsUnseen = 0
    store.lookAtCommits()
    for screen in device.screens {
      guard !screen.isTold else {
        world.count(.screensReadAgain)
        try screen.read()
        continue
      }
      world.count(.screensKept)
      let now = try screen.readUnwatched()
      guard now == screen.value else {
        throw SimulationFailure(
          .observersAreTold,
          "d\(device.number) shows \(screen.value), was told nothing, and its store has \(now)")
      }
    }
  }
}
