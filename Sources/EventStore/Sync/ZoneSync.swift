import OperationFormat

/// How a store's zones and those of its remote come together: questions and changes of one zone each.
///
/// What changes only one commit is in ``ZoneCatalog``. This type first reads whether there is anything to
/// change: each commit starts another round of sync, so that a call which comes in each round must commit
/// nothing.
struct ZoneSync {
  let core: StoreCore

  init(_ core: StoreCore) { self.core = core }

  func proposeIncarnation(_ incarnation: IncarnationID, of zone: ZoneID) async throws -> IncarnationID {
    let known = try core.read { transaction in
      let (number, _) = try transaction.readView.zones.visible(zone)
      return try transaction.readView.zones.openProposal(of: number).map {
        try transaction.readView.incarnations.identity(of: $0)
      }
    }
    if let known { return known }
    return try await core.perform { store in
      let storage = store.storage
      let (number, row) = try storage.zones.visible(zone)
      guard row.status == .attached else { throw StoreError.unknown(zone) }
      if let found = try storage.zones.openProposal(of: number) {
        return try storage.incarnations.identity(of: found)
      }
      let made = try storage.incarnations.makeNumber(for: incarnation)
      try storage.zones.setProposal(made, of: number)
      return incarnation
    }
  }

  func isGone(_ incarnation: IncarnationID) throws -> Bool {
    try core.read { transaction in
      let readView = transaction.readView
      let number = try readView.incarnations.number(of: incarnation)
      return try number.map { try readView.zones.isGone($0) } ?? false
    }
  }

  func withdraw(
    _ zone: ZoneID, _ incarnation: IncarnationID, isRevoked: Bool, _ answer: ZoneEndAnswer
  ) async throws -> Bool {
    // Asked at each round until the app decides.
    let isKept = try core.read { transaction in
      try answer == .remove && transaction.hasZone(zone) && transaction.attachment(of: zone) == .attached
        && transaction.changeToken(of: zone)?.incarnation == incarnation
        && transaction.pendingCount(in: zone) > 0
    }
    if isKept { return false }
    return try await core.perform { store in
      switch try ZoneCatalog(store).withdraw(zone, incarnation, isRevoked: isRevoked, answer) {
      case .kept, .untouched: return false
      case .detached: return true
      case .removed:
        // What is known of a deleted log stays known. A revoked zone would come back with the list's events.
        if !isRevoked { try store.storage.meta.readZoneListAgain() }
        return true
      }
    }
  }

  func noteReopened(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {
    try await core.perform { store in
      guard let found = try store.storage.incarnations.number(of: incarnation) else { return }
      try ZoneCatalog(store).noteReopened(zone, found)
    }
  }

  func noteLogIsThere(_ zone: ZoneID) async throws {
    let isNews = try core.read { transaction in
      let isMarked = try transaction.readView.zones.find(zone)?.row.restoresLog ?? false
      // A round of the remote that the store has left may still go on.
      return try isMarked && transaction.readView.meta.databaseToken() != nil
    }
    if isNews { try await core.perform { try ZoneCatalog($0).noteLogIsThere(zone) } }
  }

  func forgetPlaceInZoneList() async throws {
    try await core.perform { store in
      let rows = try store.storage.zones.rows()
      guard !rows.contains(where: { $0.row.status == .attached && $0.row.token != nil }) else { return }
      try store.storage.meta.readZoneListAgain()
    }
  }

  // MARK: Reading a log again

  /// How far a zone's log is being read again; nil if it is not.
  func rereading(_ zone: ZoneID) throws -> Rereading? {
    try core.read { transaction in
      let (number, _) = try transaction.readView.zones.visible(zone)
      return try transaction.readView.lanes.rereading(of: number)
    }
  }

  func hasSegmentsAhead(in zone: ZoneID) throws -> Bool {
    try core.read { transaction in
      let (number, row) = try transaction.readView.zones.visible(zone)
      guard let token = row.token else { return false }
      return try transaction.readView.segments.hasAny(
        in: number, token.incarnation, from: token.offset + 1)
    }
  }
}
