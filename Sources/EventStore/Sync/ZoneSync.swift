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
      let tables = transaction.tables
      let (number, _) = try tables.zone(zone, transaction.interned, transaction.transaction)
      return try tables.openProposal(of: number, transaction.transaction).map {
        try transaction.interned.incarnations.identity(
          of: $0, in: tables.incarnations, transaction.transaction)
      }
    }
    if let known { return known }
    return try await core.perform { store in
      let storage = store.storage
      let (number, row) = try storage.zone(zone)
      guard row.status == .attached else { throw StoreError.unknown(zone) }
      if let found = try storage.tables.openProposal(of: number, storage.transaction) {
        return try storage.incarnationID(found)
      }
      let made = try storage.makeIncarnationNumber(for: incarnation)
      try storage.setProposal(made, of: number)
      return incarnation
    }
  }

  func isGone(_ incarnation: IncarnationID) throws -> Bool {
    try core.read { transaction in
      let (tables, readView) = (transaction.tables, transaction.readView)
      let number = try readView.interned.incarnations.number(
        of: incarnation, in: tables.incarnations, readView.transaction)
      return try number.map { try tables.isGone($0, readView.transaction) } ?? false
    }
  }

  func withdraw(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool {
    // Asked at each round until the app decides.
    let isKept = try core.read { transaction in
      try transaction.hasZone(zone) && transaction.attachment(of: zone) == .attached
        && transaction.changeToken(of: zone)?.incarnation == incarnation
        && transaction.pendingCount(in: zone) > 0
    }
    if isKept { return false }
    return try await core.perform { store in
      guard try ZoneCatalog(store).withdraw(zone, incarnation) == .removed else { return false }
      try store.storage.readZoneListAgain()
      return true
    }
  }

  func forgetPlaceInZoneList() async throws {
    try await core.perform { store in
      let rows = try store.storage.tables.zoneRows(store.storage.transaction)
      guard !rows.contains(where: { $0.row.status == .attached && $0.row.token != nil }) else { return }
      try store.storage.readZoneListAgain()
    }
  }

  // MARK: Reading a log again

  func isRereading(_ zone: ZoneID) throws -> Bool {
    try core.read { transaction in
      let (number, _) = try transaction.tables.zone(zone, transaction.interned, transaction.transaction)
      return try transaction.tables.rereading(of: number, transaction.transaction) != nil
    }
  }

  func hasSegmentsAhead(in zone: ZoneID) throws -> Bool {
    try core.read { transaction in
      let tables = transaction.tables
      let (number, row) = try tables.zone(zone, transaction.interned, transaction.transaction)
      guard let token = row.token else { return false }
      let start = TableKey.segment(number, token.incarnation, token.offset + 1)
      return try tables.hasSegment(from: start, transaction.transaction)
    }
  }
}
