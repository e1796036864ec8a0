import EventStore
import OperationFormat
import Replicator

/// All that is true in a world, seen from above, and the checks of each store against it.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulationFacts: @unchecked Sendable {
  /// The lives of zones at the remote, in the order in which they began.
  private(set) var lives: [ZoneFacts] = []
  private(set) var databaseToken: DatabaseToken?
  /// Zones that a device deleted before it knew of a log of theirs: the remote may have made one already.
  var deletedInTheMaking: Set<ZoneID> = []
  /// Where a copy of the remote is another than the remote; nil where it is none.
  private var fork: (life: ZoneFacts, offset: Int)?

  func life(_ incarnation: IncarnationID) -> ZoneFacts? { lives.first { $0.incarnation == incarnation } }

  /// Where the logs end.
  var ends: [IncarnationID: Int] {
    Dictionary(uniqueKeysWithValues: lives.map { ($0.incarnation!, $0.segments.count) })
  }

  /// Whether an older version cannot read what lies at an offset.
  func isNewer(_ offset: UInt64, in incarnation: IncarnationID) -> Bool {
    guard let life = life(incarnation), offset > 0, offset <= life.segments.count else { return false }
    return life.segments[Int(offset) - 1].isNewer
  }

  /// Others go on with a copy of the remote from here: what they append to a zone's log is true nowhere.
  func noteCopyGoesOn(in life: ZoneFacts) { fork = (life, life.segments.count + 1) }

  /// Whether a store can tell the copy of the remote from the remote: it has read on where others went on with the copy.
  /// Another store would be right to take the copy for the remote.
  func canTellCopy(_ view: DeviceView) -> Bool {
    guard let fork else { return true }
    return view.zones.contains { $0.facts === fork.life && $0.token >= fork.offset }
  }

  // MARK: The remote

  /// Reads what was put into the remote since.
  ///
  /// - Returns: whether there was anything.
  func observe(_ remote: any RemoteLog) async throws -> Bool {
    var hasChanged = false
    let page = try await remote.zoneEvents(after: databaseToken)
    databaseToken = page.token
    for event in page.events {
      hasChanged = true
      switch event.kind {
      case .created: lives.append(ZoneFacts(event.zone, event.incarnation))
      default:
        guard let life = life(event.incarnation),
          life.isDeletionAsked || deletedInTheMaking.contains(life.zone)
        else {
          throw SimulationFailure(.nothingVanishes, "zone \(event.zone) was deleted at the remote by nobody")
        }
        life.isDeletionAsked = true
        life.isClosed = true
      }
    }
    for life in lives {
      let last = UInt64(life.segments.count)
      let token = ChangeToken(
        zone: life.zone, incarnation: life.incarnation!, offset: last, hash: life.segments.last?.hash ?? .zero
      )
      guard case .segments(let segments, _) = try await remote.segments(after: token, bytesMax: .max) else {
        continue
      }
      for segment in segments {
        let unpacked = try SegmentPacker.unpack(segment.bytes)
        try life.append(
          unpacked.header, unpacked.transactions,
          receivedMilliseconds: segment.receivedMilliseconds)
        hasChanged = true
      }
    }
    return hasChanged
  }

  // MARK: The stores

  /// Compares a store with what is true, as far as it changed since the last time.
  func observe(
    _ device: SimulatedDevice, _ store: LocalStore, wall: Int64, _ workloads: [any SimulationWorkload]
  ) throws {
    try store.read { transaction in
      let state = try transaction.syncState()
      var view = device.view
      defer { device.view = view }
      try observe(state, &view, device)
      let isFoldingAgain = try transaction.isFoldingAgain()
      for zone in view.zones {
        if isFoldingAgain {
          zone.show(upTo: try transaction.base(of: zone.facts.zone))
        } else {
          zone.showAll()
        }
      }
      let last = try transaction.lastPosition()
      if last < view.last {
        throw SimulationFailure(.acknowledgedIsInLog, "d\(device.number)'s log went back to \(last)")
      }
      while view.last < last {
        view.last = view.last.next
        try observe(view.last, transaction, &view, wall: wall)
      }
      try compare(state, transaction, view, workloads)
    }
  }

  /// Which zones there are, and where their tokens stand.
  private func observe(_ state: StoreSyncState, _ view: inout DeviceView, _ device: SimulatedDevice) throws {
    if let identity = view.identity, identity != state.identity {
      throw SimulationFailure(.nothingVanishes, "d\(device.number) has another identity")
    }
    view.identity = state.identity
    // Once a zone is out of the way, one that was a device's own alone too, the list is read again: another one of its
    // name may have been passed over.
    let offset = state.databaseToken?.offset ?? 0
    let isGone =
      !device.deletedZones.isEmpty || !deletedInTheMaking.isEmpty || lives.contains(where: \.isDeletionAsked)
    // A store that syncs no zone which the remote has reads a list from its start that went back.
    let isFree = !state.zones.contains { $0.attachment == .attached && $0.token != nil }
    if let token = view.databaseToken, offset < token.offset, offset > 0 || !(isGone || isFree) {
      throw SimulationFailure(.tokenIsNotAhead, "d\(device.number)'s database token went back")
    }
    view.databaseToken = state.databaseToken
    let shown = state.zones.filter { $0.attachment == .attached || $0.attachment == .local }
      .map { zone in
        var zone = zone
        // The remote has another zone of its name: nothing of this one is there.
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
        zone = DeviceZone(try facts(of: found))
        view.zones.append(zone)
        view.zones.sort { $0.facts.zone < $1.facts.zone }
      }
      // What was never shipped goes with the name: to the zone that the remote has under it now.
      if let token = found.token, token.incarnation != zone.facts.incarnation {
        try zone.attach(to: facts(of: token))
      }
      try check(found.token, of: zone, device)
    }
  }

  private func facts(of zone: ZoneSyncState) throws -> ZoneFacts {
    try zone.token.map(facts(of:)) ?? ZoneFacts(zone.zone, nil)
  }

  private func facts(of token: ChangeToken) throws -> ZoneFacts {
    if let life = life(token.incarnation), life.zone == token.zone { return life }
    throw SimulationFailure(
      .tokenIsNotAhead, "a token names incarnation \(token.incarnation), which zone \(token.zone) never had")
  }

  /// A zone may go only if an app deleted it, and with it nothing that was never shipped, unless that app's own.
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

  /// Takes in a transaction of the log.
  private func observe(
    _ position: Position, _ transaction: borrowing ReadTransaction, _ view: inout DeviceView, wall: Int64
  ) throws {
    let entry: LogEntry
    do {
      entry = try transaction.entry(at: position)
    } catch let error as StoreError {
      // Its zone was removed since.
      guard error.code == .positionUnknown else { throw error }
      return
    }
    let made = entry.transaction
    guard let zone = view.zone(made.zone), let identity = view.identity else {
      throw SimulationFailure(.noSurprise, "position \(position) is in a zone that is not there")
    }
    let bytes = try transaction.bytes(at: position)
    view.loggedBytes += bytes.count
    if made.replica == identity.replica, made.epoch == identity.epoch {
      try checkOwn(made, zone, &view, wall: wall)
      let number = try zone.facts.add(made, bytes: bytes)
      zone.unacknowledged.append(number)
      view.logged.append(made.operations.count)
      return zone.fold(number)
    }
    guard let number = zone.facts.model.number(of: made.id) else {
      throw SimulationFailure(.sequencesAreGapless, "\(made.id) of \(made.zone) was made by nobody")
    }
    if zone.has(number) {
      throw SimulationFailure(.countedOnce, "\(made.id) of \(made.zone) is in the log twice")
    }
    guard zone.facts.bytes[number] == bytes else {
      throw SimulationFailure(.unknownIsKept, "\(made.id) of \(made.zone) has other bytes than its maker's")
    }
    let place = zone.facts.model.place(of: number)
    guard let place, place <= UInt64(zone.offset) else {
      throw SimulationFailure(
        .tokenIsNotAhead,
        "\(made.id) of \(made.zone) lies at \(place ?? 0) and was folded with a token of \(zone.offset)")
    }
    view.clock.observe(made.timestamp, wallMilliseconds: wall)
    zone.fold(number, at: Int(place))
  }

  private func checkOwn(
    _ made: LogTransaction, _ zone: DeviceZone, _ view: inout DeviceView, wall: Int64
  ) throws {
    guard made.sequence == zone.ownSequence + 1 else {
      throw SimulationFailure(
        .sequencesAreGapless, "sequence \(made.sequence) of \(made.zone) was made after \(zone.ownSequence)")
    }
    zone.ownSequence = made.sequence
    let base = Int(made.base?.offset ?? 0)
    guard base == zone.shown, made.base.map({ $0.incarnation == zone.facts.incarnation }) ?? true else {
      throw SimulationFailure(
        .successorWins, "\(made.id) of \(made.zone) has base \(base), and \(zone.shown) was folded")
    }
    // The zones of one write share its reading of the clock.
    defer { view.lastWriteID = made.writeID }
    if made.writeID != nil, made.writeID == view.lastWriteID {
      guard made.timestamp.rawValue != view.clock.last else { return }
      throw SimulationFailure(
        .transactionsAreAtomic, "\(made.id) of \(made.zone) has another timestamp than the rest of its write")
    }
    do {
      try view.clock.check(made.timestamp, wallMilliseconds: wall)
    } catch {
      throw SimulationFailure(
        .clockIsBounded, "a write has the timestamp \(error.found); expected \(error.expected)")
    }
  }

  // MARK: What follows

  private func compare(
    _ state: StoreSyncState, _ transaction: borrowing ReadTransaction, _ view: DeviceView,
    _ workloads: [any SimulationWorkload]
  ) throws {
    var hasChanged = false
    for zone in view.zones {
      try compareAcknowledged(zone, transaction)
      let pending =
        state.zones.first { $0.zone == zone.facts.zone && $0.attachment != .deleting }?.pending ?? 0
      guard pending == zone.unacknowledged.count else {
        throw SimulationFailure(
          .acknowledgedIsEverywhere,
          "\(pending) transactions of \(zone.facts.zone) are pending, and \(zone.unacknowledged.count) are not "
            + "known to be at the remote")
      }
      if let missing = zone.takeMissing() {
        throw SimulationFailure(
          .tokenIsNotAhead,
          "\(zone.facts.model.transactions[missing].id) of \(zone.facts.zone) lies before the token and was not folded"
        )
      }
      let records = zone.takeTouched()
      guard !records.isEmpty else { continue }
      hasChanged = true
      try compare(zone, records, transaction)
    }
    guard hasChanged else { return }
    for workload in workloads where workload.zones.allSatisfy({ view.zone($0) != nil }) {
      try workload.check(transaction)
    }
  }

  /// What the store says lies at the remote does lie there.
  private func compareAcknowledged(_ zone: DeviceZone, _ transaction: borrowing ReadTransaction) throws {
    guard zone.facts.incarnation != nil else { return }
    var left: [Int] = []
    for number in zone.unacknowledged {
      let id = zone.facts.model.transactions[number].id
      guard let placement = try transaction.placement(of: id, in: zone.facts.zone) else {
        left.append(number)
        continue
      }
      let offset = Int(placement.offset)
      guard offset > 0, offset <= zone.facts.segments.count,
        zone.facts.segments[offset - 1].numbers.contains(number)
      else {
        throw SimulationFailure(
          .acknowledgedIsEverywhere,
          "\(id) of \(zone.facts.zone) counts as shipped to offset \(offset), where it is not")
      }
      zone.learn(zone.facts.segments[offset - 1])
    }
    zone.unacknowledged = left
  }

  private func compare(
    _ zone: DeviceZone, _ records: [Name], _ transaction: borrowing ReadTransaction
  ) throws {
    do {
      try zone.facts.model.compare(transaction, zone.view, records: records)
    } catch {
      throw SimulationFailure(.stateIsOracles, "zone \(zone.facts.zone): \(error)")
    }
    let digest = try transaction.digest(of: zone.facts.zone)
    let hash = zone.stateHash
    if let other = zone.facts.digests[hash], other != digest {
      throw SimulationFailure(
        .equalSetsAreEqual,
        "zone \(zone.facts.zone): two stores with the same transactions have other digests")
    }
    zone.facts.digests[hash] = digest
  }
}
