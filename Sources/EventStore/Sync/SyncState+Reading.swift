import LMDB
package import OperationFormat

extension ReadTransaction {
  package func syncState() throws -> StoreSyncState {
    try view.log.checkTail()
    var zones: [ZoneSyncState] = []
    var hasRemovedZones = false
    for (number, row) in try view.zones.rows() {
      guard let attachment = ZoneAttachment(rawValue: row.status.rawValue) else {
        hasRemovedZones = true
        continue
      }
      let zone = try view.zoneNumbers.identity(of: number)
      var state = ZoneSyncState(
        zone: zone, attachment: attachment, token: try changeToken(row.token, zone, number),
        pending: try view.lanes.pendingCount(in: number, row, identity),
        assetPolicy: try view.assets.policy(of: number))
      state.hasUnsentAssets = try view.assets.hasAny(in: number, .unsent)
      state.isRereading = try view.lanes.rereading(of: number) != nil
      state.restoresLog = row.restoresLog
      let floor = try view.states.storedRowIfThere(of: row.state)?.floor
      state.snapshotNeededBehind = try view.lanes.snapshotNeededBehind(in: number)
      (state.snapshotDueBytes, state.snapshotBytes) = (row.snapshotDueBytes(floor), row.snapshot.byteCount)
      zones.append(state)
    }
    // Of one name there may be a zone that is being deleted and one that was made since.
    zones.sort { ($0.zone, $0.attachment.rawValue) < ($1.zone, $1.attachment.rawValue) }
    var state = StoreSyncState(
      identity: identity, databaseToken: try view.meta.databaseToken(), zones: zones)
    state.hasRemovedZones = hasRemovedZones
    return state
  }

  /// Up to where a zone's remote log was folded; nil before the remote has it, as far as the store knows.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func changeToken(of zone: ZoneID) throws -> ChangeToken? {
    let (number, row) = try view.zones.visible(zone)
    return try changeToken(row.token, zone, number)
  }

  /// The token at an offset that a zone was folded past, and the hash of the entry after it; nil if the store does not know
  /// them.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func changeToken(
    of zone: ZoneID, before offset: UInt64
  ) throws -> (token: ChangeToken, next: ContentHash)? {
    guard let found = try lastToken(of: zone, before: offset), found.token.offset + 1 == offset else {
      return nil
    }
    return (found.token, found.entry)
  }

  /// The last token before an entry that a zone was folded past, and the entry's hash; nil if the store does not know the
  /// entry. In between are entries at or below a floor that the store does not know any more: see `SnapshotEntries`.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func lastToken(
    of zone: ZoneID, before offset: UInt64
  ) throws -> (token: ChangeToken, entry: ContentHash)? {
    let (number, row) = try view.zones.visible(zone)
    guard offset > 0, let incarnation = row.token?.incarnation,
      let entry = try view.segments.row(at: offset, in: number, incarnation)
    else { return nil }
    let last = try view.segments.lastOffset(of: number, incarnation, upTo: offset - 1)
    let hash = try view.segments.row(at: last, in: number, incarnation)?.hash
    let token = ZoneRow.Token(incarnation: incarnation, offset: last, hash: hash ?? .zero)
    return try changeToken(token, zone, number).map { ($0, entry.hash) }
  }

  /// What the next transaction of a zone has seen of its remote log: less than ``changeToken(of:)`` says
  /// while the records are behind it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func base(of zone: ZoneID) throws -> Base? {
    guard let base = try view.zones.visible(zone).row.base else { return nil }
    return Base(
      incarnation: try view.incarnations.identity(of: base.incarnation),
      offset: base.offset)
  }

  func changeToken(
    _ token: ZoneRow.Token?, _ zone: ZoneID, _ number: ZoneNumber
  ) throws -> ChangeToken? {
    guard let token else { return nil }
    return ChangeToken(
      zone: zone,
      incarnation: try view.incarnations.identity(of: token.incarnation),
      offset: token.offset, hash: token.hash,
      chain: try view.segments.tokenChain(at: token.offset, in: number, token.incarnation))
  }
}

extension ReadTransaction {
  /// The events of the remote's list of zones after an offset, up to the store's token; nil if it does not know all of
  /// them, or has not read so far.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  package func zoneEvents(after offset: UInt64) throws -> [ZoneEvent]? {
    guard let token = try view.meta.databaseToken(), offset <= token.offset else { return nil }
    return try view.zoneEvents.events(after: offset, through: token.offset)
  }
}
