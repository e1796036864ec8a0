import EventStore

/// One zone's part of a round: fetch and fold to the end, ship what is pending, and again until neither
/// moves. Then its assets.
///
/// It is pure: each result gives the next effect, at most one at a time; nil ends it. See ``Phase`` for which
/// result belongs where, and ``ReplicatorMachine`` for what must happen before what.
///
/// The report's status is set only when the round ends. Until then it is `unfinished`; only a round that has
/// done all of its steps says `inSync`.
struct ZoneRound: Sendable {
  /// A zone whose remote log grows as fast as it is folded must not hold up a round without end.
  static let passesMax = 16
  /// So many segments are shipped before others' are fetched again.
  static let segmentsInPassMax = 64
  /// So many pages are fetched before what is pending is shipped: others may append as fast as this folds.
  static let pagesInPassMax = 64
  /// Others may close the store's lane as often while it ships.
  static let ownRejectionsMax = 3
  /// The log may be found as often in a round to have lost what the store has read.
  static let lossesMax = 4
  /// The zone's key may change as often while the store ships.
  static let recutsMax = 3

  private(set) var report: ZoneReport
  let state: ZoneSyncState
  let steps: SyncSteps
  /// Whether the remote says that the log ends at the token, and nothing is pending: then it is not read.
  let isLogUnchanged: Bool
  private let misplacedResults: MisplacedResults
  private var phase = Phase.ready
  /// The status that fetching has ended with, while shipping continues. What fails after it says less.
  private(set) var parked: ZoneStatus?
  /// Why nothing more is sent in this round, while the log is fetched and assets are downloaded; nil if
  /// nothing forbids it.
  private(set) var held: SyncFailure?
  private var lossesLeft = Self.lossesMax
  private let answer: @Sendable (ZoneID, ZoneFate) -> ZoneEndAnswer
  /// Whether the log was closed, and was opened again in this round.
  private(set) var hasReopened = false
  var assets: ZoneAssets
  let policy: SyncPolicy
  /// How many bytes of transactions were sent, unpacked.
  private(set) var sentBytes: UInt64 = 0
  /// How many bytes a snapshot stands for since a floor has taken effect in this round; 0 if none has.
  private(set) var floorDueBytes: UInt64 = 0

  /// - Parameters:
  ///   - isLogUnchanged: whether the log is not read.
  ///   - assetChunksMax: the most chunks of assets that move in the round; nil for any number.
  ///   - policy: says when snapshots are made, and logs trimmed.
  ///   - answer: what becomes of the zone if its log has ended.
  ///   - search: how far earlier rounds looked for assets.
  ///   - hold: the ``hold`` of the round before.
  init(
    _ state: ZoneSyncState, steps: SyncSteps, isLogUnchanged: Bool = false, assetChunksMax: Int? = nil,
    policy: SyncPolicy = SyncPolicy(),
    answer: @escaping @Sendable (ZoneID, ZoneFate) -> ZoneEndAnswer = ZoneRules().answer,
    search: AssetSearch = AssetSearch(), hold: SyncFailure? = nil,
    misplacedResults: MisplacedResults = .standard
  ) {
    report = ZoneReport(state.zone, .unfinished)
    self.state = state
    self.steps = steps
    self.isLogUnchanged = isLogUnchanged
    self.misplacedResults = misplacedResults
    self.policy = policy
    self.answer = answer
    held = state.pending > 0 ? hold : nil
    assets = ZoneAssets(chunksMax: assetChunksMax, search: search)
  }

  /// How far assets were looked for; nil in a zone that looks for none.
  var search: AssetSearch? { state.assetPolicy == .eager ? assets.search : nil }

  /// Why the next round is to send nothing either; nil if it is to try.
  var hold: SyncFailure? { held.flatMap { $0.errorCode.isForLong ? $0 : nil } }

  /// Whether it only tells the remote that the zone was deleted here.
  var isDeletion: Bool { state.attachment == .deleting }

  // MARK: Steps

  /// Gives the first effect; nil if the zone has nothing to do. It is called once.
  mutating func start() -> ZoneEffect? {
    guard case .ready = phase else {
      preconditionFailure("the round of zone \(report.zone) was started twice")
    }
    switch (state.attachment, state.token) {
    case (.local, let token):
      (report.isAtRemote, report.wasSynced) = (token != nil, token.map { $0.offset > 0 } ?? false)
      return finish(.local)
    case (.deleting, let token?): return deleteAtRemote(token.incarnation)
    case (.deleting, nil): return end(.failed(.deletionWithoutLog))
    case (.offered, let token?): return adopt(token)
    case (.attached, let token?) where state.hasBrokenOrigin && steps.contains(.fetch):
      return enter(.mendingOrigin(token), .mendOrigin)
    case (.attached, let token?): return readLog(after: token)
    case (.attached, nil) where held != nil: return finish(.unfinished)
    case (.attached, nil), (.offered, nil): return enter(.creating, .create)
    }
  }

  mutating func step(_ result: ZoneResult) -> ZoneEffect? {
    switch (phase, result) {
    case (.creating, .created(let incarnation)): return adopt(.start(of: report.zone, incarnation))
    case (.adopting(let token), .adopted): return beginPass(Pass(from: token))
    case (.adopting, .deletedMeanwhile(let incarnation)): return deleteAtRemote(incarnation)
    case (.mendingOrigin(let token), .mendedOrigin): return readLog(after: token)
    case (.fetching(let pass), .fetched(let outcome)): return didFetch(outcome, pass)
    case (.fetching(let pass), .folded(let outcome)), (.folding(let pass), .folded(let outcome)),
      (.preparing(let pass), .folded(let outcome)), (.parting(let pass), .folded(let outcome)):
      return didFold(outcome, pass)
    case (.puttingBack(let pass, let offset), .putBack(let count, let isAllowed)):
      report.putBack += count
      report.restoresLog = state.restoresLog
      return count > 0 ? fetch(pass) : part(pass, from: offset, isLost: isAllowed)
    case (.preparing(let pass), .prepared(nil, _)): return endPass(pass)
    case (.preparing(let pass), .prepared(let segment?, let named)):
      assets.wait(for: named)
      return uploadOrAppend(segment, pass)
    case (.uploading(let pass, let segment), .uploaded(let transfer)):
      return assets.didUpload(transfer, &report) ? uploadOrAppend(segment, pass) : finish(.unfinished)
    case (.appending(let pass, let segment), .appended(let outcome)): return didAppend(outcome, segment, pass)
    case (.acknowledging(let pass, let segment), .acknowledged(let folded)):
      return didAcknowledge(folded, segment, pass)
    case (.makingSnapshot(let incarnation), .madeSnapshot(let isMade)):
      report.madeSnapshot = isMade
      guard isMade, let age = policy.trimMilliseconds, age >= 0 else { return findAssets(incarnation) }
      return enter(.trimming(incarnation), .trim(incarnation, olderThanMilliseconds: UInt64(age)))
    case (.trimming(let incarnation), .trimmed(let offset)):
      report.trimmedTo = offset
      return findAssets(incarnation)
    case (.findingUnsentAsset(let incarnation), .foundUnsentAsset(nil)): return findAsset(incarnation)
    case (.findingUnsentAsset(let incarnation), .foundUnsentAsset(let asset?)):
      return uploadUnsent(asset, incarnation)
    case (.uploadingUnsentAsset(let incarnation), .uploaded(let transfer)):
      return assets.didUpload(transfer, &report) ? findUnsentAsset(incarnation) : finish(.unfinished)
    case (.findingAsset(let incarnation), .foundAsset(let found)):
      guard let asset = assets.didFind(found) else { return finish(isLogUnchanged ? .unchanged : .inSync) }
      return download(asset, incarnation)
    case (.downloading(let incarnation, let asset), .downloaded(let transfer)):
      return assets.didDownload(asset, transfer, &report) ? findAsset(incarnation) : finish(.unfinished)
    case (.recutting(let pass), .forgotCut): return beginPass(pass)
    case (.reopening(let pass, let fate), .reopened):
      report.reopened = fate
      return beginPass(pass)
    case (.withdrawing(let fate, let answer), .withdrawn(let isDone)):
      return end(!isDone ? .paused(fate) : answer == .detach ? .local : .removed)
    case (.deletingAtRemote(let incarnation), .deletedAtRemote):
      return finishDeletion(incarnation, remoteHasDeleted: true)
    case (.finishingDeletion, .finishedDeletion): return end(.removed)
    case (.ready, _), (.done, _): return misplace(result)
    case (_, .removedMeanwhile): return end(.removed)
    case (_, .failed(let failure)): return didFail(failure)
    default: return misplace(result)
    }
  }

  mutating func enter(_ next: Phase, _ effect: ZoneEffect) -> ZoneEffect {
    phase = next
    return effect
  }

  private mutating func adopt(_ token: ChangeToken) -> ZoneEffect {
    enter(.adopting(token), .adopt(token.incarnation))
  }

  // MARK: Fetching

  private mutating func readLog(after token: ChangeToken) -> ZoneEffect? {
    isLogUnchanged && state.snapshotNeededBehind == nil
      ? findAssets(token.incarnation) : beginPass(Pass(from: token))
  }

  private mutating func beginPass(_ pass: Pass) -> ZoneEffect? {
    guard pass.passesLeft > 0 else { return finish(.unfinished) }
    var pass = pass
    pass.renew()
    return steps.contains(.fetch) && parked == nil ? fetch(pass) : ship(pass)
  }

  private mutating func fetch(_ pass: Pass) -> ZoneEffect? {
    guard pass.pagesLeft > 0 else { return ship(pass) }
    var pass = pass
    pass.pagesLeft -= 1
    return enter(.fetching(pass), .fetch(after: pass.token))
  }

  private mutating func didFetch(_ outcome: FetchOutcome, _ pass: Pass) -> ZoneEffect? {
    switch outcome {
    case .gone(let fate): return didClose(fate, pass)
    case .segments(let segments, let hasMore):
      var pass = pass
      // A page without segments is the end, whatever it says.
      pass.hasMore = hasMore && !segments.isEmpty
      guard !segments.isEmpty else { return ship(pass) }
      return enter(
        .folding(pass),
        .fold(segments, after: pass.token, isMoreToCome: pass.hasMore && pass.pagesLeft > 0))
    }
  }

  private mutating func didFold(_ outcome: FoldOutcome, _ pass: Pass) -> ZoneEffect? {
    var pass = pass
    pass.move(to: outcome.token)
    if outcome.beganAt != nil { pass.hasMore = true }
    if outcome.partedAt != nil { pass.forgetShipped() }
    report.add(outcome)
    // It may be what lets the user write again.
    if outcome.segments > 0, held?.errorCode == .readOnly { held = nil }
    // Shipping now would give the log different bytes for sequences that it has. Every other store would then
    // park.
    if outcome.isForked { return end(.forked(offset: outcome.token.offset + 1)) }
    if let problem = outcome.problem { return didFail(problem, pass) }
    return pass.hasMore && parked == nil ? fetch(pass) : ship(pass)
  }

  /// - Parameter isLost: whether what was at the offset cannot be put back.
  private mutating func part(_ pass: Pass, from offset: UInt64, isLost: Bool) -> ZoneEffect {
    enter(.parting(pass), .part(pass.token.incarnation, from: offset, isLost: isLost))
  }

  // MARK: Shipping

  private mutating func ship(_ pass: Pass) -> ZoneEffect? {
    // The log is read again while segments are prepared.
    steps.contains(.ship) && (held == nil || state.isRereading)
      ? enter(.preparing(pass), .prepare) : endPass(pass)
  }

  mutating func append(_ segment: PackedSegment, _ pass: Pass) -> ZoneEffect {
    enter(.appending(pass, segment), .append(segment, after: pass.shippedThrough))
  }

  private mutating func didAppend(
    _ outcome: AppendOutcome, _ segment: PackedSegment, _ pass: Pass
  ) -> ZoneEffect? {
    switch outcome {
    case .appended(let place), .alreadyThere(let place):
      var pass = pass
      pass.shippedThrough = max(pass.shippedThrough, place.offset)
      return enter(.acknowledging(pass, segment), .acknowledge(segment.header, place))
    case .fork(let place):
      // The log's content is fetched first. It says which of the pending transactions need another epoch.
      if steps.contains(.fetch), parked == nil, pass.passesLeft > 0 { return beginPass(pass) }
      return end(.forked(offset: place.offset))
    case .overlaps:
      // What the log has of these sequences is fetched first. It is compared, and what is left is cut again.
      return steps.contains(.fetch) && parked == nil ? beginPass(pass) : finish(.unfinished)
    case .gone(let fate): return didClose(fate, pass)
    }
  }

  private mutating func didAcknowledge(
    _ folded: IngestReport, _ segment: PackedSegment, _ pass: Pass
  ) -> ZoneEffect? {
    var pass = pass
    if let moved = folded.token { pass.token = moved }
    pass.segmentsLeft -= 1
    floorDueBytes = max(floorDueBytes, folded.snapshotDueBytes)
    report.rejectedSegments += folded.rejected
    guard folded.rejected > 0 else {
      report.sent += Int(segment.header.transactionCount)
      report.sentSegments += 1
      report.bytesSent += segment.bytes.count
      sentBytes += segment.header.unpackedBytes
      return pass.segmentsLeft > 0 ? enter(.preparing(pass), .prepare) : beginPass(pass)
    }
    // What every replica rejects is issued again under the next epoch, once in a pass, and not without end.
    pass.ownRejections += 1
    return pass.ownRejections > Self.ownRejectionsMax ? fail(.rejectedAgain) : beginPass(pass)
  }

  /// Nothing is pending any more. What was shipped may have come after what others shipped meanwhile, and the
  /// log may not have been read to its end.
  private mutating func endPass(_ pass: Pass) -> ZoneEffect? {
    let isAhead = pass.hasMore || pass.hasShipped
    if isAhead, steps.contains(.fetch), parked == nil { return beginPass(pass) }
    if let effect = makeSnapshotIfDue(pass.token) { return effect }
    // The log comes first: what others wrote is seen before the assets that it names.
    return findAssets(pass.token.incarnation)
  }

  // MARK: The end

  /// Ends the round with this status, even if the zone was parked.
  private mutating func end(_ status: ZoneStatus) -> ZoneEffect? {
    report.status = status
    phase = .done
    return nil
  }

  /// Ends the round. A zone that is parked stays so, and one that could not be sent is never in sync.
  mutating func finish(_ status: ZoneStatus) -> ZoneEffect? {
    if parked != nil, held != nil { report.shippingFailure = held }
    return end(parked ?? held.map { .failed($0) } ?? status)
  }

  private mutating func deleteAtRemote(_ incarnation: IncarnationID) -> ZoneEffect {
    enter(.deletingAtRemote(incarnation), .deleteAtRemote(incarnation))
  }

  private mutating func finishDeletion(_ incarnation: IncarnationID, remoteHasDeleted: Bool) -> ZoneEffect {
    enter(
      .finishingDeletion(incarnation, remoteHasDeleted: remoteHasDeleted),
      .finishDeletion(incarnation, remoteHasDeleted: remoteHasDeleted))
  }

  /// The zone's log is closed.
  private mutating func didClose(_ fate: ZoneFate, _ pass: Pass) -> ZoneEffect? {
    // Nothing waits for a segment of a log that is closed.
    if parked != nil { parked = .paused(fate) }
    let answer = state.restoresLog ? .makeAgain : answer(report.zone, fate)
    switch answer {
    case .makeAgain where fate.mayReopen && !hasReopened && steps.contains(.ship):
      (hasReopened, parked) = (true, nil)
      return enter(.reopening(pass, fate), .reopen(pass.token.incarnation))
    case .keep, .makeAgain: return end(.paused(fate))
    case .remove, .detach:
      return enter(
        .withdrawing(fate, answer),
        .withdraw(pass.token.incarnation, isRevoked: fate == .revoked, answer))
    }
  }

  private mutating func didFail(_ failure: SyncFailure) -> ZoneEffect? {
    switch phase {
    case .deletingAtRemote(let incarnation), .finishingDeletion(let incarnation, remoteHasDeleted: true):
      guard isDeletion, failure.errorCode == .zoneUnknown else { return fail(failure) }
      // There is nothing to delete: the remote never made the zone, or went back to before it did.
      return finishDeletion(incarnation, remoteHasDeleted: false)
    case .makingSnapshot(let incarnation) where failure.errorCode != .init(StoreError.Code.closed):
      report.snapshotFailure = failure
      return findAssets(incarnation)
    case .trimming(let incarnation) where failure.errorCode != .init(StoreError.Code.closed):
      report.trimFailure = failure
      return findAssets(incarnation)
    case .fetching(let pass), .folding(let pass): return didFail(failure, pass)
    case .appending(let pass, let segment): return didFailToAppend(failure, segment, pass)
    case .creating where failure.errorCode.isForLong && failure.scope == .zone:
      held = failure
      return finish(.unfinished)
    // Another store may send again what this one may not.
    case .reopening(_, .reset) where failure.scope == .zone && failure.errorCode.stopsOnlyShipping:
      report.shippingFailure = failure
      return end(.paused(.reset))
    case .uploading(let pass, _): return didFailToSend(failure, pass.token.incarnation)
    case .uploadingUnsentAsset(let incarnation): return didFailToSend(failure, incarnation)
    default: return fail(failure)
    }
  }

  /// Fetching or folding failed. If one segment is the reason, those after it wait, because the order demands
  /// it. What is pending does not depend on them.
  private mutating func didFail(_ failure: SyncFailure, _ pass: Pass) -> ZoneEffect? {
    if case .preparing = phase { return fail(failure) }
    // What the log has lost at its end, this store may have. If others have written there, the logs part.
    // Behind the token it may have lost what this store has sent.
    if case .fetching = phase, failure.errorCode == .wentBack, lossesLeft > 0, let offset = failure.offset,
      offset > 0, offset - 1 <= pass.token.offset
    {
      lossesLeft -= 1
      return steps.contains(.ship) && held == nil
        ? enter(.puttingBack(pass, from: offset), .putBack(upTo: pass.token, from: offset))
        : part(pass, from: offset, isLost: false)
    }
    guard failure.scope == .zone, !failure.errorCode.stopsZone else { return fail(failure) }
    parked = .parked(offset: failure.offset ?? pass.token.offset + 1, failure)
    return ship(pass)
  }

  private mutating func didFailToAppend(
    _ failure: SyncFailure, _ segment: PackedSegment, _ pass: Pass
  ) -> ZoneEffect? {
    guard failure.errorCode == .keyOutdated, failure.scope == .zone, pass.recuts < Self.recutsMax else {
      return didFailToSend(failure, pass.token.incarnation)
    }
    // The log has the new key: it is fetched before the segment is cut again.
    var pass = pass
    pass.recuts += 1
    return enter(.recutting(pass), .forgetCut(segment.header))
  }

  /// Nothing was sent. What others wrote does not depend on that.
  private mutating func didFailToSend(_ failure: SyncFailure, _ incarnation: IncarnationID) -> ZoneEffect? {
    guard failure.scope == .zone, failure.errorCode.stopsOnlyShipping else { return fail(failure) }
    held = failure
    return findAsset(incarnation)
  }

  /// Ends the round with a failure. Why the zone is parked says more than what failed after it, unless that
  /// ends the round.
  private mutating func fail(_ failure: SyncFailure) -> ZoneEffect? {
    if parked != nil { report.shippingFailure = failure }
    return failure.scope == .round ? end(.failed(failure)) : finish(.failed(failure))
  }

  /// Nothing is known of what was done: such a zone is never in sync.
  private mutating func misplace(_ result: ZoneResult) -> ZoneEffect? {
    end(.failed(misplacedResults.failure(caseName(result), in: caseName(phase), scope: .zone)))
  }
}
