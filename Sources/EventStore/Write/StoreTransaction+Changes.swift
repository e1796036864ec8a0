import OperationFormat

extension StoreTransaction {
  /// Who made the transactions that were appended.
  func origins(_ notes: ChangeNotes) throws -> Commit.Origins {
    if notes.outer.replicas.isEmpty { return [] }
    let own = try storage.replicas.number(of: identity.replica)
    var origins: Commit.Origins = []
    for replica in notes.outer.replicas { origins.insert(replica == own ? .local : .remote) }
    return origins
  }

  /// What the transaction has changed of zones, besides single records. It is not committed yet.
  func changes(_ notes: ChangeNotes) throws -> [ZoneID: Commit.Changes] {
    var zones: [ZoneID: Commit.Changes] = [:]
    func add(_ changes: Commit.Changes, to zone: ZoneNumber) throws {
      if let id = try storage.zones.id(of: zone) {
        zones[id, default: Commit.Changes(records: [:])].add(changes)
      }
    }
    if notes.outer.isOfAll {
      for (zone, _) in try storage.zones.allVisible() { try add(Commit.Changes(records: nil), to: zone) }
    }
    if notes.outer.hasPlacements {
      for (zone, _) in try storage.zones.allVisible() where try storage.zoneRowIfThere(zone)?.token != nil {
        try add(Commit.Changes(records: [:], isSynced: true), to: zone)
      }
    }
    for (zone, before) in notes.outer.zones {
      let now = try storage.zoneRowIfThere(zone)
      let isSynced = before?.token != now?.token
      if before?.state != now?.state || before?.status != now?.status {
        try add(Commit.Changes(records: nil, isSynced: isSynced), to: zone)
      } else if isSynced {
        try add(Commit.Changes(records: [:], isSynced: true), to: zone)
      }
    }
    return zones
  }
}
