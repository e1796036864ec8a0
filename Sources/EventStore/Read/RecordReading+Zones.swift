public import OperationFormat

/// Zones, and what holds for all records of a zone or of a type.
extension RecordReading where Self: ~Copyable {
  /// The zones of the store, in order.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public func zones() throws -> [ZoneID] {
    let view = try reader.view
    view.footprint?.noteZones()
    return try view.zones.allVisible().map(\.id).sorted()
  }

  /// The zones of an attachment, in order: those that the remote only offers too.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public func zones(_ attachment: ZoneAttachment) throws -> [ZoneID] {
    let view = try reader.view
    view.footprint?.noteZones()
    return try view.zones.rows().compactMap { number, row in
      row.status.rawValue == attachment.rawValue ? try view.zones.id(of: number) : nil
    }.sorted()
  }

  /// Whether ``zones()`` has a zone.
  ///
  /// - Complexity: a few look-ups, however many zones there are.
  package func hasZone(_ zone: ZoneID) throws -> Bool {
    let view = try reader.view
    view.footprint?.note(zone)
    return try view.zones.find(zone)?.row.status.isVisible ?? false
  }

  /// Whether a zone is synced.
  ///
  /// - Returns: `local` or `attached`. Zones with another attachment are in no query.
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func attachment(of zone: ZoneID) throws -> ZoneAttachment {
    let view = try reader.view
    view.footprint?.note(zone)
    return try view.zones.visible(zone).row.status == .attached ? .attached : .local
  }

  /// Whether a zone was ever synced: a local one of which that is true was detached.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  package func wasSynced(_ zone: ZoneID) throws -> Bool {
    try reader.view.zones.visible(zone).row.hasReadLog
  }

  /// The digest of a zone's state. It is equal in all stores that folded the same transactions with the same
  /// placements.
  ///
  /// SHA-256 over the canonical bytes of the records in the order of their names, with all heads: see
  /// `StateDigest`.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records.
  public func digest(of zone: ZoneID) throws -> ContentHash {
    try StateDigest.digest(of: zone, reader.view)
  }

  /// How a type's records decide between concurrent deletions and updates.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  public func existencePolicy(of type: Name) throws -> ExistencePolicy {
    let view = try reader.view
    view.footprint?.noteAll()
    guard let number = try view.number(of: type) else { return .latest }
    return try view.meta.policies()[number] ?? .latest
  }

  /// The records of a zone that were changed after compaction had dropped them, and not created since, in the order of
  /// their names: who changed them had not seen the deletion. They are not there for anything else. To create one makes
  /// it new, without what was changed.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's records; none if it was never compacted.
  public func recordsNotCreated(in zone: ZoneID) throws -> [RecordID] {
    let view = try reader.view
    view.footprint?.note(zone)
    guard try view.states.storedRow(of: view.zones.visible(zone).row.state).floor != nil else { return [] }
    var found: [RecordID] = []
    try view.forEachRow(in: zone) { name, row, state in
      let isChanged =
        try row.isUncreated
        && ExistencePolicy.typeOfAlive(in: view.existences(in: row, state)) != nil
      if isChanged { found.append(RecordID(zone: zone, name: name)) }
      return true
    }
    return found
  }

  /// The names of all records that a zone has heads of, also of those that do not exist any more, in their
  /// order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func allRecordNames(in zone: ZoneID) throws -> [Name] {
    var names: [Name] = []
    try reader.view.forEachRow(in: zone) { name, _, _ in
      names.append(name)
      return true
    }
    return names
  }
}
