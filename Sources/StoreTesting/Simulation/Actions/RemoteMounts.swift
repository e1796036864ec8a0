import EventStore
import Replicator

/// Puts another thing in the remote's place, as a device sees it: nothing, another remote, or an old copy.
struct RemoteMounts: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Mounts something for some minutes; the right remote again, if another thing is mounted.
  func mount(
    _ mount: RemoteMount, _ fault: SimulationFault, on device: SimulatedDevice,
    _ choices: inout SimulationChoices
  ) throws {
    // A device that never synced cannot tell another remote from its own.
    guard device.mount == .right, device.view.databaseToken != nil else {
      return try self.mount(.right, on: device)
    }
    // Nobody writes to the copy: a store would read it from where it parts, and send again what it lacks.
    // No fact knows of that. ``OldRemote`` and ``PartedLog`` let it happen at rest.
    guard mount != .old || place.copyOnce() else { return }
    mark(fault)
    note("d\(device.number) sees \(mount) in the remote's place")
    try self.mount(mount, on: device)
    world.schedule(after: Int64(choices.next(in: 1...600)) * 1000, in: nil) {
      try self.mount(.right, on: device)
    }
  }

  /// Mounts something. As with a disk, calls under way get no answer, so that no call sees both.
  func mount(_ mount: RemoteMount, on device: SimulatedDevice) throws {
    guard device.mount != mount else { return }
    device.mount = mount
    device.disturbRounds()
    try act(device) { device.process.hangUp(.unreachable) }
  }
}
