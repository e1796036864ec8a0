package import EventStore

/// One zone's part of a round: fetch and fold to the end, ship what is pending, and again until neither moves.
///
/// It is pure: each result gives the next effect, at most one at a time; nil ends it.
package struct ZoneRound: Sendable {
  /// A zone whose remote log grows as fast as it is folded must not hold up a round for ever.
  static let passesMax = 16
  /// So many segments are shipped before others' are looked at again.
  static let segmentsInPassMax = 64
  /// So many pages are fetched before what is pending is shipped: others may append as fast as this folds.
  static let pagesInPassMax = 64
  /// Others may close the store's lane as often while it ships.
  static let ownRejectionsMax = 3

  package private(set) var report: ZoneReport
  private let attachment: ZoneAttachment
  private let steps: SyncSteps
  private var token: ChangeToken?
  /// Up to where no segment that is still to be shipped can lie.
  private var shippedThrough: UInt64 = 0
  private var passesLeft = Self.passesMax
  private var segmentsLeft = Self.segmentsInPassMax
  private var pagesLeft = Self.pagesInPassMax
  private var hasMore = false
  /// Whether the effect that is outstanding is about segments of the log. What fails then may park the zone.
  private var isFetching = false
  private var isParked = false
  private var hasFoundNoLog = false
  /// How often the log has rejected what was shipped.
  private var ownRejections = 0
  private var segment: PackedSegment?
  private let assetPolicy: AssetPolicy
  private let hasUnsentAssets: Bool
  private var assets: ZoneAssets
  /// The asset that is being downloaded.
  private var wanted: AssetReference?

  /// - Parameters:
  ///   - assetChunksMax: the most chunks of assets that move in the round; nil for any number.
  ///   - search: how far earlier rounds looked for assets.
  package init(
    _ state: ZoneSyncState, steps: SyncSteps, assetChunksMax: Int? = nil, search: AssetSearch = AssetSearch()
  ) {
    report = ZoneReport(state.zone)
    attachment = state.attachment
    token = state.token
    self.steps = steps
    assetPolicy = state.assetPolicy
    hasUnsentAssets = state.hasUnsentAssets
    assets = ZoneAssets(chunksMax: assetChunksMax, search: search)
  }

  /// How far assets were looked for; nil in a zone that looks for none.
  package var search: AssetSearch? { assetPolicy == .eager ? assets.search : nil }

  /// Whether it only tells the remote that the zone was deleted here.
  var isDeletion: Bool { attachment == .deleting }

  // MARK: Its steps

  package mutating func start() -> ZoneEffect? {
    switch (attachment, token) {
    case (.local, let token):
      report.status = .local
      report.isAtRemote = token != nil
      return nil
    case (.deleting, let token?): return .deleteAtRemote(token.incarnation)
    case (.deleting, nil): return nil
    case (.offered, let token?): return .adopt(token.incarnation)
    case (_, nil): return .create
    case (.attached, _): return beginPass()
    }
  }

  package mutating func step(_ result: ZoneResult) -> ZoneEffect? {
    switch result {
    case .created(let incarnation):
      token = .start(of: report.zone, incarnation)
      return .adopt(incarnation)
    case .adopted: return beginPass()
    case .deletedMeanwhile(let incarnation): return .deleteAtRemote(incarnation)
    case .fetched(let outcome): return didFetch(outcome)
    case .folded(let outcome): return didFold(outcome)
    case .prepared(nil): return endPass()
    case .prepared(let packed?):
      segment = packed
      return .append(packed, after: shippedThrough)
    case .preparedNaming(let packed, let named):
      segment = packed
      assets.wait(for: named)
      return uploadOrAppend()
    case .uploaded(let transfer):
      guard assets.didUpload(transfer, &report) else { return pause() }
      return segment == nil ? findUnsentAsset() : uploadOrAppend()
    case .foundUnsentAsset(nil): return findAsset()
    case .foundUnsentAsset(let asset?): return uploadLate(asset)
    case .foundAsset(let found): return assets.didFind(found).flatMap { download($0) }
    case .downloaded(let transfer):
      guard let wanted else { return nil }
      return assets.didDownload(wanted, transfer, &report) ? findAsset() : pause()
    case .appended(let outcome): return didAppend(outcome)
    case .acknowledged(let folded): return didAcknowledge(folded)
    case .withdrawn(let isRemoved):
      report.status = isRemoved ? .removed : .paused(.deleted)
      return nil
    case .deletedAtRemote: return token.map { .finishDeletion($0.incarnation) }
    case .finishedDeletion:
      report.status = .removed
      return nil
    case .failed(let failure): return didFail(failure)
    }
  }

  private mutating func beginPass() -> ZoneEffect? {
    guard passesLeft > 0 else {
      if !isParked { report.status = .unfinished }
      return nil
    }
    passesLeft -= 1
    segmentsLeft = Self.segmentsInPassMax
    pagesLeft = Self.pagesInPassMax
    shippedThrough = max(shippedThrough, token?.offset ?? 0)
    guard steps.contains(.fetch), !isParked, let token else { return ship() }
    return fetch(after: token)
  }

  private mutating func fetch(after token: ChangeToken) -> ZoneEffect? {
    guard pagesLeft > 0 else { return ship() }
    pagesLeft -= 1
    isFetching = true
    return .fetch(after: token)
  }

  private mutating func didFetch(_ outcome: FetchOutcome) -> ZoneEffect? {
    switch outcome {
    case .gone(let fate): return end(fate)
    case .segments(let segments, let hasMore):
      // A page without segments is the end, whatever it says.
      self.hasMore = hasMore && !segments.isEmpty
      guard !segments.isEmpty, let token else { return ship() }
      return .fold(segments, after: token, isMoreToCome: self.hasMore && pagesLeft > 0)
    }
  }

  private mutating func didFold(_ outcome: FoldOutcome) -> ZoneEffect? {
    token = outcome.token
    shippedThrough = max(shippedThrough, outcome.token.offset)
    report.received += outcome.report.folded
    report.receivedSegments += outcome.segments
    report.bytesReceived += outcome.bytes
    report.conflicts += outcome.report.conflicts
    report.rejectedSegments += outcome.report.rejected
    report.removedTransactions += outcome.report.removed
    if outcome.isForked {
      // What is pending would lie there as a second content of its sequences, and every other store would park.
      report.status = .forked(offset: outcome.token.offset + 1)
      return nil
    }
    if let problem = outcome.problem { return didFail(problem) }
    return hasMore ? fetch(after: outcome.token) : ship()
  }

  private mutating func ship() -> ZoneEffect? {
    isFetching = false
    return steps.contains(.ship) ? .prepare : endPass()
  }

  private mutating func didAppend(_ outcome: AppendOutcome) -> ZoneEffect? {
    guard let segment else { return nil }
    switch outcome {
    case .appended(let place), .alreadyThere(let place):
      shippedThrough = max(shippedThrough, place.offset)
      return .acknowledge(segment.header, place)
    case .fork(let place):
      // What lies there is fetched, and tells which of the pending transactions need another epoch.
      if steps.contains(.fetch), !isParked, passesLeft > 0 { return beginPass() }
      report.status = .forked(offset: place.offset)
      return nil
    case .gone(let fate): return end(fate)
    }
  }

  private mutating func didAcknowledge(_ folded: FoldReport) -> ZoneEffect? {
    if let moved = folded.token { token = moved }
    report.rejectedSegments += folded.rejected
    if let segment, folded.rejected == 0 {
      report.sent += Int(segment.header.transactionCount)
      report.sentSegments += 1
      report.bytesSent += segment.bytes.count
    }
    segment = nil
    segmentsLeft -= 1
    // What every replica rejects is issued again under the next epoch, once in a pass, and not without end.
    if folded.rejected > 0 {
      ownRejections += 1
      if ownRejections > Self.ownRejectionsMax { return didFail(.rejectedAgain) }
    }
    return segmentsLeft > 0 && folded.rejected == 0 ? .prepare : beginPass()
  }

  /// Nothing is pending any more. What was shipped may have come after what others shipped meanwhile, and the log
  /// may not have been read to its end.
  private mutating func endPass() -> ZoneEffect? {
    let isAhead = hasMore || segmentsLeft < Self.segmentsInPassMax
    if isAhead && steps.contains(.fetch) && !isParked { return beginPass() }
    // The log comes first: what others wrote is seen before what it names.
    return hasUnsentAssets && steps.contains(.ship) ? findUnsentAsset() : findAsset()
  }

  // MARK: Assets

  /// The assets that a segment names go before it.
  private mutating func uploadOrAppend() -> ZoneEffect? {
    guard let segment else { return nil }
    guard let asset = assets.next else { return .append(segment, after: shippedThrough) }
    if assets.isSpent { return pause() }
    return .upload(asset, segment.header.incarnation, chunksMax: assets.chunksMax)
  }

  private func findUnsentAsset() -> ZoneEffect { .findUnsentAsset(after: assets.lastUnsent) }

  /// What a segment was shipped without goes once it is here.
  private mutating func uploadLate(_ asset: AssetReference) -> ZoneEffect? {
    guard let token else { return nil }
    // What this round has found damaged, or sent with a segment, it need not look at again.
    guard assets.awaitUnsent(asset) else { return findUnsentAsset() }
    if assets.isSpent { return pause() }
    return .upload(asset, token.incarnation, chunksMax: assets.chunksMax)
  }

  private func findAsset() -> ZoneEffect? {
    guard assetPolicy == .eager, steps.contains(.fetch) else { return nil }
    return .findAsset(after: assets.search.last, namedAfter: assets.search.askedThrough)
  }

  private mutating func download(_ asset: AssetReference) -> ZoneEffect? {
    guard let token else { return nil }
    if assets.isSpent { return pause() }
    wanted = asset
    return .download(asset, token.incarnation, chunksMax: assets.chunksMax)
  }

  /// Leaves the rest to the next round, which begins with the log.
  private mutating func pause() -> ZoneEffect? {
    if !isParked { report.status = .unfinished }
    return nil
  }

  // MARK: What ends it

  private mutating func end(_ fate: ZoneFate) -> ZoneEffect? {
    isFetching = false
    report.status = .paused(fate)
    guard fate == .deleted, let token else { return nil }
    return .withdraw(token.incarnation)
  }

  private mutating func didFail(_ failure: SyncFailure) -> ZoneEffect? {
    if isDeletion, let token, failure.code == RemoteError.Code.zoneUnknown.rawValue, !hasFoundNoLog {
      // There is nothing to delete: the remote never made the zone, or went back to before it did.
      hasFoundNoLog = true
      return .finishDeletion(token.incarnation, isTold: false)
    }
    let isAboutOneSegment = isFetching && !Self.stoppingCodes.contains(failure.code)
    guard failure.scope == .zone, isAboutOneSegment, let token else {
      // What was parked says more than what failed after it.
      if !isParked || failure.scope == .round { report.status = .failed(failure) }
      if isParked { report.shippingFailure = failure }
      return nil
    }
    // The segments behind it wait, since their order demands it. What is pending does not depend on them.
    isParked = true
    report.status = .parked(offset: failure.offset ?? token.offset + 1, failure)
    return ship()
  }

  /// After these nothing may be appended: the log is not the one that was folded, the zone is not here, or the remote
  /// does not let this user in. None of them is about one segment.
  private static let stoppingCodes: Set<String> = [
    RemoteError.Code.denied.rawValue,
    RemoteError.Code.wentBack.rawValue, RemoteError.Code.zoneUnknown.rawValue,
    StoreError.Code.incarnationChanged.rawValue,
  ]
}
