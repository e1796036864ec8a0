import EventStore
import Replicator

/// Reads what was put into the remote, into the facts: invariants 7, 12 and 13 hold there too.
struct RemoteChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Reads what is new at the remote, and notifies some devices of it.
  func check() throws {
    guard place.takeChange(), world.isModelled else { return }
    let (facts, observer) = (facts, place.observer)
    let lives = facts.lives.count
    guard try executor.wait({ try await facts.observe(observer) }) else { return }
    for life in facts.lives[lives...] where facts.lives[..<lives].contains(where: { $0.zone == life.zone }) {
      mark(.zoneRecreated)
    }
    for device in devices where !device.isCutOff && !world.isHealed && world.timing.next(below: 3) == 2 {
      world.schedule(after: Int64(1 + world.timing.next(below: 50)), in: device.process) {
        try act(device) { try SimulatedRounds(world).deliver(.remoteChanged, device) }
      }
    }
  }
}
