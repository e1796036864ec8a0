package import OperationFormat

extension LocalStore {
  /// Takes over a part of the remote's list of zones: what its events say and the token, in one commit.
  ///
  /// Events up to the stored token are known: then nothing changes, since two processes may read one list. Nor does
  /// anything where the stored token lies before them: the list is to be read again from there.
  ///
  /// - Parameters:
  ///   - events: the events after a token, in order.
  ///   - start: that token's offset; 0 for the list's start.
  ///   - later: events behind one that cannot be read, which the token does not pass. They may be applied again.
  ///   - token: where they end.
  ///   - chosen: the zones to sync if they are new; nil for all. Others are remembered as offered.
  /// - Throws: ``StoreError`` `remoteChanged`, `nameInvalid`.
  package func applyZoneEvents(
    _ events: [ZoneEvent], after start: UInt64 = 0, later: [ZoneEvent] = [], token: DatabaseToken,
    chosen: Set<ZoneID>?
  ) async throws -> ZoneListReport {
    return try await perform(isRepeatable: true) { try $0.apply(events, later, start, token, chosen) }
  }

  /// Ties a zone that is synced, or offered, to an incarnation of its remote log: the remote has it under that one.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`; `incarnationChanged` if something of the zone lies in another, or the
  ///   incarnation is that of a zone that was deleted here.
  package func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {
    try await perform(isRepeatable: true) { try $0.adopt(zone, incarnation) }
  }

  /// Whether an incarnation is that of a zone that was deleted, here or at the remote.
  package func isGone(_ incarnation: IncarnationID) throws -> Bool {
    try read { transaction in
      let (tables, readView) = (transaction.tables, transaction.readView)
      let number = try readView.interned.incarnations.number(
        of: incarnation, in: tables.incarnations, readView.transaction)
      return try number.map { try tables.isGone($0, readView.transaction) } ?? false
    }
  }

  /// Does for one zone what the event of its deletion does, where a round of replication meets it first.
  ///
  /// - Returns: whether the zone is gone; if not, it has what was never shipped, or is not of that incarnation.
  package func withdraw(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool {
    // Asked at each round until the app decides: a commit each time would bring the next round.
    let isKept = try read { transaction in
      try transaction.hasZone(zone) && transaction.attachment(of: zone) == .attached
        && transaction.changeToken(of: zone)?.incarnation == incarnation
        && transaction.pendingCount(in: zone) > 0
    }
    if isKept { return false }
    return try await perform(isRepeatable: true) { batch in
      guard try batch.withdraw(zone, incarnation) == .removed else { return false }
      try batch.storage.readZoneListAgain()
      return true
    }
  }

  /// Ends the deletion of a zone.
  ///
  /// - Parameter isTold: whether the remote knows of it. If not, since it does not have the log, the deletion begins again
  ///   once the list of zones names that log: a remote that was an old copy may be put right.
  package func finishDeletion(
    of zone: ZoneID, _ incarnation: IncarnationID, isTold: Bool = true
  ) async throws {
    try await perform(isRepeatable: true) { try $0.finishDeletion(of: zone, incarnation, isTold: isTold) }
  }

  /// Lets the list of zones be read from its start once more, where the store syncs no zone that the remote has: then it does
  /// not matter that the list went back.
  package func forgetPlaceInZoneList() async throws {
    try await perform(isRepeatable: true) { batch in
      let rows = try batch.storage.tables.zoneRows(batch.storage.transaction)
      guard !rows.contains(where: { $0.row.status == .attached && $0.row.token != nil }) else { return }
      try batch.storage.readZoneListAgain()
    }
  }

  /// Sets every zone's token back to the start of its incarnation, so that all of it is fetched and compared again.
  /// What was folded stays, and so do its places.
  package func forgetTokens() async throws {
    try await perform(isRepeatable: true) { try $0.forgetTokens() }
  }
}

/// What became of a zone that was deleted at the remote.
enum Withdrawal {
  case removed
  /// It has what was never shipped.
  case kept
  /// It is not of that incarnation, or was never synced.
  case untouched
}

extension WriteBatch {
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
      // The list is here up to the token; what may be new lies behind.
      if token.offset == stored.offset { events = later }
      if events.isEmpty, token.offset == stored.offset { return report }
    }
    // What the same page deletes begins nothing here: a zone of that name may be another one, made here since.
    for event in events where event.kind == .deleted {
      try storage.setGone(
        try storage.interned.incarnations.makeNumber(
          for: event.incarnation, in: storage.tables.incarnations, storage.transaction))
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
    try WriteTransaction.check(zone)
    let tables = storage.tables
    let found = try storage.interned.incarnations.makeNumber(
      for: incarnation, in: tables.incarnations, storage.transaction)
    // The event of a deleted zone's beginning may be read once more, or come late.
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
  /// A log that was deleted is none for a zone that was made under its name since: in it lie other transactions under
  /// the same sequences. What comes late from there (a page, a segment, an answer) must not bring the two together.
  ///
  /// - Returns: whether it may be tied: that log was not deleted, and nothing of the zone lies in that of its token.
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
    let found = try storage.interned.incarnations.makeNumber(
      for: incarnation, in: storage.tables.incarnations, storage.transaction)
    if row.token?.incarnation != found, try !tie(number, &row, to: found) {
      throw StoreError.incarnationChanged(zone, incarnation)
    }
    row.status = .attached
    storage.setZoneRow(row, number)
    try storage.flush()
  }

  func withdraw(_ zone: ZoneID, _ incarnation: IncarnationID) throws -> Withdrawal {
    let tables = storage.tables
    guard let (number, known) = try storage.findZone(zone), let token = known.token,
      let found = try storage.interned.incarnations.number(
        of: incarnation, in: tables.incarnations, storage.transaction), token.incarnation == found
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
    try fold.flush()
    fold.reset()
    try storage.retireZone(zone, number, as: .removed)
    return .removed
  }

  /// Whether a zone has transactions that are not in an incarnation: those that are pending, and those of a lane that the
  /// log has closed.
  private func hasUnshipped(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    let tables = storage.tables
    return try tables.lanes(of: zone, storage.transaction).contains { lane in
      try tables.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation, storage.transaction) < lane.last
    }
  }

  func finishDeletion(of zone: ZoneID, _ incarnation: IncarnationID, isTold: Bool) throws {
    let tables = storage.tables
    let found = try storage.interned.incarnations.number(
      of: incarnation, in: tables.incarnations, storage.transaction)
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
}

extension TableStorage {
  /// Lets the remote's list of zones be read from its start once more: a later life of a zone that is out of the way
  /// now may have been passed over in it.
  func readZoneListAgain() throws {
    guard let token = try tables.databaseToken(transaction), token.offset > 0 else { return }
    try setDatabaseToken(DatabaseToken(remote: token.remote, offset: 0, hash: .zero))
  }
}

extension StoreError {
  static func incarnationChanged(_ zone: ZoneID, _ incarnation: IncarnationID) -> StoreError {
    StoreError(
      .incarnationChanged, "the remote log of zone “\(zone)” is another incarnation, \(incarnation)",
      hint: "the remote was re-created or replaced: the zone must be offered to it again")
  }
}
