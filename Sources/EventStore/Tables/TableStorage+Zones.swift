package import OperationFormat

/// Zones, as a write sees them: with what it has changed itself.
extension TableStorage {
  /// The number and row that a zone has now; nil if it has none, or was deleted.
  package func findZone(_ zone: ZoneID) throws -> (number: ZoneNumber, row: ZoneRow)? {
    try tables.findZone(zone, interned, transaction) { try zoneRowIfThere($0) }
  }

  /// A zone that shows in queries.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func zone(_ zone: ZoneID) throws -> (number: ZoneNumber, row: ZoneRow) {
    guard let found = try findZone(zone), found.row.status.isVisible else { throw StoreError.unknown(zone) }
    return found
  }

  /// The number of a zone; a new local zone with an empty state if there is none yet. One that was offered becomes
  /// local.
  package func makeZone(_ zone: ZoneID) throws -> (number: ZoneNumber, isNew: Bool) {
    if let (number, found) = try findZone(zone) {
      var row = found
      guard row.status == .offered else { return (number, false) }
      row.status = .local
      setZoneRow(row, number)
      try flush()
      return (number, true)
    }
    return (try makeZone(zone, .local), true)
  }

  /// Makes a zone that is not there, with an empty state.
  func makeZone(_ zone: ZoneID, _ status: ZoneRow.Status) throws -> ZoneNumber {
    let number = try interned.zones.makeNewNumber(for: zone, in: tables.zones, transaction)
    setZoneRow(ZoneRow(state: try makeState(for: number, .live), status: status), number)
    try flush()
    return number
  }

  /// Notes for good that a zone's log was deleted.
  ///
  /// - Parameter isUntold: whether the remote could not be told, since it did not have the log.
  func setGone(_ incarnation: IncarnationNumber, isUntold: Bool = false) throws {
    try putChecked(.goneIncarnation(incarnation), in: tables.incarnations) { writer in
      if isUntold { writer.append(GoneLog.untold) }
    }
  }

  /// Makes the row of a zone that was deleted, and of which the remote is to be told: it has no name, and no state.
  func makeDeletion(of zone: ZoneID, _ incarnation: IncarnationNumber) throws {
    let number = try interned.zones.makeUnnamedNumber(for: zone, in: tables.zones, transaction)
    var row = ZoneRow(state: .none, status: .deleting)
    row.token = ZoneRow.Token(incarnation: incarnation, offset: 0, hash: .zero)
    setZoneRow(row, number)
    try setGone(incarnation)
    try flush()
  }

  /// Takes a zone out of every query: it gives up its name, and its states are to be taken away in steps.
  func retireZone(_ zone: ZoneID, _ number: ZoneNumber, as status: ZoneRow.Status) throws {
    var row = try zoneRow(number)
    if let token = row.token { try setGone(token.incarnation) }
    for state in [row.state, row.building] where state != .none {
      var stateRow = try stateRow(state)
      stateRow.status = .discarded
      setStateRow(stateRow, state)
    }
    row.status = status
    row.state = .none
    row.building = .none
    setZoneRow(row, number)
    try interned.zones.removeNumber(of: zone, in: tables.zones, transaction)
    try removeCut(of: number)
    try flush()
  }
}
