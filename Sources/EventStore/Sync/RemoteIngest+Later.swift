import OperationFormat

/// Segments that are too much for one commit are appended to the log, and are folded later.
extension RemoteIngest {
  /// Folds a segment, unless that takes more than one commit may do.
  ///
  /// - Throws: ``FoldBoundReached``: what was done is to be undone.
  mutating func ingestBounded(_ segment: RemoteSegment, _ report: inout IngestReport) throws {
    store.fold.bound.begin(foldsLater ? .none : .givesUp)
    defer { store.fold.bound.end() }
    try ingest(segment, &report)
  }

  /// Folds segments of a zone. Where its records are behind its token, or are to be from here on, they only
  /// go into the log: ``LocalStore/finishRenewal()`` folds them. Until then what is written has not seen
  /// them.
  ///
  /// - Parameters:
  ///   - isTooMuch: whether the first segment was more than one commit may do.
  ///   - ingestAll: ingests them.
  /// - Returns: nil if the log is being folded again for another reason.
  /// - Throws: ``FoldBoundReached``: what was done is to be undone.
  mutating func ingestOrAppend(
    of zone: ZoneID?, isTooMuch: Bool, _ ingestAll: (inout RemoteIngest, inout IngestReport) throws -> Void
  ) throws -> IngestReport? {
    var report = IngestReport()
    let isFoldingAgain = try zone.map { try self.isFoldingAgain($0) } ?? false
    guard isFoldingAgain || isTooMuch, let zone else {
      do {
        try ingestAll(&self, &report)
        try foldChangedLimits()
        return report
      } catch is FoldBoundReached {
        throw FoldBoundReached(segments: report.segments)
      }
    }
    let (number, before) = try storage.zones.visible(zone)
    if isFoldingAgain, before.building == .none || !before.isBaseBehindToken { return nil }
    foldsLater = true
    defer { foldsLater = false }
    try ingestAll(&self, &report)
    report.foldedBeside = report.segments
    try foldChangedLimits()
    if isFoldingAgain { return report }
    var row = try storage.zoneRow(number)
    row.base = before.base.flatMap { $0.incarnation == row.token?.incarnation ? $0 : nil }
    storage.setZoneRow(row, number)
    try Rebuild(store).refold(number)
    return report
  }

  /// Folds a zone again whose transactions have other limits than they were folded by. The end of a rereading does so
  /// itself.
  func foldChangedLimits() throws {
    guard let zone = zoneOfChangedLimits, try storage.lanes.rereading(of: zone) == nil else { return }
    try Rebuild(store).refold(zone)
  }

  /// Whether the log is being folded again for a zone: for it, or for all.
  private func isFoldingAgain(_ zone: ZoneID) throws -> Bool {
    guard try Rebuild(store).isRefolding else { return false }
    guard try storage.meta.unfinishedRebuild()?.progress.isPartial ?? false else { return true }
    return try Rebuild(store).isRefolded(storage.zones.visible(zone).0)
  }

  /// Appends the new transaction whose body was the last one parsed to the log, and folds it now or later.
  func append(_ header: LogEntryHeader, body: RawSpan, receivedMilliseconds: UInt64?) throws {
    guard foldsLater else {
      return try store.appendParsed(header, body: body, receivedMilliseconds: receivedMilliseconds)
    }
    try leaveOwnLane(header)
    try store.logParsed(header, body: body)
  }

  /// Moves this store's next writes to a new lane, if a transaction that is not folded yet belongs to its
  /// present one, as in a store that was restored from a backup: the records do not know which units the lane
  /// has made. The new lane continues what they know of it. It is called before the transaction's parent is
  /// recorded.
  private func leaveOwnLane(_ header: LogEntryHeader) throws {
    var row = try storage.zoneRow(header.zone)
    let own = try storage.replicaNumber(of: identity.replica)
    guard header.replica == own, header.epoch == row.ownEpoch(identity), let token = row.token else { return }
    let epoch = try LaneRewrite(store).nextEpoch(of: header.replica, header.zone, token.incarnation)
    row.renewals = epoch &- identity.epoch
    storage.setZoneRow(row, header.zone)
    let parent =
      header.sequence > 1
      ? (header.replica, header.epoch, header.sequence - 1)
      : try storage.parent(of: header.replica, header.epoch, in: header.zone)
    guard let continued = try store.continuing(parent, row, header.zone).parent else { return }
    try storage.lanes.setParent(continued, of: header.replica, epoch, in: header.zone)
  }
}
