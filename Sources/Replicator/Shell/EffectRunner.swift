import EventStore

/// Performs the effects of a round on a store and a remote, as ``ReplicatorMachine``'s ordering contract
/// demands. An error becomes a result.
package struct EffectRunner: Sendable {
  /// The most unpacked bytes of segments that one commit folds: memory stays bounded.
  static let foldBytesMax = 2 << 20
  /// The most steps of work in one commit: other writers wait for it.
  static let foldStepsMax = 8192
  /// How often another process that ships the same zone may take the cut before that is a failure.
  static let cutsMax = 16

  let store: LocalStore
  let remote: any RemoteLog
  let selection: ZoneSelection
  let rules: ZoneRules
  let pageBytesMax: Int
  let makeRandom: @Sendable () -> UInt64
  let askedRejections = AskedRejections()
  /// What was seen of the remote's clock.
  let clock = ClockReading()
  private let assets: AssetRunner

  package init(
    store: LocalStore, remote: any RemoteLog, selection: ZoneSelection, rules: ZoneRules = ZoneRules(),
    pageBytesMax: Int, makeRandom: @escaping @Sendable () -> UInt64,
    assetProgress: (@Sendable (AssetProgress) -> Void)? = nil
  ) {
    self.store = store
    self.remote = remote
    self.selection = selection
    self.rules = rules
    self.pageBytesMax = pageBytesMax
    self.makeRandom = makeRandom
    assets = AssetRunner(store: store, remote: remote, progress: assetProgress)
  }

  package func perform(_ effect: RoundEffect) async -> RoundResult {
    do {
      switch effect {
      case .readState: return .state(try await readState())
      case .askHeads(let tokens, let list): return .heads(try await remote.heads(of: tokens, list: list))
      case .fetchZoneEvents(let token):
        if token == nil {
          try await checkHasLogs()
          try await remote.probe()
        }
        return .zoneEvents(try await remote.zoneEvents(after: token))
      case .forgetPlaceInZoneList:
        try await store.forgetPlaceInZoneList()
        return .state(try store.syncState())
      case .applyZoneEvents(let page):
        return .appliedZoneEvents(
          try await store.applyZoneEvents(
            page.events, after: page.startOffset, later: page.later, token: page.token,
            chosen: selection.chosen, answers: rules.answers(to: page)))
      case .reclaim:
        _ = try await store.reclaim()
        return .reclaimed
      case .retireHistory(let zones, let policy, let bytesMin, let compaction):
        if let compaction { try await store.compactDue(zones, keeping: compaction) }
        if policy == .everything { return .retiredHistory([]) }
        return .retiredHistory(
          try await store.retireDueHistory(keeping: policy, in: zones, bytesMin: bytesMin))
      case .zone(let zone, let effect): return .zone(zone, await perform(effect, in: zone))
      }
    } catch {
      return .failed(SyncFailure(error))
    }
  }

  /// Lets other clients of the remote know what was sent.
  package func announce() async { await remote.announce() }

  private func perform(_ effect: ZoneEffect, in zone: ZoneID) async -> ZoneResult {
    do {
      switch effect {
      case .create:
        let stored = try await store.proposeIncarnation(.random(makeRandom), of: zone)
        return .created(try await remote.createZone(zone, proposing: stored))
      case .adopt(let incarnation):
        do {
          try await store.adopt(zone, incarnation)
          return .adopted
        } catch let error as StoreError where error.code == .zoneUnknown {
          guard try store.isGone(incarnation) else { throw error }
          return .deletedMeanwhile(incarnation)
        }
      case .mendOrigin:
        await mendOrigin(of: zone)
        return .mendedOrigin
      case .makeSnapshot(let incarnation, let offset):
        return .madeSnapshot(try await makeSnapshot(of: zone, incarnation, neededBehind: offset))
      case .trim(let incarnation, let milliseconds):
        return .trimmed(try await trim(zone, incarnation, olderThanMilliseconds: milliseconds))
      case .fetch(let token):
        return try await locatingParting(of: zone, token.incarnation) { try await fetch(zone, after: token) }
      case .putBack(let token, let offset): return try await putBack(upTo: token, from: offset)
      case .part(let incarnation, let offset, let isLost):
        return .folded(try await part(zone, incarnation, from: offset, isLost: isLost))
      case .fold(let segments, let token, let isMoreToCome):
        return .folded(try await fold(segments, of: zone, after: token, isMoreToCome: isMoreToCome))
      case .prepare:
        // A log may end before the page that was to follow.
        try await store.finishRenewal(of: zone)
        if try store.isRereading(zone) { return .folded(try await readOn(zone)) }
        guard let (segment, named) = try await prepare(zone) else { return .prepared(nil) }
        return .prepared(segment, naming: named)
      case .upload(let asset, let incarnation, let chunksMax):
        return .uploaded(
          try await assets.upload(RemoteAsset(asset, of: zone, incarnation), chunksMax: chunksMax))
      case .findUnsentAsset(let last):
        return .foundUnsentAsset(try store.assetTransfers.nextUnsent(of: zone, after: last))
      case .findAsset(let last, let position):
        return .foundAsset(try store.assetTransfers.nextWanted(of: zone, after: last, namedAfter: position))
      case .download(let asset, let incarnation, let chunksMax):
        return .downloaded(
          try await assets.download(RemoteAsset(asset, of: zone, incarnation), chunksMax: chunksMax))
      case .append(let segment, let offset):
        let token = try store.place(before: segment.header, of: zone, atLeast: offset)
        return try await locatingParting(of: zone, token.incarnation) {
          .appended(try await append(segment, after: token))
        }
      case .acknowledge(let header, let place):
        return .acknowledged(try await acknowledge(header, of: zone, place))
      case .forgetCut(let header):
        try await store.forgetCut(header, of: zone)
        return .forgotCut
      case .reopen(let incarnation):
        // A log that was discarded while it was read again has nothing any more: that removes nothing here.
        if try store.isRereading(zone) { _ = try await store.part(zone, from: .max) }
        try await remote.reopenZone(zone, incarnation)
        try await store.noteReopened(zone, incarnation)
        return .reopened
      case .withdraw(let incarnation, let isRevoked, let answer):
        return .withdrawn(try await store.withdraw(zone, incarnation, isRevoked: isRevoked, answer))
      case .deleteAtRemote(let incarnation):
        try await remote.deleteZone(zone, incarnation)
        return .deletedAtRemote
      case .finishDeletion(let incarnation, let remoteHasDeleted):
        try await store.finishDeletion(of: zone, incarnation, remoteHasDeleted: remoteHasDeleted)
        return .finishedDeletion
      }
    } catch let error as StoreError where error.code == .zoneUnknown {
      // Another round of this store, or its user, may have removed it.
      let isThere = try? store.read { try $0.hasZone(zone) }
      return isThere == false ? .removedMeanwhile : .failed(SyncFailure(error))
    } catch {
      return .failed(SyncFailure(error))
    }
  }

  /// Runs a call on a zone's log. If the log is not what the store has read, the error says from where on.
  private func locatingParting(
    of zone: ZoneID, _ incarnation: IncarnationID, _ call: () async throws -> ZoneResult
  ) async throws -> ZoneResult {
    do {
      return try await call()
    } catch let error as RemoteError {
      throw await LogParting(store: store, remote: remote).located(error, in: zone, incarnation)
    }
  }

  // MARK: Shipping

  /// The next segment to ship and the assets that it names; its cut is stored. Nil if nothing is pending.
  private func prepare(_ zone: ZoneID) async throws -> (PackedSegment, [AssetReference])? {
    if try await store.letGoOfClosedLanes(of: zone) > 0 { try await store.finishRenewal(of: zone) }
    if try store.isOwnLaneClosed(of: zone) { try await renewLane(of: zone) }
    try await takeOverFormerLanes(of: zone)
    for _ in 0..<Self.cutsMax {
      guard let cut = try store.nextCut(of: zone) else { return nil }
      let packed = try SegmentPacker.pack(cut)
      let named = try store.assetTransfers.hasNamed(in: zone) ? cut.assets() : []
      if cut.isStored, packed.header == cut.header { return (packed, named) }
      do {
        if try await store.storeCut(packed.header, of: zone) == packed.header { return (packed, named) }
      } catch let error as StoreError where error.code == .outOfOrder {
        continue
      }
    }
    throw StoreError(
      .outOfOrder, "other processes ship zone “\(zone)” of this store all the time",
      hint: "let only one process sync a store; the rounds of the others continue where it ends")
  }

  private func append(_ segment: PackedSegment, after token: ChangeToken) async throws -> AppendOutcome {
    let before = store.wallMilliseconds()
    let outcome = try await remote.append(segment, after: token)
    if case .appended(let place) = outcome {
      clock.note(
        remote.lastClockMilliseconds() ?? place.receivedMilliseconds,
        between: (before, store.wallMilliseconds()))
    }
    return outcome
  }

  private func acknowledge(
    _ header: SegmentHeader, of zone: ZoneID, _ place: SegmentPlace
  ) async throws -> IngestReport {
    try await store.acknowledge(
      Acknowledgement(
        zone: zone, incarnation: header.incarnation, offset: place.offset, hash: header.contentHash,
        receivedMilliseconds: place.receivedMilliseconds, statedChain: place.chain,
        sequences: header.sequences,
        writer: StoreIdentity(replica: header.replica, epoch: header.epoch), header: header))
  }

  /// Begins a new epoch for the store's lane of a zone, and issues again there what its log does not take
  /// under the old one.
  ///
  /// - Returns: whether the lane was closed or contested at all.
  @discardableResult
  func renewLane(of zone: ZoneID, contestedBy segment: RemoteSegment? = nil) async throws -> Bool {
    guard try await store.renewLane(of: zone, contestedBy: segment) != nil else { return false }
    try await store.finishRenewal(of: zone)
    return true
  }

  /// Issues again, as this store's, what the log does not take of the lanes that it wrote under a former identity.
  ///
  /// - Returns: whether there was any.
  @discardableResult
  func takeOverFormerLanes(of zone: ZoneID) async throws -> Bool {
    guard try await store.takeOverFormerLanes(of: zone) > 0 else { return false }
    try await store.finishRenewal(of: zone)
    return true
  }

  // MARK: Folding

  /// Folds a page of segments, until one cannot be folded.
  func foldPage(
    _ segments: [StoredSegment], after token: ChangeToken, isMoreToCome: Bool = false
  ) async throws -> FoldOutcome {
    var outcome = FoldOutcome(token: token)
    try await foldInBatches(segments, after: token, &outcome)
    // Segments that were too much for one commit are folded beside the records, all of them at once.
    if !isMoreToCome || outcome.problem != nil { try await store.finishRenewal(of: token.zone) }
    return outcome
  }

  private func foldInBatches(
    _ segments: [StoredSegment], after token: ChangeToken, _ outcome: inout FoldOutcome
  ) async throws {
    var batch = FoldBatch()
    for (index, stored) in segments.enumerated() {
      let part: FoldBatch.Part
      do {
        // Counted from the page's start: another process may have folded further meanwhile.
        part = try FoldBatch.Part(stored, at: token.offset + UInt64(index) + 1, of: token)
      } catch {
        outcome.problem = SyncFailure(error)
        break
      }
      if batch.unpackedBytes + part.unpackedBytes > Self.foldBytesMax
        || batch.steps + part.steps > Self.foldStepsMax
      {
        try await foldBatch(&batch, &outcome)
      }
      if outcome.problem != nil { return }
      batch.append(part)
    }
    let problem = outcome.problem
    outcome.problem = nil
    try await foldBatch(&batch, &outcome)
    // The zone waits for the first segment that was not folded.
    outcome.problem = outcome.problem ?? problem
  }

  /// Folds a batch in one commit. If one of its segments cannot be folded, those before it are.
  private func foldBatch(_ batch: inout FoldBatch, _ outcome: inout FoldOutcome) async throws {
    var parts = batch.parts[...]
    batch = FoldBatch()
    guard !parts.isEmpty, try await foldTogether(&parts, &outcome) != nil else { return }
    // Rejected segments share commits with the others, until one can be neither folded nor rejected.
    if parts.count > 1, try await foldTogether(&parts, &outcome, rejecting: true) == nil { return }
    for part in parts {
      guard try await foldOne(part, &outcome) else { return }
    }
  }

  /// Folds or rejects one segment. If it is the other branch of what is pending here, this store's branch
  /// gets another epoch first.
  ///
  /// - Returns: whether the next one can be folded.
  private func foldOne(_ part: FoldBatch.Part, _ outcome: inout FoldOutcome) async throws -> Bool {
    let segment = part.segment
    var part = part
    do {
      while true {
        do {
          return try await foldOrReject(part, &outcome)
        } catch let error as StoreError {
          guard let offset = error.neededOffset else { throw error }
          part = try await compared(part, with: offset)
        }
      }
    } catch var error as StoreError {
      if error.code == .fork {
        let known = try store.read { try $0.reissuedBranches(in: segment.zone) }
        let isSettled = try await settleFork(segment, &error)
        outcome.report.forks += try store.read { try $0.reissuedBranches(in: segment.zone) } - known
        if isSettled { return try await foldOrReject(part, &outcome) }
      }
      if error.code == .mismatch, segment.isQuarantined, try await reread(segment.zone, from: segment.offset)
      {
        return try await foldOrReject(part, &outcome)
      }
      let failure = SyncFailure(error)
      guard failure.scope == .zone else { throw error }
      outcome.problem = failure
      outcome.isForked = error.code == .fork
      if error.code == .mismatch, try store.hasSegmentsAhead(in: segment.zone) {
        outcome.lostAt = segment.offset
      }
      return false
    }
  }

  /// Lets what is pending here give way to a segment that has other bytes under the same sequences.
  ///
  /// - Parameter error: gets what to tell the user, if the user must decide.
  /// - Returns: whether the segment can be folded now.
  private func settleFork(_ segment: RemoteSegment, _ error: inout StoreError) async throws -> Bool {
    if try await giveWay(to: segment) { return true }
    // What differs was shipped after an entry that nobody could read: the log rejects it there, and it is
    // pending again.
    if try store.hasSegmentsAhead(in: segment.zone),
      try await reread(segment.zone, from: segment.offset), try await giveWay(to: segment)
    {
      return true
    }
    guard let contested = try await store.contestLane(of: segment.zone, by: segment) else { return false }
    error = contested
    guard try store.read({ try $0.isFormer(segment.writer?.replica) }) else { return false }
    return try await takeOverFormerLanes(of: segment.zone)
  }

  private func foldOrReject(_ part: FoldBatch.Part, _ outcome: inout FoldOutcome) async throws -> Bool {
    do {
      let report = try await store.ingest([part.segment], isMoreToCome: true)
      outcome.add(report, segments: 1, bytes: part.byteCount)
      outcome.addChanges(of: [part.segment], report, in: store)
    } catch let error as StoreError {
      guard let reason = error.rejection else { throw error }
      outcome.add(try await store.reject(part.segment, reason), segments: 1, bytes: part.byteCount)
    }
    return true
  }

  /// Folds segments in commits of bounded work, and removes those that were folded from `parts`.
  ///
  /// - Parameter rejecting: whether to record segments that every replica rejects. That reads each segment
  ///   twice.
  /// - Returns: why the remaining ones were not folded, if that concerns only their zone; nil if all were.
  private func foldTogether(
    _ parts: inout ArraySlice<FoldBatch.Part>, _ outcome: inout FoldOutcome, rejecting: Bool = false
  ) async throws -> SyncFailure? {
    do {
      while !parts.isEmpty {
        let segments = parts.map(\.segment)
        let report =
          try await rejecting
          ? store.ingestOrReject(segments, isMoreToCome: true) : store.ingest(segments, isMoreToCome: true)
        let taken = parts.prefix(report.segments)
        outcome.add(report, segments: taken.count, bytes: taken.reduce(0) { $0 + $1.byteCount })
        outcome.addChanges(of: taken.map(\.segment), report, in: store)
        parts = parts.dropFirst(taken.count)
      }
      return nil
    } catch {
      let failure = SyncFailure(error)
      guard failure.scope == .zone else { throw error }
      return failure
    }
  }
}
