import EventStore
import Replicator

/// A store is copied, and both copies write and sync. They share an identity, so what the second one ships
/// has sequences that the remote has with other content. The second one takes another epoch, and nothing is
/// lost.
struct CopiedStore: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (device, zone) = pickWriter() else { return }
    begin(.storeCopied)
    let isPendingBefore = choices.next(below: 2) == 1
    if isPendingBefore { try write("before", to: "value", of: "copied", in: zone, on: device) }
    SimulatedMachines(world).end(device)
    let copy = try SimulatedMachines(world).copy(device)
    for device in [device, copy] { try SimulatedMachines(world).boot(device) }
    for (index, device) in [device, copy].enumerated() {
      try write("copy \(index)", to: "value", of: "copied", in: zone, on: device)
      try write("copy \(index)", to: "value", of: Name("copied \(index)"), in: zone, on: device)
    }
    // If it fetches first, the second one meets the other's segment in a page; if it only ships, at the
    // offset where its own segment was to be.
    try syncAlone(copy)
    try syncAlone(device, choices.next(below: 2) == 0 ? .all : .ship)
    try agreement.check(zone, after: "a copy")
    try agreement.checkWrites(isPendingBefore ? 3 : 2, of: "copied", in: zone, after: "a copy")
  }
}
