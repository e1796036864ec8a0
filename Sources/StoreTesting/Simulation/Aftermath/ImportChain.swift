import EventStore
import OperationFormat

/// Two stores in a row import the log of the one before, with pending transactions. Then the first store
/// comes back from a backup, which nobody notices, and ships another branch. The last store takes over all that it has of the
/// others, or lets go of it. The others are gone.
struct ImportChain: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (first, zone) = pickWriter() else { return }
    begin(.logImported)
    let (answer, branches) = (choices.next(below: 2), 1 + choices.next(below: 3))
    SimulatedMachines(world).end(first)
    let backup = try SimulatedMachines(world).copy(first)
    backup.noticesCopies = false
    try SimulatedMachines(world).boot(first)
    var (counted, device) = (0, first)
    for value in ["first", "second"] {
      let count = 1 + choices.next(below: 3)
      try write(count, value, in: zone, on: device)
      counted += count
      guard let store = device.store else { return }
      let lines = try store.exportedLines()
      SimulatedMachines(world).end(device)
      device = world.newDevice(like: first)
      try SimulatedMachines(world).boot(device)
      guard let next = device.store else { return }
      try executor.wait { try await next.importLines(lines) }
    }
    try write(1, "last", in: zone, on: device)
    try SimulatedMachines(world).boot(backup)
    try write(branches, "branch", in: zone, on: backup)
    try syncAlone(backup)
    try syncAlone(device)
    guard let store = device.store else { return }
    let settled = try executor.wait {
      let count = try await store.settleClosedLanes(of: zone, answer == 0 ? .takeOver : .letGo)
      try await store.finishRenewal()
      return count
    }
    guard settled == counted else {
      throw SimulationFailure(
        .countedOnce, "after a chain of imports, \(settled) of \(counted) transactions were settled")
    }
    try agreement.check(zone, after: "a chain of imports")
    try agreement.checkWrites(
      branches + 1 + (answer == 0 ? counted : 0), of: "chained", in: zone, after: "a chain of imports")
  }

  private func write(_ count: Int, _ value: String, in zone: ZoneID, on device: SimulatedDevice) throws {
    for index in 0..<count {
      try write("\(value) \(index)", to: "value", of: "chained", in: zone, on: device)
    }
  }
}
