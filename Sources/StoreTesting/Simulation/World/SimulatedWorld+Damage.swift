import EventStore
import OperationFormat
import Replicator

/// A remote that loses something, or has something that nobody can read. Everybody ships on, nobody says that all is well
/// who has not read what is there, and once it was put back or given up all are equal.
extension SimulatedWorld {
  private enum Damage {
    /// An entry is missing, and there is more behind it.
    case hole
    /// Zeros have the place of an entry.
    case zeros
    /// Five bytes of an entry are wrong.
    case bytes
    /// Zeros follow the last event of the list of zones.
    case garbageEvent
    /// Five bytes of the event that says that there is the zone are wrong.
    case damagedEvent
    /// The last event of the list of zones is gone.
    case lostEvent

    /// Those that are drawn. What is drawn besides for a damaged event says whether it is a lost one.
    static let drawn: [Damage] = [.hole, .zeros, .bytes, .garbageEvent, .damagedEvent]
  }

  func damageTheRemote(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (device, zone) = pickWriter() else { return }
    mark(.remoteDamaged)
    isCopied = true
    // What a peer shipped that is gone since, no store has: it is given up. Else it is put back from a store.
    let (drawn, isGivenUp) = (choices.pick(Damage.drawn), choices.next(below: 2) == 1)
    // A server remembers what it has read of its list.
    let remembersEvents = configuration.place == .server
    let event: Damage = remembersEvents ? .garbageEvent : isGivenUp ? .lostEvent : .damagedEvent
    let damage = drawn == .damagedEvent ? event : drawn
    note("the remote is damaged: \(damage)")
    switch damage {
    case .garbageEvent: try addGarbageEvent(remote, zone, device)
    case .damagedEvent: try damageEvent(remote, zone, device)
    case .lostEvent: try loseEvent(remote, zone, device)
    case .hole, .zeros, .bytes:
      if isGivenUp, choices.next(below: 2) == 1 {
        try giveUpWhatOneHas(damage, remote, zone, device, &choices)
        break
      }
      let (log, offset) = try makeEntries(isGivenUp, zone, device, &choices)
      let place = EntryPlace(log: log, offset: offset)
      try executor.wait { try await remote.damage(place.name, Self.damage(damage)) }
      try checkShipsOn(zone, device, readsUpTo: place)
      try mend(place, remote, from: isGivenUp ? nil : device)
      guard choices.next(below: 2) == 1 else { break }
      // What amends it is damaged as well.
      let amendment = damage == .hole ? place.name : place.amendmentName
      note("\(amendment) is damaged")
      try executor.wait { try await remote.damage(amendment, Self.damage(.zeros)) }
      try mend(place, remote, from: isGivenUp ? nil : device)
    }
    let new = newDevice(like: device)
    try boot(new)
    try checkAgreement(in: zone, "damage of the remote (\(damage))")
    for device in devices where device.store != nil {
      try syncAlone(device)
      let report = device.replicators[0].last?.report
      guard let report, report.failure == nil, report.listProblems.isEmpty else {
        throw SimulationFailure(.noSurprise, "d\(device.number) finds damage in a remote that was mended")
      }
    }
  }

  private static func damage(_ damage: Damage) -> @Sendable ([UInt8]) -> [UInt8]? {
    { bytes in
      switch damage {
      case .hole, .lostEvent: return nil
      case .zeros, .garbageEvent: return [UInt8](repeating: 0, count: 300)
      case .bytes, .damagedEvent:
        var bytes = bytes
        for index in 0..<5 { bytes[bytes.count - 40 + index] ^= 0x5A }
        return bytes
      }
    }
  }

  // MARK: The log of a zone

  /// Lets three segments come to a log.
  ///
  /// - Parameter isOfAPeer: whether the one that is to be damaged is of a peer that is gone, and nobody has read it.
  /// - Returns: the one that is to be damaged: there is something behind it, or nothing.
  private func makeEntries(
    _ isOfAPeer: Bool, _ zone: ZoneID, _ device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws -> (EntryPlace.Log, UInt64) {
    try write("first", to: "value", of: "damaged", in: zone, on: device)
    try syncAlone(device)
    guard let token = try token(of: zone, device) else {
      throw SimulationFailure(.noSurprise, "\(zone) of d\(device.number) has no token")
    }
    let offset = token.offset + 1
    if isOfAPeer {
      let peer = ReplicaID(rawValue: UInt128(choices.next(below: 1 << 20)) << 64 | 0xDEAD)
      var maker = SegmentMaker(zone, token.incarnation, replica: peer)
      let (server, segment) = (place.server, try maker.next())
      _ = try executor.wait { try await server.append(segment, after: token.offset) }
    } else {
      try write("second", to: "value", of: "damaged", in: zone, on: device)
      try syncAlone(device)
    }
    try write("third", to: "value", of: "damaged", in: zone, on: device)
    // It does not read what the peer has shipped.
    try syncAlone(device, isOfAPeer ? .ship : .all)
    return (EntryPlace.Log(zone, token.incarnation), offset)
  }

  /// An entry of a peer that is gone is given up, and one store has read it: it ships it as it was. What it writes before, over what
  /// that brought, has not seen it.
  private func giveUpWhatOneHas(
    _ damage: Damage, _ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice,
    _ choices: inout SimulationChoices
  ) throws {
    try write("first", to: "value", of: "damaged", in: zone, on: device)
    try syncAlone(device)
    guard let token = try token(of: zone, device) else {
      throw SimulationFailure(.noSurprise, "\(zone) of d\(device.number) has no token")
    }
    let peer = ReplicaID(rawValue: UInt128(choices.next(below: 1 << 20)) << 64 | 0xDEAD)
    var maker = SegmentMaker(zone, token.incarnation, replica: peer)
    let (server, segment) = (
      place.server,
      try maker.next([
        .create(record: "lent", type: "aftermath"),
        .set(record: "lent", type: "aftermath", field: "value", value: .string("peer's")),
      ])
    )
    _ = try executor.wait { try await server.append(segment, after: token.offset) }
    try syncAlone(device)
    let place = EntryPlace(log: EntryPlace.Log(zone, token.incarnation), offset: token.offset + 1)
    try executor.wait { try await remote.damage(place.name, Self.damage(damage)) }
    try mend(place, remote, from: nil)
    try syncAlone(device, .fetch)
    try write("over it", to: "value", of: "lent", in: zone, on: device)
  }

  func token(of zone: ZoneID, _ device: SimulatedDevice) throws -> ChangeToken? {
    try device.store?.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }?.token
  }

  /// Who has read the entry, and who has not, ships what it writes. Who has not says so.
  private func checkShipsOn(
    _ zone: ZoneID, _ device: SimulatedDevice, readsUpTo place: EntryPlace
  ) throws {
    let new = newDevice(like: device)
    try boot(new)
    try syncAlone(new)
    for (index, device) in [device, new].enumerated() {
      try write("meanwhile \(index)", to: "value", of: Name("damaged \(index)"), in: zone, on: device)
      for _ in 0..<2 { try syncAlone(device) }
      let state = try device.store?.syncState().zones.first { $0.zone == zone }
      guard let state, let token = state.token else { continue }
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      let name =
        "d\(device.number), beside damage at \(place), says "
        + (status.map(Self.describe) ?? "nothing")
      guard state.pending == 0 else {
        throw SimulationFailure(.roundsMakeProgress, "\(name), and has \(state.pending) pending")
      }
      guard token.offset < place.offset || device === new else { continue }
      guard case .parked(place.offset, _) = status else {
        throw SimulationFailure(.nothingIsSilent, "\(name), and has read up to \(token.offset)")
      }
    }
  }

  /// Puts an entry back from a store, or gives it up.
  private func mend(_ place: EntryPlace, _ remote: DamagedRemote, from device: SimulatedDevice?) throws {
    guard let device else {
      let state = try executor.wait { [now] in
        try await remote.log.quarantine(place, last: .max, note: "lost", milliseconds: UInt64(now))
      }
      guard case .givenUp = state else {
        throw SimulationFailure(.noSurprise, "\(place) was to be given up, and is \(state)")
      }
      return
    }
    guard let store = device.store else { return }
    let steps = try executor.wait {
      var repair = RemoteRepair(remote, from: store, zone: place.log?.zone)
      let audit = try await remote.audit()
      try await repair.repairEvents(audit.unreadableEvents)
      try await repair.addLostEvents()
      try await repair.repairLogs(try await remote.audit())
      return repair.steps
    }
    guard steps.contains(where: { $0.place == place && $0.outcome == .putBack }) else {
      throw SimulationFailure(.noSurprise, "\(place) was not put back from d\(device.number): \(steps)")
    }
  }

  // MARK: The list of zones

  /// The events of the list that count.
  func events(_ remote: DamagedRemote) throws -> [ZoneEvent] {
    try executor.wait {
      var events: [ZoneEvent] = []
      try await remote.log.forEachZoneEventPage { page in
        events += page.events
        return true
      }
      return events
    }
  }

  /// Zones that are known go on, and one that is made comes behind it.
  private func addGarbageEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let place = EntryPlace(offset: UInt64(try events(remote).count) + 1)
    try executor.wait { try await remote.damage(place.name, Self.damage(.garbageEvent)) }
    let made = ZoneID(name: "made beside damage")
    let makesZone = device.selects(made)
    if makesZone, let store = device.store {
      try act(device) { try store.writeBlockingThisThread { _ = try $0.createZone(made) } }
      try write("made", to: "value", of: "damaged", in: made, on: device)
      try act(device) { try store.writeBlockingThisThread { try $0.attachZone(made) } }
    }
    try write("known", to: "value", of: "damaged", in: zone, on: device)
    for device in devices where device.store != nil {
      try syncAlone(device)
      try checkTellsOfList(device, place)
    }
    try checkShippedBesideList(device, place)
    try mend(place, remote, from: nil)
    if makesZone { try checkAgreement(in: made, "garbage in the list of zones") }
  }

  /// A new device does not find the zone, and says that it has not read all.
  private func damageEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let incarnation = try token(of: zone, device)?.incarnation
    let index = try events(remote).firstIndex { $0.kind == .created && $0.incarnation == incarnation }
    guard let index else { return }
    let place = EntryPlace(offset: UInt64(index) + 1)
    try executor.wait { try await remote.damage(place.name, Self.damage(.damagedEvent)) }
    let new = newDevice(like: device)
    try boot(new)
    try syncAlone(new)
    try checkTellsOfList(new, place)
    try write("known", to: "value", of: "damaged", in: zone, on: device)
    try syncAlone(device)
    try checkShippedBesideList(device, place)
    try mend(place, remote, from: device)
  }

  /// Who had read the event says so, whoever audits the remote is told, and it comes back from a store of its zone.
  private func loseEvent(_ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice) throws {
    let made = ZoneID(name: "made and lost")
    guard device.selects(made), let store = device.store else {
      return try damageEvent(remote, zone, device)
    }
    try act(device) { try store.writeBlockingThisThread { _ = try $0.createZone(made) } }
    try write("made", to: "value", of: "damaged", in: made, on: device)
    try act(device) { try store.writeBlockingThisThread { try $0.attachZone(made) } }
    try syncAlone(device)
    let place = EntryPlace(offset: try executor.wait { try await remote.listEnd() })
    try executor.wait { try await remote.damage(place.name, Self.damage(.lostEvent)) }
    try syncAlone(device)
    guard let failure = device.replicators[0].last?.report.failure, failure.code == "wentBack" else {
      throw SimulationFailure(.nothingIsSilent, "d\(device.number) does not tell that \(place) is gone")
    }
    guard try executor.wait({ try await remote.audit().problems.contains { $0.unnamedLog != nil } }) else {
      throw SimulationFailure(.nothingIsSilent, "the audit does not tell of a log that no event names")
    }
    try mend(place, remote, from: device)
    try checkAgreement(in: made, "the loss of the last event of the list of zones")
  }

  private func checkTellsOfList(_ device: SimulatedDevice, _ place: EntryPlace) throws {
    guard let report = device.replicators[0].last?.report else { return }
    guard report.failure == nil, report.listProblems.map(\.offset) == [place.offset], !report.isInSync else {
      throw SimulationFailure(
        .nothingIsSilent,
        "d\(device.number) does not tell of \(place), which nobody can read: \(Self.describe(report))")
    }
  }

  /// Each zone ships beside it. One that was deleted at the remote keeps what was never shipped, and the round says so.
  private func checkShippedBesideList(_ device: SimulatedDevice, _ place: EntryPlace) throws {
    for state in try device.store?.syncState().zones ?? [] where state.pending > 0 {
      let zone = state.zone
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      if status == .paused(.deleted), device.view.zone(zone)?.facts.isClosed == true { continue }
      throw SimulationFailure(
        .roundsMakeProgress,
        "d\(device.number) has \(state.pending) pending in \(zone) beside \(place), which nobody can read, and says "
          + (status.map(Self.describe) ?? "nothing"))
    }
  }
}

/// The remote of a world, as whoever runs it sees it.
struct DamagedRemote: ForwardingRemote, LogOfObjects {
  private let place: SimulatedPlace
  private let objects: KeptObjects

  /// - Returns: nil for a remote of the app's own.
  init?(_ place: SimulatedPlace) {
    guard let objects = place.kept else { return nil }
    (self.place, self.objects) = (place, objects)
  }

  /// Each looks for itself, and remembers nothing.
  var log: ObjectRemote { place.makeLog(over: objects) }
  var remote: any RemoteLog { log }

  func damage(_ name: ObjectName, _ change: ([UInt8]) -> [UInt8]?) async throws(RemoteError) {
    let bytes = try await objects.get(name, bytesMax: .max)
    try await objects.replace(name, with: change(bytes ?? []))
  }

  /// The offset of the last event of the list of zones.
  func listEnd() async throws -> UInt64 {
    var end: UInt64 = 0
    try await log.forEachZoneEventPage { page in
      end = page.token.offset
      return true
    }
    return end
  }

  func audit() async throws -> RemoteAudit {
    try await RemoteAudit(of: self, objects: try await objects.list())
  }
}
