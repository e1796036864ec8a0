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
    if mount == .old { try copyRemote(&choices) }
    guard mount != .old || place.isCopied && facts.canTellCopy(device.view) else { return }
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

  /// Makes the old copy of the remote, unless there is one. Sometimes others have continued it since.
  private func copyRemote(_ choices: inout SimulationChoices) throws {
    guard place.copy(), choices.next(below: 3) > 0 else { return }
    let open = facts.lives.filter { !$0.isClosed }
    guard !open.isEmpty else { return }
    let life = choices.pick(open)
    facts.noteCopyGoesOn(in: life)
    let (log, zone) = (place.makeLog(over: try place.oldCopy()), life.zone)
    for other in 0..<UInt128(choices.next(in: 1...8)) {
      let segment = try facts.makeNewerSegment(
        for: life, wall: world.wallMilliseconds, &choices, replica: 0xdead00 + other)
      _ = try executor.wait { try await log.append(segment, after: 0, in: zone) }
    }
  }
}
