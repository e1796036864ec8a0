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
    // One transaction for all that was kept: what it caches is found once.
    try store.read { transaction in
      for screen in device.screens { try check(screen, device, transaction) }
    }
  }

  private func check(
    _ screen: SimulatedScreen.Read, _ device: SimulatedDevice, _ transaction: borrowing ReadTransaction
  ) throws {
    guard !screen.isTold else {
      world.count(.screensReadAgain)
      return try screen.read()
    }
    world.count(.screensKept)
    let now = try screen.readUnwatched(transaction)
    guard now == screen.value else {
      throw SimulationFailure(
        .observersAreTold,
        "d\(device.number) shows \(screen.value), was told nothing, and its store has \(now)")
    }
  }
}
