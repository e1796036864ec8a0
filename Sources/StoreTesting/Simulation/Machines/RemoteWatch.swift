import Replicator

/// Watches the remote: checks what is new there, and notifies some devices of it.
struct RemoteWatch: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func look() throws {
    guard try RemoteChecker(world).check() else { return }
    for device in devices where !device.isCutOff && !world.isHealed && world.timing.next(below: 3) == 2 {
      world.schedule(after: Int64(1 + world.timing.next(below: 50)), in: device.process) {
        try act(device) {
          try SimulatedRounds(world).deliver(.remoteChanged(HintFaults(world).hint(to: device)), device)
        }
      }
    }
  }
}
