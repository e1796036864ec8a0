import LMDB
import OperationFormat

extension ZoneTable where Source == TableStorage {
  /// The number of a zone. Makes a local zone with an empty state if there is none; an offered zone becomes
  /// local.
  func make(_ zone: ZoneID) throws -> (number: ZoneNumber, isNew: Bool) {
    if let (number, found) = try find(zone) {
      var row = found
      guard row.status == .offered else { return (number, false) }
      row.status = .local
      source.setZoneRow(row, number)
      try source.flush()
      return (number, true)
    }
    return (try make(zone, .local), true)
  }

  /// Makes a zone with an empty state. There must be none of that name.
  func make(_ zone: ZoneID, _ status: ZoneRow.Status) throws -> ZoneNumber {
    let number = try zoneNumbers.makeNewNumber(for: zone)
    source.setZoneRow(ZoneRow(state: try states.make(for: number, .live), status: status), number)
    try source.flush()
    return number
  }

  /// Notes permanently that a zone's log was deleted.
  ///
  /// - Parameter isUntold: whether the remote did not have the log, and so does not know of the deletion.
  func setGone(_ incarnation: IncarnationNumber, isUntold: Bool = false) throws {
    try source.putChecked(.goneIncarnation(incarnation), in: tables.incarnations) { writer in
      if isUntold { writer.append(GoneLog.untold) }
    }
  }

  /// Forgets that a log was deleted: this account only could not see it.
  func forgetGone(_ incarnation: IncarnationNumber) throws {
    _ = try transaction.delete(TableKey.goneIncarnation(incarnation).span, in: tables.incarnations)
  }

  /// Makes the row of a deleted zone, so that the replicator tells the remote. The row has no name and no
  /// state.
  func makeDeletion(of zone: ZoneID, _ incarnation: IncarnationNumber) throws {
    let number = try zoneNumbers.makeUnnamedNumber(for: zone)
    var row = ZoneRow(state: .none, status: .deleting)
    row.token = ZoneRow.Token(incarnation: incarnation, offset: 0, hash: .zero)
    source.setZoneRow(row, number)
    try setGone(incarnation)
    try source.flush()
  }

  /// Removes a zone from every query: it gives up its name, and its states are removed later, in steps.
  func retire(_ zone: ZoneID, _ number: ZoneNumber, as status: ZoneRow.Status) throws {
    var row = try source.zoneRow(number)
    if let token = row.token { try setGone(token.incarnation) }
    for state in try [row.state, row.building] + states.loading(for: number) where state != .none {
      var stateRow = try source.stateRow(state)
      stateRow.status = .discarded
      source.setStateRow(stateRow, state)
    }
    row.status = status
    row.state = .none
    row.building = .none
    source.setZoneRow(row, number)
    try zoneNumbers.removeNumber(of: zone)
    try removeCut(of: number)
    try source.flush()
  }

  /// Whether a zone has transactions that are not in an incarnation: those that are pending, and those of a
  /// lane that the log has closed.
  func hasUnshipped(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    return try lanes.countedLanes(of: zone).contains { lane in
      try placements.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation) < lane.last
    }
  }

  /// Whether the remote has all of a zone, and its log is open, as far as the store knows.
  func isWholeAtRemote(_ zone: ZoneNumber, _ row: ZoneRow) throws -> Bool {
    guard row.status == .attached, !row.restoresLog, let token = row.token else { return false }
    return try !isGone(token.incarnation) && !hasUnshipped(zone, token.incarnation)
      && !source.assets.hasAny(in: zone, .unsent)
  }

  /// Removes the copy of a zone that the remote has, and leaves the zone as one that the remote offers.
  func evict(_ zone: ZoneID, _ number: ZoneNumber, _ known: ZoneRow) throws {
    var row = known
    // The log of a token is noted as deleted with its zone.
    row.token = nil
    source.setZoneRow(row, number)
    try retire(zone, number, as: .removed)
    let offered = try make(zone, .offered)
    var made = try source.zoneRow(offered)
    made.token = known.token.map { ZoneRow.Token(incarnation: $0.incarnation, offset: 0, hash: .zero) }
    // The log has this lane, and what is written before it is read again is another one.
    made.renewals = known.renewals &+ 1
    source.setZoneRow(made, offered)
    try source.flush()
  }

  /// Stores the cut that a zone is to ship.
  func setCut(_ row: CutRow, of zone: ZoneNumber) throws {
    try source.putChecked(.cut(zone), in: tables.zones) { row.append(to: &$0) }
  }

  func removeCut(of zone: ZoneNumber) throws {
    let key = TableKey.cut(zone)
    _ = try transaction.delete(key.span, in: tables.zones)
  }

  /// Stores the incarnation that the remote is asked to make a zone under.
  func setProposal(_ incarnation: IncarnationNumber, of zone: ZoneNumber) throws {
    try source.putChecked(.proposedIncarnation(zone), in: tables.incarnations) { writer in
      writer.append(varint: UInt64(incarnation.rawValue))
    }
  }

  /// Removes a zone's proposed incarnation: the zone has a log, or the remote knows that it was deleted.
  func removeProposal(of zone: ZoneNumber) throws {
    _ = try transaction.delete(TableKey.proposedIncarnation(zone).span, in: tables.incarnations)
  }

  /// Deletes a zone. If the remote may have it, its row stays until the replicator has told the remote.
  func delete(_ zone: ZoneID, _ number: ZoneNumber, _ found: ZoneRow) throws {
    var row = found
    let isShared: Bool
    let proposed = try proposedIncarnation(of: number)
    if row.token != nil {
      isShared = row.status == .attached
    } else if let proposed {
      // The remote may be making the zone; then it is deleted there.
      row.token = ZoneRow.Token(incarnation: proposed, offset: 0, hash: .zero)
      source.setZoneRow(row, number)
      isShared = true
    } else {
      isShared = false
    }
    if !isShared, row.token != nil {
      // The remote has another zone of that name, which this one hid.
      row.token = nil
      source.setZoneRow(row, number)
      try meta.readZoneListAgain()
    }
    try retire(zone, number, as: isShared ? .deleting : .removed)
  }
}
