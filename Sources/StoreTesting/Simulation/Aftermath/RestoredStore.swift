import EventStore
import Replicator

/// A store has sent what it wrote, or has not, and then an older copy of its data file is put back in its place. If it
/// notices that, it takes another identity. If not, what it writes next has sequences that the remote has with other
/// content, and it takes another epoch. What it had sent comes back, and nothing else is lost.
struct RestoredStore: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (device, zone) = pickWriter() else { return }
    begin(.storeRestored)
    let machines = SimulatedMachines(world)
    try write("before", to: "value", of: "restored", in: zone, on: device)
    if choices.next(below: 2) == 0 { try syncAlone(device) }
    machines.end(device)
    let backup = try machines.backUp(device)
    try machines.boot(device)
    try write("sent", to: "value", of: "restored", in: zone, on: device)
    // What was not sent is in the newer store alone, and goes with it.
    let isSent = choices.next(below: 3) > 0
    if isSent { try syncAlone(device) }
    let before = device.store?.identity
    // The store notes how far it is when it is opened.
    let isNoticed = choices.next(below: 2) == 0
    machines.end(device)
    if isNoticed {
      try machines.boot(device)
      machines.end(device)
    }
    try machines.putBack(backup, device)
    try machines.boot(device)
    if isNoticed, let before, device.store?.identity.replica == before.replica {
      throw SimulationFailure(
        .sequencesAreGapless,
        "an older copy of d\(device.number) was put back, and it is still replica \(before.replica)")
    }
    for index in 0..<2 {
      try write("after \(index)", to: "value", of: "restored", in: zone, on: device)
    }
    try syncAlone(device, choices.next(below: 2) == 0 ? .all : .ship)
    try agreement.check(zone, after: "a restored store")
    try agreement.checkWrites(isSent ? 4 : 3, of: "restored", in: zone, after: "a restored store")
  }
}
