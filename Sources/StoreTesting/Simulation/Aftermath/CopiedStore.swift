import EventStore
import Replicator

/// A store is copied, and both copies write and sync. If the copy notices it, it takes another identity. If not, they
/// share one, so what the second one ships has sequences that the remote has with other content: it takes another
/// epoch. Nothing is lost.
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
    var ofCopies = world.plan.choices(.copies)
    copy.noticesCopies = ofCopies.next(below: 2) == 0
    for device in [device, copy] { try SimulatedMachines(world).boot(device) }
    if let one = device.store?.identity, let other = copy.store?.identity,
      (one.replica == other.replica) == copy.noticesCopies
    {
      throw SimulationFailure(
        .sequencesAreGapless,
        "d\(copy.number) is a copy of d\(device.number), and is replica \(other.replica)")
    }
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
