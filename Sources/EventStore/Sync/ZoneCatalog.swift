import OperationFormat

/// What was done to a zone that was deleted at the remote.
enum Withdrawal {
  case removed
  /// It has transactions that were never shipped.
  case kept
  /// It is a local zone now.
  case detached
  /// It is not of that incarnation, or is not synced.
  case untouched
}

/// The zones of a store as its remote lists them, and the cut that each one is shipping.
struct ZoneCatalog {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  init(_ store: StoreTransaction) { self.store = store }

  // MARK: The list of zones

  func apply(
    _ page: [ZoneEvent], _ later: [ZoneEvent], _ start: UInt64, _ token: DatabaseToken,
    _ chosen: Set<ZoneID>?, _ answers: [IncarnationID: ZoneEndAnswer] = [:]
  ) throws -> ZoneListReport {
    var report = ZoneListReport()
    var events = page + later
    if let stored = try storage.meta.databaseToken() {
      guard stored.remote == token.remote else {
        throw StoreError(
          .remoteChanged, "the store was synced with remote \(stored.remote), and this is \(token.remote)",
          hint: "connect the remote it was synced with, or begin with an empty store")
      }
      guard start <= stored.offset, token.offset >= stored.offset else { return report }
      // The list is here up to the token; only what comes after it may be new.
      if token.offset == stored.offset { events = later }
      if events.isEmpty, token.offset == stored.offset { return report }
      // News: the remote has done what was deleted here, even if the answer was lost.
      if stored.offset > 0 { try finishDeletions(in: events) }
    } else if start > 0 {
      // The store has left the remote since the page was asked for.
      return report
    }
    try forgetUntoldDeletions(of: page, after: start, later)
    try storage.zoneEvents.keep(page, after: start, through: token.offset)
    // A zone that the same page deletes is not created: a local zone of that name may be another one, made
    // since.
    events = Self.withoutOutdated(events)
    for event in events where event.kind == .deleted {
      try storage.zones.setGone(
        try storage.incarnations.makeNumber(for: event.incarnation))
    }
    for event in events {
      switch event.kind {
      case .created: try create(event.zone, event.incarnation, chosen, &report)
      case .reopened:
        let found = try storage.incarnations.makeNumber(for: event.incarnation)
        // One that is to be deleted here is deleted again.
        guard try deletions(of: [found]).isEmpty else { continue }
        try noteReopened(event.zone, found)
        try create(event.zone, event.incarnation, chosen, &report)
      case .deleted, .revoked:
        switch try withdraw(
          event.zone, event.incarnation, isRevoked: event.kind == .revoked,
          answers[event.incarnation] ?? .remove)
        {
        case .removed: report.removed.append(event.zone)
        case .kept: report.kept.append(event.zone)
        case .detached, .untouched: break
        }
      default: break
      }
    }
    try storage.meta.setDatabaseToken(token)
    return report
  }

  /// Forgets the deletions here that the remote does not know of, of logs that were revoked since the list was last read: that
  /// is why the remote did not show them, and they may come back.
  private func forgetUntoldDeletions(
    of page: [ZoneEvent], after start: UInt64, _ later: [ZoneEvent]
  ) throws {
    for (index, event) in (page + later).enumerated() where event.kind == .revoked {
      let offset = start + UInt64(index) + 1
      if index < page.count, try storage.zoneEvents.event(at: offset) == event { continue }
      guard let found = try storage.incarnations.number(of: event.incarnation) else { continue }
      if try storage.zones.goneLog(found)?.isUntold ?? false { try storage.zones.forgetGone(found) }
    }
  }

  /// The events without those that a later event of the same log takes back: a zone that was revoked and granted again,
  /// or closed and opened again, keeps its copy, and one that was granted and revoked, or purged or reset, is not made.
  private static func withoutOutdated(_ events: [ZoneEvent]) -> [ZoneEvent] {
    guard events.contains(where: { [.revoked, .reopened, .purged, .reset].contains($0.kind) })
    else { return events }
    let kinds: [ZoneEvent.Kind] = [.created, .revoked, .deleted, .reopened, .purged, .reset]
    var last: [IncarnationID: Int] = [:]
    for (index, event) in events.enumerated() where kinds.contains(event.kind) {
      last[event.incarnation] = index
    }
    return events.enumerated().filter { !kinds.contains($1.kind) || last[$1.incarnation] == $0 }.map(\.1)
  }

  private func create(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ chosen: Set<ZoneID>?, _ report: inout ZoneListReport
  ) throws {
    try zone.check()
    let found = try storage.incarnations.makeNumber(for: incarnation)
    // The event of a deleted zone's beginning may be read once more, or come late.
    if let gone = try storage.zones.goneLog(found) {
      if gone.isUntold { try storage.zones.makeDeletion(of: zone, found) }
      return
    }
    let number: ZoneNumber
    if let known = try storage.zones.find(zone)?.number {
      number = known
    } else {
      number = try storage.zones.make(zone, chosen?.contains(zone) ?? true ? .attached : .offered)
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
    let isGone = try storage.zones.isGone(incarnation)
    guard !isGone else { return false }
    if let token = row.token {
      guard token.offset == 0,
        try !storage.segments.hasAny(in: zone, token.incarnation)
      else { return false }
    }
    row.token = ZoneRow.Token(incarnation: incarnation, offset: 0, hash: .zero)
    try storage.zones.removeProposal(of: zone)
    return true
  }

  /// Whether a zone has read anything of its log, or sent anything to it.
  private func knowsLog(_ zone: ZoneNumber, _ row: ZoneRow) throws -> Bool {
    guard let token = row.token else { return false }
    return try token.offset > 0 || storage.segments.hasAny(in: zone, token.incarnation)
  }

  func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) throws {
    guard let (number, known) = try storage.zones.find(zone), known.status != .local else {
      throw StoreError.unknown(zone)
    }
    var row = known
    let found = try storage.incarnations.makeNumber(for: incarnation)
    if row.token?.incarnation != found, try !tie(number, &row, to: found) {
      throw StoreError.incarnationChanged(zone, incarnation)
    }
    row.status = .attached
    storage.setZoneRow(row, number)
    try storage.flush()
  }

  func withdraw(
    _ zone: ZoneID, _ incarnation: IncarnationID, isRevoked: Bool = false, _ answer: ZoneEndAnswer = .remove
  ) throws -> Withdrawal {
    guard let (number, known) = try storage.zones.find(zone), let token = known.token,
      let found = try storage.incarnations.number(of: incarnation), token.incarnation == found
    else { return .untouched }
    // A zone that is removed marks the log of its token as deleted. This one may come back.
    if !isRevoked { try storage.zones.setGone(found) }
    if known.status == .local {
      // One that was synced keeps what it knows of the log: attached again, it makes that again.
      guard try !knowsLog(number, known) else { return .untouched }
      var row = known
      row.token = nil
      storage.setZoneRow(row, number)
      try storage.flush()
      return .untouched
    }
    if known.status == .attached {
      // The app has attached it again: the next round makes its log again.
      switch known.restoresLog ? .makeAgain : answer {
      case .remove: guard try !storage.zones.hasUnshipped(number, found) else { return .kept }
      case .keep, .makeAgain: return .kept
      case .detach:
        var row = known
        row.detach()
        storage.setZoneRow(row, number)
        try storage.flush()
        return .detached
      }
    }
    try store.fold.flush()
    store.fold.reset()
    if isRevoked {
      var row = known
      row.token = nil
      storage.setZoneRow(row, number)
    }
    try storage.zones.retire(zone, number, as: .removed)
    return .removed
  }

  /// The zones that were deleted here, and whose remote logs are among these.
  private func deletions(
    of logs: Set<IncarnationNumber>
  ) throws -> [(number: ZoneNumber, row: ZoneRow)] {
    try storage.zones.rows().filter { _, row in
      row.status == .deleting && row.token.map { logs.contains($0.incarnation) } ?? false
    }
  }

  /// Ends the deletions here of which the list of zones tells.
  private func finishDeletions(in events: [ZoneEvent]) throws {
    let deleted = try events.filter { $0.kind == .deleted }.compactMap {
      try storage.incarnations.number(of: $0.incarnation)
    }
    guard !deleted.isEmpty else { return }
    for (number, known) in try deletions(of: Set(deleted)) {
      var row = known
      row.status = .removed
      storage.setZoneRow(row, number)
    }
    try storage.flush()
  }

  /// Notes that a zone's log was opened again. The assets and snapshots that the remote had went with it.
  func noteReopened(_ zone: ZoneID, _ incarnation: IncarnationNumber) throws {
    // What was deleted here and the remote does not know is deleted there now.
    if try storage.zones.goneLog(incarnation)?.isUntold ?? false { return }
    try storage.zones.forgetGone(incarnation)
    guard let (number, known) = try storage.zones.find(zone), known.token?.incarnation == incarnation else {
      return
    }
    try offerAgain(number, known)
  }

  /// Lets a zone get a snapshot and its assets at the remote, which does not have them any more.
  private func offerAgain(_ zone: ZoneNumber, _ known: ZoneRow) throws {
    var row = known
    (row.logBytes, row.snapshot) = (row.logBytes &+ row.snapshot.byteCount, ZoneRow.KnownSnapshot())
    storage.setZoneRow(row, zone)
    try storage.assets.noteAllUnsent(of: zone)
  }

  /// Lets the store belong to no remote. Its synced zones are made again at the next one, if that does not have them;
  /// what the former one only offers goes, and so does what it was still to be told.
  func leaveRemote() throws {
    for (number, known) in try storage.zones.rows() {
      var row = known
      switch known.status {
      case .attached:
        row.restoresLog = row.token != nil
        try offerAgain(number, row)
        continue
      case .offered:
        row.token = nil
        storage.setZoneRow(row, number)
        if let zone = try storage.zones.id(of: number) {
          try storage.zones.retire(zone, number, as: .removed)
        }
        continue
      case .deleting: row.status = .removed
      case .local where try !knowsLog(number, row): row.token = nil
      case .local, .removed: continue
      }
      storage.setZoneRow(row, number)
      try storage.zones.removeProposal(of: number)
    }
    try storage.flush()
    try storage.meta.removeDatabaseToken()
  }

  /// Notes that the remote has a zone's log.
  func noteLogIsThere(_ zone: ZoneID) throws {
    guard let (number, known) = try storage.zones.find(zone), known.restoresLog else { return }
    var row = known
    row.restoresLog = false
    storage.setZoneRow(row, number)
    try storage.flush()
  }

  func finishDeletion(of zone: ZoneID, _ incarnation: IncarnationID, remoteHasDeleted: Bool) throws {
    let found = try storage.incarnations.number(of: incarnation)
    for (number, known) in try storage.zones.rows()
    where known.status == .deleting && known.token?.incarnation == found {
      guard try storage.zones.id(of: number) == zone else { continue }
      var row = known
      row.status = .removed
      // One of another owner that was revoked may come back. Else a zone that is removed marks the log of its token as
      // deleted. That the remote does not show it says nothing: another one may be in its place.
      let mayComeBack = try !remoteHasDeleted && zone.owner.byteCount > 0 && isRevoked(incarnation)
      if mayComeBack { row.token = nil }
      storage.setZoneRow(row, number)
      try storage.zones.removeProposal(of: number)
      if !remoteHasDeleted, let found {
        try mayComeBack ? storage.zones.forgetGone(found) : storage.zones.setGone(found, isUntold: true)
      }
      try storage.meta.readZoneListAgain()
    }
    try storage.flush()
  }

  /// Whether the last that the list of zones says of a log is that this account may not read it.
  private func isRevoked(_ incarnation: IncarnationID) throws -> Bool {
    var last: ZoneEvent.Kind?
    try storage.zoneEvents.forEachEvent { event in
      if event.incarnation == incarnation { last = event.kind }
    }
    return last == .revoked
  }

  func forgetTokens() throws {
    for (number, known) in try storage.zones.rows() {
      guard let token = known.token, token.offset > 0, !known.status.isGone else { continue }
      var row = known
      let start = try storage.zones.origin(of: number)?.offset ?? 0
      let hash = try storage.segments.row(at: start, in: number, token.incarnation)?.hash
      row.token = ZoneRow.Token(incarnation: token.incarnation, offset: start, hash: hash ?? .zero)
      row.logBytes = 0
      storage.setZoneRow(row, number)
    }
    try storage.flush()
  }

  // MARK: Cuts

  func storeCut(_ header: SegmentHeader, of zone: ZoneID) throws -> SegmentHeader {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token,
      let incarnation = try storage.incarnations.number(of: header.incarnation),
      token.incarnation == incarnation
    else { throw StoreError.incarnationChanged(zone, header.incarnation) }
    let replica = try storage.replicas.makeNumber(for: header.replica)
    let isOurs = try storage.lanes.ships(replica, header.epoch, of: number, row, identity)
    let lane = try storage.lanes.pendingLane(replica, header.epoch, of: number, token)
    guard isOurs else {
      throw StoreError(
        .outOfOrder,
        "a segment of replica \(header.replica), epoch \(header.epoch) is not this store's to ship any more",
        hint: "another process has shipped it, or the store has taken a new epoch: cut again")
    }
    if let stored = try storage.zones.cut(of: number), stored.isNext(after: lane, incarnation) {
      guard stored.sequences == header.sequences, stored.contentHash == header.contentHash else {
        return stored.header(zone, header.incarnation, header.replica)
      }
      try storage.zones.setCut(CutRow(header, incarnation, replica), of: number)
      return header
    }
    guard header.sequences.lowerBound == lane.placed + 1, header.sequences.upperBound <= lane.last else {
      throw StoreError(
        .outOfOrder,
        "sequences \(header.sequences.lowerBound) to \(header.sequences.upperBound) of zone “\(zone)” "
          + "were cut, but \(lane.placed) of \(lane.last) are acknowledged",
        hint: "another process has shipped meanwhile: cut again")
    }
    try storage.zones.setCut(CutRow(header, incarnation, replica), of: number)
    return header
  }

  /// Removes the cut of a segment that the remote refused, unless another is stored.
  func forgetCut(_ header: SegmentHeader, of zone: ZoneID) throws {
    guard let number = try storage.zones.find(zone)?.number,
      let cut = try storage.zones.cut(of: number), cut.sequences == header.sequences,
      cut.contentHash == header.contentHash
    else { return }
    try storage.zones.removeCut(of: number)
  }

  /// Removes a zone's cut once the remote has all that it cuts.
  func removeShippedCut(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    guard let cut = try storage.zones.cut(of: zone), cut.incarnation == incarnation
    else { return }
    let placed = try storage.placements.lastPlaced(cut.replica, cut.epoch, in: zone, incarnation)
    if cut.sequences.upperBound <= placed { try storage.zones.removeCut(of: zone) }
  }
}
