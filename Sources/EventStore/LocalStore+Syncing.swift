package import OperationFormat

/// What the replicator needs of a store: nothing else of it is used to sync.
extension LocalStore {
  /// How far the store is in step with its remote, as of one commit. Zones that were removed are not in it.
  ///
  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  /// - Complexity: linear in the zones.
  package func syncState() throws -> StoreSyncState { try read { try $0.syncState() } }

  /// Where files are read, written and hashed that may be large.
  package var assetThreads: BlockingThreads { core.fileThreads }

  // MARK: The list of zones

  /// Takes over a part of the remote's list of zones: what its events say and the token, in one commit.
  ///
  /// Events up to the stored token are known: then nothing changes, since two processes may read one list.
  /// Nor does anything where the stored token is before them: the list is to be read again from there.
  ///
  /// - Parameters:
  ///   - events: the events after a token, in order.
  ///   - start: that token's offset; 0 for the list's start.
  ///   - later: events behind one that cannot be read, which the token does not pass. They may be applied
  ///     again.
  ///   - token: where they end.
  ///   - chosen: the zones to sync if they are new; nil for all. Others are remembered as offered.
  ///   - answers: what becomes of zones whose logs have ended; ``ZoneEndAnswer/remove`` for the others.
  /// - Throws: ``StoreError`` `remoteChanged`, `nameInvalid`.
  package func applyZoneEvents(
    _ events: [ZoneEvent], after start: UInt64 = 0, later: [ZoneEvent] = [], token: DatabaseToken,
    chosen: Set<ZoneID>?, answers: [IncarnationID: ZoneEndAnswer] = [:]
  ) async throws -> ZoneListReport {
    return try await core.perform { try ZoneCatalog($0).apply(events, later, start, token, chosen, answers) }
  }

  /// Lets the store belong to no remote any more: the next one that a replicator syncs it with becomes its remote.
  ///
  /// A store belongs to the first remote that it was synced with, and refuses any other: an empty folder in place of a
  /// disk that is not mounted must not become its remote. Call this to move to another remote. The zones here keep
  /// their logs, under the same offsets: the first round with the new remote puts there what it lacks of them, others'
  /// work too. Stores of other devices that do the same continue where they were.
  ///
  /// End the replicators of the former remote first: a round of theirs that is under way would bind the store to it again.
  /// What the former remote only offers is gone from here, and what was deleted here and not told it yet stays there.
  ///
  /// - Throws: ``StoreError`` `readOnly`, `full`, `damaged`.
  public func leaveRemote() async throws {
    do {
      try await core.perform { try ZoneCatalog($0).leaveRemote() }
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Whether a zone's log is made again at a remote that does not have it, or has closed it.
  package func restoresLog(of zone: ZoneID) throws -> Bool {
    try read { try $0.readView.zones.visible(zone).row.restoresLog }
  }

  /// Notes that a zone's log, which was deleted, is open again.
  package func noteReopened(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {
    try await ZoneSync(core).noteReopened(zone, incarnation)
  }

  /// Notes that the remote has a zone's log up to the zone's token: it is not made again.
  package func noteLogIsThere(_ zone: ZoneID) async throws { try await ZoneSync(core).noteLogIsThere(zone) }

  /// Lets the list of zones be read from its start once more, where the store syncs no zone that the remote
  /// has: then it does not matter that the list went back.
  package func forgetPlaceInZoneList() async throws { try await ZoneSync(core).forgetPlaceInZoneList() }

  /// The incarnation to make a zone under: the one that an earlier try proposed, else this one, which is
  /// stored.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown` for a zone that is not synced.
  package func proposeIncarnation(
    _ incarnation: IncarnationID, of zone: ZoneID
  ) async throws -> IncarnationID {
    try await ZoneSync(core).proposeIncarnation(incarnation, of: zone)
  }

  /// Ties a zone that is synced, or offered, to an incarnation of its remote log: the remote has it under
  /// that one.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`; `incarnationChanged` if something of the zone is in another, or
  ///   the incarnation is that of a zone that was deleted here.
  package func adopt(_ zone: ZoneID, _ incarnation: IncarnationID) async throws {
    try await core.perform { try ZoneCatalog($0).adopt(zone, incarnation) }
  }

  /// Whether an incarnation is that of a zone that was deleted, here or at the remote.
  package func isGone(_ incarnation: IncarnationID) throws -> Bool { try ZoneSync(core).isGone(incarnation) }

  /// Does for one zone what the event of its deletion, or of its revocation, does, where a round of
  /// replication meets it first.
  ///
  /// - Parameters:
  ///   - isRevoked: whether the log continues without this account. If the account may read it again, the zone comes
  ///     back.
  ///   - answer: whether it is removed or becomes local.
  /// - Returns: whether that was done; if not, it has what was never shipped, or is not of that incarnation.
  package func withdraw(
    _ zone: ZoneID, _ incarnation: IncarnationID, isRevoked: Bool = false, _ answer: ZoneEndAnswer = .remove
  ) async throws -> Bool {
    try await ZoneSync(core).withdraw(zone, incarnation, isRevoked: isRevoked, answer)
  }

  /// Ends the deletion of a zone.
  ///
  /// - Parameter remoteHasDeleted: whether the remote knows of it. If not, since it does not have the log,
  ///   the deletion begins again once the list of zones names that log: a remote that was an old copy may be
  ///   put right.
  package func finishDeletion(
    of zone: ZoneID, _ incarnation: IncarnationID, remoteHasDeleted: Bool = true
  ) async throws {
    try await core.perform {
      try ZoneCatalog($0).finishDeletion(of: zone, incarnation, remoteHasDeleted: remoteHasDeleted)
    }
  }

  /// Sets every zone's token back to the start of its incarnation, or to the snapshot that it begins with, so that all of it
  /// is fetched and compared again. What was folded stays, and so do its placements.
  package func forgetTokens() async throws { try await core.perform { try ZoneCatalog($0).forgetTokens() } }

  // MARK: Shipping

  /// The next segment to ship of a zone: the stored cut, or a proposal to be stored with ``storeCut(_:)``.
  ///
  /// - Returns: nil if the zone is not synced, its remote is not known to have it, or nothing is pending.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the segment.
  package func nextCut(of zone: ZoneID) throws -> SegmentCut? { try read { try $0.nextCut(of: zone) } }

  /// Forgets the stored cut of a segment that the remote does not have and does not take, so that it is cut
  /// again. Does nothing if another cut is stored.
  package func forgetCut(_ header: SegmentHeader, of zone: ZoneID) async throws {
    try await core.perform { try ZoneCatalog($0).forgetCut(header, of: zone) }
  }

  /// Stores a cut before it is shipped, unless another one is stored.
  ///
  /// A header with the content of the stored one takes its place: another codec may have packed it.
  ///
  /// - Returns: the stored one, which is to be shipped.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `mismatch`; `outOfOrder` if another
  ///   process has shipped what it cuts.
  package func storeCut(_ header: SegmentHeader, of zone: ZoneID) async throws -> SegmentHeader {
    try await core.perform { try ZoneCatalog($0).storeCut(header, of: zone) }
  }

  /// Records that the remote has a run of this store's transactions. They are pending no more.
  ///
  /// Where that makes the token pass them, they are checked by the rules that every replica folds by: what
  /// breaks one is rejected, as everywhere else, and the report says so.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `outOfOrder`, `mismatch`.
  package func acknowledge(_ acknowledgement: Acknowledgement) async throws -> IngestReport {
    return try await IngestRun(core).acknowledge(acknowledgement)
  }

  /// A place in a zone's remote log before a segment that is shipped: at the given offset, or at the segment
  /// before it in its lane if that is later. A lane is shipped in its order, so entries that a parked zone
  /// could not read are not looked through in each round.
  package func place(
    before segment: SegmentHeader, of zone: ZoneID, atLeast offset: UInt64
  ) throws -> ChangeToken {
    try read { try $0.place(before: segment, of: zone, atLeast: offset) }
  }

  /// The place of a zone's remote log at an offset of it, as this store knows the log; nil if it does not
  /// know the chain there.
  package func place(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> ChangeToken? {
    try read { try $0.place(at: offset, of: zone, incarnation) }
  }

  /// An offset in a range of which the store knows the entry: the last one up to a place in it, or the first one behind that;
  /// nil if there is none.
  package func knownOffset(
    near place: UInt64, in offsets: Range<UInt64>, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> UInt64? {
    try read { source in
      let (number, view) = (try source.readView.zones.visible(zone).number, source.readView)
      guard let incarnation = try view.incarnations.number(of: incarnation) else { return nil }
      let last = try view.segments.lastOffset(of: number, incarnation, upTo: place)
      if offsets.contains(last) { return last }
      let next = try view.segments.firstOffset(of: number, incarnation, from: place + 1)
      return next.flatMap { offsets.contains($0) ? $0 : nil }
    }
  }

  /// Places of a zone's remote log, as this store knows the log: at an offset, and before it back to the first
  /// where the remote stated the log's chain.
  package func placesBack(
    from offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID, limit: Int
  ) throws -> [ChangeToken] {
    try read { try $0.placesBack(from: offset, of: zone, incarnation, limit: limit) }
  }

  // MARK: Segments of others

  /// Ingests segments of remote logs, in the order given: transactions and token in one commit, or nothing.
  ///
  /// It ends after a segment where the commit has touched many rows, so that other writers need not wait;
  /// ``IngestReport/segments`` says how far it came. A segment at or before the zone's token is compared and
  /// changes nothing.
  ///
  /// - Parameter isMoreToCome: whether segments of the same zone follow at once. Where the records fall
  ///   behind the token, they stay behind it, to be folded once for all of them: ``finishRenewal()`` is to be
  ///   called after the last.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `outOfOrder`, `fork`, `mismatch`,
  ///   `damaged`, `newerFormat`. Where the segment is invalid for everyone, ``StoreError/rejection`` says
  ///   why: then ``reject(_:_:)`` is to be called.
  package func ingest(_ segments: [RemoteSegment], isMoreToCome: Bool = false) async throws -> IngestReport {
    return try await IngestRun(core).ingest(segments, isMoreToCome: isMoreToCome)
  }

  /// Does with segments what ``ingest(_:isMoreToCome:)`` does, and rejects those that are invalid for
  /// everyone, as ``reject(_:_:)`` does: all in one commit, or nothing.
  ///
  /// It ends before a segment that can be neither folded nor rejected, and where ``ingest(_:isMoreToCome:)``
  /// ends; ``IngestReport/segments`` says how far it came.
  ///
  /// - Throws: as ``ingest(_:isMoreToCome:)`` for the first segment, unless that is invalid for everyone.
  package func ingestOrReject(
    _ segments: [RemoteSegment], isMoreToCome: Bool = false
  ) async throws -> IngestReport {
    try await IngestRun(core).ingestOrReject(segments, isMoreToCome: isMoreToCome)
  }

  /// Records that a segment is invalid for everyone: it is passed over, and its writer's lane is closed.
  ///
  /// - Parameter reason: what ``ingest(_:isMoreToCome:)`` said of it.
  /// - Throws: as ``ingest(_:isMoreToCome:)``.
  package func reject(_ segment: RemoteSegment, _ reason: SegmentRejection) async throws -> IngestReport {
    try await IngestRun(core).reject(segment, reason)
  }

  // MARK: Lanes that the log does not take

  /// Whether the log has closed a lane of a zone that the store writes, or has something to ship of; or does
  /// not have all that the present one continues.
  package func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
    try read { try $0.isOwnLaneClosed(of: zone) }
  }

  /// Issues again, in a lane of a new epoch, what the log does not take of one of this store's lanes. What it
  /// means stays the same. ``finishRenewal()`` is to be called afterwards.
  ///
  /// - Parameter segment: the log's other branch of the lane; nil where the log has closed the lane.
  /// - Returns: how many transactions were issued again; nil if the lane is neither closed nor contested.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `damaged`.
  package func renewLane(of zone: ZoneID, contestedBy segment: RemoteSegment? = nil) async throws -> Int? {
    try await core.performIfFolded { try LaneRewrite($0).renewLane(of: zone, contestedBy: segment) }
  }

  /// Folds the log again after ``renewLane(of:contestedBy:)``, unless that was done. If it is cut short, the
  /// next call or the next opening of the store continues it.
  ///
  /// - Parameter zone: the one that was changed; nil for any.
  package func finishRenewal(of zone: ZoneID? = nil) async throws { try await RebuildRun(core).finish(zone) }

  /// Notes that the log has another branch of a lane that this store imported and is to ship. The user
  /// decides what becomes of it here: ``settleClosedLanes(of:_:)``.
  ///
  /// - Parameter segment: the log's branch.
  /// - Returns: the error to show the user; nil if the store ships no such lane.
  package func contestLane(of zone: ZoneID, by segment: RemoteSegment) async throws -> StoreError? {
    try await LaneSettlement.contestLane(of: zone, by: segment, core)
  }

  /// Settles what is pending of other stores' lanes that the log has closed, or has another branch of.
  /// ``finishRenewal()`` is to be called afterwards.
  ///
  /// - Returns: how many transactions were taken over, or let go.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func settleClosedLanes(of zone: ZoneID, _ answer: ClosedLaneAnswer) async throws -> Int {
    try await core.performFolded { try LaneSettlement($0).settleClosedLanes(of: zone, answer) }
  }

  /// Lets go of what is pending of others' lanes that the log had lost, and has closed since. ``finishRenewal()`` is to be
  /// called afterwards.
  ///
  /// - Returns: how many transactions were taken out.
  @discardableResult
  package func letGoOfClosedLanes(of zone: ZoneID) async throws -> Int {
    guard try read({ try $0.hasClosedHeldLane(of: zone) }) else { return 0 }
    return try await core.performFolded { try LogRereading($0).letGoOfClosedLanes(of: zone) }
  }

  /// Takes over what this store wrote before it was a copy, or was put back from a backup, where the log has another
  /// branch of it: another store with that identity wrote on. ``finishRenewal()`` is to be called afterwards.
  ///
  /// - Returns: how many transactions were taken over.
  package func takeOverFormerLanes(of zone: ZoneID) async throws -> Int {
    guard try read({ try $0.hasRefusedFormerLane(of: zone) }) else { return 0 }
    return try await core.performFolded {
      try LaneSettlement($0).settleClosedLanes(of: zone, .takeOver, onlyFormers: true)
    }
  }

  // MARK: Reading a log again

  /// Begins to read a zone's remote log again from an offset: what the store knew of the log from there on
  /// counts no more. ``endRereading(_:)`` is to be called once the log was read to its end; until then
  /// nothing of the zone may be shipped. If it is cut short, the next round continues.
  ///
  /// - Parameter offset: from 1; one behind the token stands for the token's next one.
  /// - Returns: the first offset that is read again; nil if the store knows no log of the zone.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the segments from the offset on
  @discardableResult
  package func beginRereading(_ zone: ZoneID, from offset: UInt64) async throws -> UInt64? {
    try await core.performFolded { try LogRereading($0).begin(zone, from: offset) }
  }

  /// Begins to read a zone's remote log again from the first offset at which it has something else than this store has
  /// read: a remote that went back, and to which others have written since. All that the store has stays. What the log
  /// lacks is pending, that of others too, and is sent unchanged once the log was read to its end.
  ///
  /// - Parameter known: how far the store had read the log when it was found to have parted; nil if that does not matter.
  /// - Returns: nil also if another process has read it since: then nothing is done.
  /// - Throws, Complexity: as ``beginRereading(_:from:)``.
  package func part(
    _ zone: ZoneID, from offset: UInt64, knownAs known: ChangeToken? = nil
  ) async throws -> UInt64? {
    try await core.performFolded { store -> UInt64? in
      if let known {
        let number = try store.storage.zones.visible(zone).number
        guard try RemoteIngest(store).token(of: number, zone, known.incarnation) == known else { return nil }
      }
      return try LogRereading(store).begin(zone, from: offset, isParted: true)
    }
  }

  /// Whether a zone's log is being read again.
  package func isRereading(_ zone: ZoneID) throws -> Bool { try ZoneSync(core).rereading(zone) != nil }

  /// How far a zone's log was read before it was to be read again; nil if it is not, or has parted, or that is not known.
  package func formerEnd(of zone: ZoneID) throws -> ChangeToken? {
    try read { source in
      let view = source.readView
      let (number, row) = try view.zones.visible(zone)
      guard let token = row.token, let rereading = try view.lanes.rereading(of: number), !rereading.isParted
      else { return nil }
      var end: ChangeToken?
      let incarnation = try view.incarnations.identity(of: token.incarnation)
      try view.segments.forEachFormer(in: number, token.incarnation) { offset, former in
        guard let chain = former.chain else { return }
        end = ChangeToken(
          zone: zone, incarnation: incarnation, offset: offset, hash: former.hash, chain: chain)
      }
      return end
    }
  }

  /// Whether the store knows segments behind the token: it shipped them while it could not read those before.
  package func hasSegmentsAhead(in zone: ZoneID) throws -> Bool {
    try ZoneSync(core).hasSegmentsAhead(in: zone)
  }

  /// Removes the transactions of a waiting lane that a segment of the log has with other bytes.
  ///
  /// - Returns: whether a lane waited, and differs.
  package func yieldLane(of zone: ZoneID, to segment: RemoteSegment) async throws -> Bool {
    try await core.performIfChanged { try LogRereading($0).yieldLane(of: zone, to: segment) ? true : nil }
      ?? false
  }

  /// Ends what ``beginRereading(_:from:)`` began, once the zone's log was read to its end.
  /// ``finishRenewal()`` is to be called afterwards: it folds the log again.
  ///
  /// - Returns: how many transactions were taken out.
  /// - Complexity: linear in the transactions from the offset on, in one commit
  @discardableResult
  package func endRereading(_ zone: ZoneID) async throws -> Int {
    try await core.performFolded { try LogRereading($0).end(zone) }
  }

  // MARK: Assets

  /// What the replicator needs to download and upload assets.
  package var assetTransfers: AssetTransfers { AssetTransfers(core) }
}
