import OperationFormat

extension StoreTransaction {
  /// Who made the transactions that were appended.
  func origins(_ noted: ChangeNotes.Level) throws -> Commit.Origins {
    if noted.replicas.isEmpty { return [] }
    let own = try storage.replicas.number(of: identity.replica)
    var origins: Commit.Origins = []
    for replica in noted.replicas { origins.insert(replica == own ? .local : .remote) }
    return origins
  }

  /// What the transaction has changed, by the names of zones, records and fields. It is not committed yet.
  func changes(_ noted: ChangeNotes.Level) throws -> [ZoneID: Commit.Changes] {
    var zones: [ZoneID: Commit.Changes] = [:]
    func add(_ changes: Commit.Changes, to zone: ZoneNumber) throws {
      if let id = try storage.zones.id(of: zone) {
        zones[id, default: Commit.Changes(records: [:])].add(changes)
      }
    }
    if noted.isOfAll {
      for (zone, _) in try storage.zones.allVisible() { try add(Commit.Changes(records: nil), to: zone) }
    }
    if noted.hasPlacements {
      for (zone, _) in try storage.zones.allVisible() where try storage.zoneRowIfThere(zone)?.token != nil {
        try add(Commit.Changes(records: [:], isSynced: true), to: zone)
      }
    }
    for (zone, before) in noted.zones {
      let now = try storage.zoneRowIfThere(zone)
      let isSynced = before?.token != now?.token
      if before?.state != now?.state || before?.status != now?.status {
        try add(Commit.Changes(records: nil, isSynced: isSynced), to: zone)
      } else if isSynced {
        try add(Commit.Changes(records: [:], isSynced: true), to: zone)
      }
    }
    var shown: [StateNumber: ZoneNumber?] = [:]
    /// The zone that shows a state; nil if none does, as while it is made.
    func zone(showing state: StateNumber) throws -> ZoneNumber? {
      if let known = shown[state] { return known }
      let zone = try storage.states.storedRowIfThere(of: state)?.zone
      let isShown = try zone.flatMap { try storage.zoneRowIfThere($0) }?.state == state
      shown[state] = .some(isShown ? zone : nil)
      return isShown ? zone : nil
    }
    for state in noted.states {
      if let zone = try zone(showing: state) { try add(Commit.Changes(records: nil), to: zone) }
    }
    var records: [ZoneNumber: [Name: Commit.Fields]] = [:]
    for (key, fields) in noted.records {
      guard let zone = try zone(showing: key.state) else { continue }
      records[zone, default: [:]][key.name] =
        switch fields {
        case .all: .all
        case .some(let numbers): .some(try Set(numbers.map { try name($0) }))
        }
    }
    for (zone, records) in records { try add(Commit.Changes(records: records), to: zone) }
    return zones
  }
}
