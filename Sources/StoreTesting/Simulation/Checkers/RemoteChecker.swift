import EventStore
import Replicator

/// Reads what was put into the remote, into the facts: invariants 7, 12, 13 and 24 hold there too.
struct RemoteChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Reads what is new at the remote.
  ///
  /// - Returns: whether there was anything.
  func check() throws -> Bool {
    guard place.takeChange(), world.isModelled else { return false }
    let (facts, observer) = (facts, place.observer)
    let lives = facts.lives.count
    guard try executor.wait({ try await facts.observe(observer) }) else { return false }
    try ReceiveTimeChecker(world).check()
    for life in facts.lives[lives...] where facts.lives[..<lives].contains(where: { $0.zone == life.zone }) {
      mark(.zoneRecreated)
    }
    return true
  }
}
