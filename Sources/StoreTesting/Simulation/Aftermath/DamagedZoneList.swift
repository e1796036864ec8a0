import EventStore
import Replicator

/// Damage of the list of zones: garbage behind its last event, an event that nobody can read, or one that is
/// lost.
struct DamagedZoneList: AftermathPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Known zones still sync, and a new zone's event comes behind the garbage.
  func addGarbageEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let place = EntryPlace(offset: UInt64(try executor.wait { try await remote.events().count }) + 1)
    try executor.wait { try await remote.damage(place.name, .garbageEvent) }
    let made = ZoneID(name: "made beside damage")
    let makesZone = device.selects(made)
    if makesZone, device.store != nil { try makeZone(made, with: "damaged", on: device) }
    try write("known", to: "value", of: "damaged", in: zone, on: device)
    for device in devices where device.store != nil {
      try syncAlone(device)
      try checkTellsOfList(device, place)
    }
    try checkShippedBesideList(device, place)
    try EntryMender(world).mend(place, in: remote, from: nil)
    if makesZone { try agreement.check(made, after: "garbage in the list of zones") }
  }

  /// A new device does not find the zone, and says that it has not read all.
  func damageEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let incarnation = try token(of: zone, device)?.incarnation
    let events = try executor.wait { try await remote.events() }
    let index = events.firstIndex { $0.kind == .created && $0.incarnation == incarnation }
    guard let index else { return }
    let place = EntryPlace(offset: UInt64(index) + 1)
    try executor.wait { try await remote.damage(place.name, .damagedEvent) }
    let new = world.newDevice(like: device)
    try SimulatedMachines(world).boot(new)
    try syncAlone(new)
    try checkTellsOfList(new, place)
    try write("known", to: "value", of: "damaged", in: zone, on: device)
    try syncAlone(device)
    try checkShippedBesideList(device, place)
    try EntryMender(world).mend(place, in: remote, from: device)
  }

  /// A device that had read the event says that it is gone, and so does an audit of the remote. It is put
  /// back from a store of its zone.
  func loseEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let made = ZoneID(name: "made and lost")
    guard device.selects(made), device.store != nil else {
      return try damageEvent(remote, zone, device)
    }
    try makeZone(made, with: "damaged", on: device)
    try syncAlone(device)
    let place = EntryPlace(offset: try executor.wait { try await remote.listEnd() })
    try executor.wait { try await remote.damage(place.name, .lostEvent) }
    try syncAlone(device)
    guard let failure = device.replicators[0].last?.report.failure,
      failure.code == RemoteError.Code.wentBack.rawValue
    else {
      throw SimulationFailure(.nothingIsSilent, "d\(device.number) does not tell that \(place) is gone")
    }
    guard try executor.wait({ try await remote.audit().problems.contains { $0.unnamedLog != nil } }) else {
      throw SimulationFailure(.nothingIsSilent, "the audit does not tell of a log that no event names")
    }
    try EntryMender(world).mend(place, in: remote, from: device)
    try agreement.check(made, after: "the loss of the last event of the list of zones")
  }

  private func checkTellsOfList(_ device: SimulatedDevice, _ place: EntryPlace) throws {
    guard let report = device.replicators[0].last?.report else { return }
    guard report.failure == nil, report.listProblems.map(\.offset) == [place.offset], !report.isInSync else {
      throw SimulationFailure(
        .nothingIsSilent,
        "d\(device.number) does not tell of \(place), which nobody can read: \(RoundText.text(report))")
    }
  }

  /// All zones still ship. One that was deleted at the remote keeps what was never shipped, and the round
  /// says so.
  private func checkShippedBesideList(_ device: SimulatedDevice, _ place: EntryPlace) throws {
    for state in try device.store?.syncState().zones ?? [] where state.pending > 0 {
      let zone = state.zone
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      if status == .paused(.deleted), device.view.zone(zone)?.facts.isClosed == true { continue }
      throw SimulationFailure(
        .roundsMakeProgress,
        "d\(device.number) has \(state.pending) pending in \(zone) beside \(place), which nobody can read, "
          + "and says "
          + (status.map(RoundText.text) ?? "nothing"))
    }
  }
}
