import EventStore
import OperationFormat
import Replicator

/// Some devices detach a zone, or remove their copies of it; another device may delete it meanwhile; or the remote loses all
/// that it has, and the devices take it for a new one. Then they attach the zone again: it is as before, for all.
struct ZoneThatLeaves: AftermathEvent {
  private static let record: Name = "left"

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let (first, zone) = pickWriter() else { return }
    begin(.zoneDetached)
    let writes = CountedWrites(self, Self.record, zone)
    try writes.write(first)
    try agreement.check(zone, after: "a write")
    for _ in 0...choices.next(below: 2) {
      let devices = agreement.devices(with: zone)
      let isLost = choices.next(below: 3) == 0 && configuration.place != .server
      var detached: [SimulatedDevice] = []
      for device in devices where try isAttached(zone, device) {
        switch choices.next(below: 4) {
        case 0:
          try act(device) { try device.store?.writeBlockingThisThread { try $0.detachZone(zone) } }
          note("d\(device.number) detaches \(zone)")
          detached.append(device)
        case 1 where device !== first: try evict(zone, device)
        default: break
        }
        if device.configuration.role == .writer, choices.next(below: 2) == 0 {
          try writeIfThere(on: device, zone, writes.write)
        }
      }
      for device in devices where choices.next(below: 2) == 0 { try syncAlone(device) }
      if isLost {
        try loseAll()
      } else if place.kept != nil,
        let deleter = devices.first(where: {
          $0.configuration.role == .writer && !isIn(detached, $0)
        }),
        detached.contains(where: { $0.configuration.role == .writer })
      {
        try delete(zone, on: deleter)
        for device in devices where choices.next(below: 2) == 0 { try syncAlone(device) }
      }
      try attachAgain(zone, devices)
      try agreement.check(zone, after: "a zone that left the remote")
      try writes.check(after: "a zone that left the remote")
    }
  }

  private func isIn(_ devices: [SimulatedDevice], _ device: SimulatedDevice) -> Bool {
    devices.contains { $0 === device }
  }

  /// Removes a device's copy of a zone, unless the remote has not all of it.
  private func evict(_ zone: ZoneID, _ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    do {
      try act(device) { try store.writeBlockingThisThread { try $0.evictZone(zone) } }
      world.count(.zonesEvicted)
      note("d\(device.number) removes its copy of \(zone)")
    } catch let error as StoreError where error.code == .unsettled {
      return
    }
  }

  private func delete(_ zone: ZoneID, on device: SimulatedDevice) throws {
    // A deletion takes what the deleting device has not sent.
    for _ in 0..<2 { try syncAlone(device) }
    guard let store = device.store,
      try store.syncState().zones.contains(where: { state in
        state.zone == zone && state.attachment == .attached && state.pending == 0
      })
    else { return }
    try act(device) { try store.writeBlockingThisThread { try $0.deleteZone(zone) } }
    note("d\(device.number) deletes \(zone)")
    world.count(.zonesMadeAgain)
    try syncAlone(device)
  }

  /// The remote has nothing any more, and each device takes it for another one.
  ///
  /// A device that an earlier story has ended for good stays ended: another one may have its identity, or may
  /// have taken over what it had pending.
  private func loseAll() throws {
    guard let objects = place.kept else { return }
    let running = devices.filter { $0.store != nil }
    for device in running { device.end() }
    executor.run()
    _ = try executor.wait { try await objects.takeBack(to: 1) }
    note("the remote has lost all")
    world.count(.remotesLeft)
    for device in running {
      try SimulatedMachines(world).boot(device)
      guard let store = device.store else { continue }
      try act(device) { _ = try executor.wait { try await store.leaveRemote() } }
    }
  }
}
