import EventStore

/// Checks that a read which stays open does not change: invariant 11.
struct ReadChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Opens a read, unless the device has one open.
  func begin(_ device: SimulatedDevice) throws {
    guard let store = device.store, device.heldRead == nil else { return }
    mark(.heldRead)
    device.hasHeldRead = true
    let read = try store.beginHeldRead()
    device.heldRead = SimulatedHeldRead(read: read, state: try read.read { try DeviceState($0) })
  }

  /// Closes the open read, and checks that it still sees what it saw at first.
  func end(_ device: SimulatedDevice) throws {
    guard let held = device.heldRead else { return }
    device.heldRead = nil
    world.count(.readsHeld)
    guard try held.read.read({ try DeviceState($0) }) == held.state else {
      throw SimulationFailure(
        .transactionsAreAtomic, "a read of d\(device.number) saw what came after it began")
    }
  }
}
