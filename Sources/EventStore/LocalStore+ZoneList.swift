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
    return try await perform { try ZoneCatalog($0).apply(events, later, start, token, chosen) }
  }

  /// Ties a zone that is synced, or offered, to an incarnation of its remote log: the remote has it under that one.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`; `incarnationChanged` if something of the zone lies in another, or the
  ///   incarnation is that of a zone that was deleted here.
  package func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {
    try await perform { try ZoneCatalog($0).adopt(zone, incarnation) }
  }

  /// Whether an incarnation is that of a zone that was deleted, here or at the remote.
  package func isGone(_ incarnation: IncarnationID) throws -> Bool {
    try read { transaction in
      let readView = transaction.readView
      let number = try readView.incarnations.number(of: incarnation)
      return try number.map { try readView.zones.isGone($0) } ?? false
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
    return try await perform { store in
      guard try ZoneCatalog(store).withdraw(zone, incarnation) == .removed else { return false }
      try store.storage.meta.readZoneListAgain()
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
    try await perform { try ZoneCatalog($0).finishDeletion(of: zone, incarnation, isTold: isTold) }
  }

  /// Lets the list of zones be read from its start once more, where the store syncs no zone that the remote has: then it does
  /// not matter that the list went back.
  package func forgetPlaceInZoneList() async throws {
    try await perform { store in
      let rows = try store.storage.zones.rows()
      guard !rows.contains(where: { $0.row.status == .attached && $0.row.token != nil }) else { return }
      try store.storage.meta.readZoneListAgain()
    }
  }

  /// Sets every zone's token back to the start of its incarnation, so that all of it is fetched and compared again.
  /// What was folded stays, and so do its places.
  package func forgetTokens() async throws {
    try await perform { try ZoneCatalog($0).forgetTokens() }
  }
}
