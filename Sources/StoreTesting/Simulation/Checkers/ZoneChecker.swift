import EventStore
import OperationFormat

/// Checks which zones a store has, and where their tokens stand: invariants 6 and 13.
struct ZoneChecker {
  private let facts: SimulationFacts

  init(_ facts: SimulationFacts) { self.facts = facts }

  /// Checks what a store says of its zones, and updates what it is known to have.
  func check(_ state: StoreSyncState, _ view: inout DeviceView, _ device: SimulatedDevice) throws {
    if let identity = view.identity, identity != state.identity {
      throw SimulationFailure(.nothingVanishes, "d\(device.number) has another identity")
    }
    view.identity = state.identity
    // Once a zone is removed, a local one too, the list is read again: a zone of the same name may have been
    // skipped.
    let offset = state.databaseToken?.offset ?? 0
    let isGone =
      !device.deletedZones.isEmpty || !facts.deletedInTheMaking.isEmpty
      || facts.lives.contains(where: \.isDeletionAsked)
    // A store that syncs no zone which the remote has reads a list from its start that went back.
    let isFree = !state.zones.contains { $0.attachment == .attached && $0.token != nil }
    if let token = view.databaseToken, offset < token.offset, offset > 0 || !(isGone || isFree) {
      throw SimulationFailure(.tokenIsNotAhead, "d\(device.number)'s database token went back")
    }
    view.databaseToken = state.databaseToken
    let shown = state.zones.filter { $0.attachment == .attached || $0.attachment == .local }
      .map { zone in
        var zone = zone
        // The remote has another zone of this name, and nothing of this zone.
        if zone.attachment == .local { zone.token = nil }
        return zone
      }
    for zone in view.zones {
      let found = shown.first { $0.zone == zone.facts.zone }
      let isSame = found.map { zone.isFree || $0.token?.incarnation == zone.facts.incarnation }
      if isSame != true {
        try checkMayGo(zone, device)
        view.zones.removeAll { $0 === zone }
      }
    }
    for found in shown {
      let zone: DeviceZone
      if let known = view.zone(found.zone) {
        zone = known
      } else {
        zone = DeviceZone(try life(of: found))
        view.zones.append(zone)
        view.zones.sort { $0.facts.zone < $1.facts.zone }
      }
      // Transactions that were never shipped move to the zone that the remote now has under the name.
      if let token = found.token, token.incarnation != zone.facts.incarnation {
        try zone.attach(to: life(of: token))
      }
      try check(found.token, of: zone, device)
    }
  }

  private func life(of zone: ZoneSyncState) throws -> ZoneFacts {
    try zone.token.map(life(of:)) ?? ZoneFacts(zone.zone, nil)
  }

  private func life(of token: ChangeToken) throws -> ZoneFacts {
    if let life = facts.life(token.incarnation), life.zone == token.zone { return life }
    throw SimulationFailure(
      .tokenIsNotAhead, "a token names incarnation \(token.incarnation), which zone \(token.zone) never had")
  }

  /// A zone may be removed only if an app deleted it. Transactions that were never shipped may be lost only
  /// if that app is the device's own.
  private func checkMayGo(_ zone: DeviceZone, _ device: SimulatedDevice) throws {
    if device.deletedZones.remove(zone.facts.zone) != nil { return }
    guard zone.facts.isDeletionAsked else {
      throw SimulationFailure(.nothingVanishes, "zone \(zone.facts.zone) of d\(device.number) is gone")
    }
    if let number = zone.unacknowledged.first(where: { zone.facts.model.place(of: $0) == nil }) {
      throw SimulationFailure(
        .acknowledgedIsEverywhere,
        "zone \(zone.facts.zone) of d\(device.number) is gone, and transaction \(number) was never shipped")
    }
  }

  private func check(_ token: ChangeToken?, of zone: DeviceZone, _ device: SimulatedDevice) throws {
    let offset = Int(token?.offset ?? 0)
    let name = "the token of \(zone.facts.zone) of d\(device.number)"
    guard offset >= zone.token else {
      throw SimulationFailure(.tokenIsNotAhead, "\(name) went back from \(zone.token) to \(offset)")
    }
    guard offset <= zone.facts.segments.count else {
      throw SimulationFailure(
        .tokenIsNotAhead, "\(name) is at \(offset) of a log of \(zone.facts.segments.count)")
    }
    if let token, offset > 0, token.hash != zone.facts.segments[offset - 1].hash {
      throw SimulationFailure(.tokenIsNotAhead, "\(name) has another hash than the segment at \(offset)")
    }
    zone.move(to: offset)
  }
}
