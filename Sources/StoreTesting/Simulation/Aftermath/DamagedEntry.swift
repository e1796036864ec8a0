import EventStore
import OperationFormat
import Replicator

/// The remote loses something, or has something that nobody can read. All devices still ship; a device that
/// has not read it says so; and once it is put back or given up, all end equal.
struct DamagedEntry: AftermathEvent {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run(_ choices: inout SimulationChoices) throws {
    guard let remote = DamagedRemote(place), let (device, zone) = pickWriter() else { return }
    begin(.remoteDamaged)
    // No store has what a lost peer shipped: that is given up. All else is put back from a store.
    let (drawn, isGivenUp) = (choices.pick(RemoteDamage.drawn), choices.next(below: 2) == 1)
    // A server remembers what it has read of its list.
    let remembersEvents = configuration.place == .server
    let event: RemoteDamage = remembersEvents ? .garbageEvent : isGivenUp ? .lostEvent : .damagedEvent
    let damage = drawn == .damagedEvent ? event : drawn
    note("the remote is damaged: \(damage)")
    let list = DamagedZoneList(world)
    switch damage {
    case .garbageEvent: try list.addGarbageEvent(remote, zone, device)
    case .damagedEvent: try list.damageEvent(remote, zone, device)
    case .lostEvent: try list.loseEvent(remote, zone, device)
    case .hole, .zeros, .bytes:
      if isGivenUp, choices.next(below: 2) == 1 {
        try giveUpWhatOneHas(damage, remote, zone, device, &choices)
        break
      }
      let (log, offset) = try makeEntries(isGivenUp, zone, device, &choices)
      let (place, next) = (EntryPlace(log: log, offset: offset), EntryPlace(log: log, offset: offset + 1))
      try executor.wait { try await remote.damage(place.name, damage) }
      // A hole of two entries. What nobody has is not given up after it.
      let isWide = damage == .hole && !isGivenUp && choices.next(below: 2) == 1
      if isWide {
        note("\(next) is missing too")
        try write("fourth", to: "value", of: "damaged", in: zone, on: device)
        try syncAlone(device)
        try executor.wait { try await remote.damage(next.name, damage) }
      }
      try checkShipsOn(zone, device, readsUpTo: place)
      if isWide {
        try EntryMender(world).mend(place, next, in: remote, from: device)
      } else {
        try EntryMender(world).mend(place, in: remote, from: isGivenUp ? nil : device)
      }
      guard choices.next(below: 2) == 1 else { break }
      // What amends it is damaged as well.
      let amendment = damage == .hole ? place.name : place.amendmentName
      note("\(amendment) is damaged")
      try executor.wait { try await remote.damage(amendment, .zeros) }
      try EntryMender(world).mend(place, in: remote, from: isGivenUp ? nil : device)
    }
    let new = world.newDevice(like: device)
    try SimulatedMachines(world).boot(new)
    try agreement.check(zone, after: "damage of the remote (\(damage))")
    for device in devices where device.store != nil {
      try syncAlone(device)
      let report = device.replicators[0].last?.report
      guard let report, report.failure == nil, report.listProblems.isEmpty else {
        throw SimulationFailure(.noSurprise, "d\(device.number) finds damage in a remote that was mended")
      }
    }
  }

  // MARK: The log of a zone

  /// Lets three segments come to a log.
  ///
  /// - Parameter isOfAPeer: whether the damaged entry is from a peer that has left, and that no device has
  ///   read.
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
      _ = try executor.wait { try await server.append(segment, after: token.offset, in: token.zone) }
    } else {
      try write("second", to: "value", of: "damaged", in: zone, on: device)
      try syncAlone(device)
    }
    try write("third", to: "value", of: "damaged", in: zone, on: device)
    // It does not read what the peer has shipped.
    try syncAlone(device, isOfAPeer ? .ship : .all)
    return (EntryPlace.Log(zone, token.incarnation), offset)
  }

  /// An entry of a lost peer is given up, and one store has read it: that store ships it as it was. A write
  /// of that store before, over the peer's value, counts as one that has not seen it.
  private func giveUpWhatOneHas(
    _ damage: RemoteDamage, _ remote: DamagedRemote, _ zone: ZoneID, _ device: SimulatedDevice,
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
    _ = try executor.wait { try await server.append(segment, after: token.offset, in: token.zone) }
    try syncAlone(device)
    let place = EntryPlace(log: EntryPlace.Log(zone, token.incarnation), offset: token.offset + 1)
    try executor.wait { try await remote.damage(place.name, damage) }
    try EntryMender(world).mend(place, in: remote, from: nil)
    try syncAlone(device, .fetch)
    try write("over it", to: "value", of: "lent", in: zone, on: device)
  }

  /// A device that has read the entry and one that has not both ship what they write. The latter says that it
  /// has not.
  private func checkShipsOn(
    _ zone: ZoneID, _ device: SimulatedDevice, readsUpTo place: EntryPlace
  ) throws {
    let new = world.newDevice(like: device)
    try SimulatedMachines(world).boot(new)
    try syncAlone(new)
    for (index, device) in [device, new].enumerated() {
      try write("meanwhile \(index)", to: "value", of: Name("damaged \(index)"), in: zone, on: device)
      for _ in 0..<2 { try syncAlone(device) }
      let state = try device.store?.syncState().zones.first { $0.zone == zone }
      guard let state, let token = state.token else { continue }
      let status = device.replicators[0].last?.report.zones.first { $0.zone == zone }?.status
      let name =
        "d\(device.number), beside damage at \(place), says "
        + (status.map(RoundText.text) ?? "nothing")
      guard state.pending == 0 else {
        throw SimulationFailure(.roundsMakeProgress, "\(name), and has \(state.pending) pending")
      }
      guard token.offset < place.offset || device === new else { continue }
      guard case .parked(place.offset, _) = status else {
        throw SimulationFailure(.nothingIsSilent, "\(name), and has read up to \(token.offset)")
      }
    }
  }
}
