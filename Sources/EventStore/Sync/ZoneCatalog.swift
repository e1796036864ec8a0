import OperationFormat

/// What was done to a zone that was deleted at the remote.
enum Withdrawal {
  case removed
  /// It has transactions that were never shipped.
  case kept
  /// It is not of that incarnation, or was never synced.
  case untouched
}

/// The zones of a store as its remote lists them, and the cut that each one is shipping.
struct ZoneCatalog {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  init(_ store: StoreTransaction) { self.store = store }

  /// Deletes a zone. Where the remote may have it too, its row stays until it is deleted there.
  func delete(_ zone: ZoneID, _ number: ZoneNumber, _ found: ZoneRow) throws {
    var row = found
    let isShared: Bool
    let proposed = try storage.tables.proposedIncarnation(of: number, storage.transaction)
    if let token = row.token {
      isShared =
        try row.status == .attached
        || storage.tables.hasSegments(in: number, token.incarnation, storage.transaction)
    } else if let proposed {
      // The remote may be creating it: then it is deleted there.
      row.token = ZoneRow.Token(incarnation: proposed, offset: 0, hash: .zero)
      storage.setZoneRow(row, number)
      isShared = true
    } else {
      isShared = false
    }
    if !isShared, row.token != nil {
      // The remote has another zone of that name, which this one has hidden.
      row.token = nil
      storage.setZoneRow(row, number)
      try storage.readZoneListAgain()
    }
    try storage.retireZone(zone, number, as: isShared ? .deleting : .removed)
  }

  // MARK: The list of zones

  func apply(
    _ events: [ZoneEvent], _ later: [ZoneEvent], _ start: UInt64, _ token: DatabaseToken,
    _ chosen: Set<ZoneID>?
  ) throws -> ZoneListReport {
    var report = ZoneListReport()
    var events = events + later
    if let stored = try storage.tables.databaseToken(storage.transaction) {
      guard stored.remote == token.remote else {
        throw StoreError(
          .remoteChanged, "the store was synced with remote \(stored.remote), and this is \(token.remote)",
          hint: "connect the remote it was synced with, or begin with an empty store")
      }
      guard start <= stored.offset, token.offset >= stored.offset else { return report }
      // The list is here up to the token; only what comes after it may be new.
      if token.offset == stored.offset { events = later }
      if events.isEmpty, token.offset == stored.offset { return report }
    }
    // A zone that the same page deletes is not created: a local zone of that name may be another one, made
    // since.
    for event in events where event.kind == .deleted {
      try storage.setGone(
        try storage.makeIncarnationNumber(for: event.incarnation))
    }
    for event in events {
      switch event.kind {
      case .created: try create(event.zone, event.incarnation, chosen, &report)
      case .deleted:
        switch try withdraw(event.zone, event.incarnation) {
        case .removed: report.removed.append(event.zone)
        case .kept: report.kept.append(event.zone)
        case .untouched: break
        }
      default: break
      }
    }
    try storage.setDatabaseToken(token)
    return report
  }

  private func create(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ chosen: Set<ZoneID>?, _ report: inout ZoneListReport
  ) throws {
    try zone.check()
    let tables = storage.tables
    let found = try storage.makeIncarnationNumber(for: incarnation)
    // The event of a deleted zone's creation may be read again, or come late.
    if let gone = try tables.goneLog(found, storage.transaction) {
      if gone.isUntold { try storage.makeDeletion(of: zone, found) }
      return
    }
    let number: ZoneNumber
    if let known = try storage.findZone(zone)?.number {
      number = known
    } else {
      number = try storage.makeZone(zone, chosen?.contains(zone) ?? true ? .attached : .offered)
      report.created.append(zone)
    }
    var row = try storage.zoneRow(number)
    guard try tie(number, &row, to: found) else { return }
    storage.setZoneRow(row, number)
    try storage.flush()
  }

  /// Ties a zone to an incarnation of its remote log, from the start of that log.
  ///
  /// A deleted log is not that of a zone that was made under its name since: it has other transactions under
  /// the same sequences. A late page, segment or answer of the deleted log must not mix the two.
  ///
  /// - Returns: whether it may be tied: that log was not deleted, and the log of its token has nothing of the
  ///   zone.
  func tie(_ zone: ZoneNumber, _ row: inout ZoneRow, to incarnation: IncarnationNumber) throws -> Bool {
    let isGone = try storage.tables.isGone(incarnation, storage.transaction)
    guard !isGone else { return false }
    if let token = row.token {
      guard token.offset == 0,
        try !storage.tables.hasSegments(in: zone, token.incarnation, storage.transaction)
      else { return false }
    }
    row.token = ZoneRow.Token(incarnation: incarnation, offset: 0, hash: .zero)
    try storage.removeProposal(of: zone)
    return true
  }

  func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) throws {
    guard let (number, known) = try storage.findZone(zone), known.status != .local else {
      throw StoreError.unknown(zone)
    }
    var row = known
    let found = try storage.makeIncarnationNumber(for: incarnation)
    if row.token?.incarnation != found, try !tie(number, &row, to: found) {
      throw StoreError.incarnationChanged(zone, incarnation)
    }
    row.status = .attached
    storage.setZoneRow(row, number)
    try storage.flush()
  }

  func withdraw(_ zone: ZoneID, _ incarnation: IncarnationID) throws -> Withdrawal {
    guard let (number, known) = try storage.findZone(zone), let token = known.token,
      let found = try storage.incarnationNumber(of: incarnation), token.incarnation == found
    else { return .untouched }
    try storage.setGone(found)
    if known.status == .local {
      var row = known
      row.token = nil
      storage.setZoneRow(row, number)
      try storage.flush()
      return .untouched
    }
    if known.status == .attached {
      guard try !hasUnshipped(number, found) else { return .kept }
    }
    try store.fold.flush()
    store.fold.reset()
    try storage.retireZone(zone, number, as: .removed)
    return .removed
  }

  /// Whether a zone has transactions that are not in an incarnation: those that are pending, and those of a
  /// lane that the log has closed.
  private func hasUnshipped(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    let tables = storage.tables
    return try tables.lanes(of: zone, storage.transaction).contains { lane in
      try tables.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation, storage.transaction) < lane.last
    }
  }

  func finishDeletion(of zone: ZoneID, _ incarnation: IncarnationID, isTold: Bool) throws {
    let tables = storage.tables
    let found = try storage.incarnationNumber(of: incarnation)
    for (number, known) in try tables.zoneRows(storage.transaction)
    where known.status == .deleting && known.token?.incarnation == found {
      guard try tables.zoneID(number, storage.transaction) == zone else { continue }
      var row = known
      row.status = .removed
      storage.setZoneRow(row, number)
      try storage.removeProposal(of: number)
      if !isTold, let found { try storage.setGone(found, isUntold: true) }
      try storage.readZoneListAgain()
    }
    try storage.flush()
  }

  func forgetTokens() throws {
    for (number, known) in try storage.tables.zoneRows(storage.transaction) {
      guard let token = known.token, token.offset > 0, !known.status.isGone else { continue }
      var row = known
      row.token = ZoneRow.Token(incarnation: token.incarnation, offset: 0, hash: .zero)
      storage.setZoneRow(row, number)
    }
    try storage.flush()
  }

  // MARK: Cuts

  func storeCut(_ header: SegmentHeader) throws -> SegmentHeader {
    let tables = storage.tables
    let (number, row) = try storage.zone(header.zone)
    guard let token = row.token,
      let incarnation = try storage.incarnationNumber(of: header.incarnation),
      token.incarnation == incarnation
    else { throw StoreError.incarnationChanged(header.zone, header.incarnation) }
    let replica = try storage.makeReplicaNumber(for: header.replica)
    let isOurs = try tables.ships(
      replica, header.epoch, of: number, row, identity, storage.interned, storage.transaction)
    let lane = try tables.pendingLane(replica, header.epoch, of: number, token, storage.transaction)
    guard isOurs else {
      throw StoreError(
        .outOfOrder,
        "a segment of replica \(header.replica), epoch \(header.epoch) is not this store's to ship any more",
        hint: "another process has shipped it, or the store has taken a new epoch: cut again")
    }
    if let stored = try tables.cut(of: number, storage.transaction), stored.isNext(after: lane, incarnation) {
      guard stored.sequences == header.sequences, stored.contentHash == header.contentHash else {
        return stored.header(header.zone, header.incarnation, header.replica)
      }
      // It remains the next one, also if a part of it was placed since.
      try storage.setCut(CutRow(header, incarnation, replica), of: number)
      return header
    }
    guard header.sequences.lowerBound == lane.placed + 1, header.sequences.upperBound <= lane.last else {
      throw StoreError(
        .outOfOrder,
        "sequences \(header.sequences.lowerBound) to \(header.sequences.upperBound) of zone “\(header.zone)” "
          + "were cut, but \(lane.placed) of \(lane.last) are acknowledged",
        hint: "another process has shipped meanwhile: cut again")
    }
    try storage.setCut(CutRow(header, incarnation, replica), of: number)
    return header
  }

  /// Removes a zone's cut once the remote has all that it cuts.
  func removeShippedCut(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    guard let cut = try storage.tables.cut(of: zone, storage.transaction), cut.incarnation == incarnation
    else { return }
    let placed = try storage.tables.lastPlaced(
      cut.replica, cut.epoch, in: zone, incarnation, storage.transaction)
    if cut.sequences.upperBound <= placed { try storage.removeCut(of: zone) }
  }
}

extension TableStorage {
  /// Makes the next round read the remote's list of zones again from its start: a later incarnation of a zone
  /// that is gone now may have been skipped in it.
  func readZoneListAgain() throws {
    guard let token = try tables.databaseToken(transaction), token.offset > 0 else { return }
    try setDatabaseToken(DatabaseToken(remote: token.remote, offset: 0, hash: .zero))
  }
}
