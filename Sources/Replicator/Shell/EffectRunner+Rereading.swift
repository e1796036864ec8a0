import EventStore
import OperationFormat
import Synchronization

/// Reading a log again: if an entry was given up that the store had folded, or if the user asks for it.
extension EffectRunner {
  /// Fetches a page. If the token's entry was given up, reads the log again from there to its end instead,
  /// and gives what was folded.
  func fetch(_ zone: ZoneID, after token: ChangeToken) async throws -> ZoneResult {
    // A round that ended between a rejection and the question leaves it to the next one.
    if askedRejections.last(of: zone, token.incarnation) == nil {
      do {
        if let offset = try await givenUp(beforeRejectionsAfter: 0, of: zone, token.incarnation),
          try await reread(zone, from: offset)
        {
          return .folded(try await readOn(zone))
        }
      } catch let error as RemoteError where error.code == .zoneUnknown {
        guard try await makeAgain(zone, token.incarnation) else { throw error }
      }
    }
    // Asked first: another process may send something meanwhile.
    let sent = try sentOffset(behind: token, near: Limits.placeMax)
    // A log that a snapshot stands for is not read: the first look at it is short.
    let isFirst = token.offset == 0
    let bytesMax = isFirst ? min(pageBytesMax, Self.firstPageBytesMax) : pageBytesMax
    let outcome: FetchOutcome
    do throws(RemoteError) {
      outcome = try await remote.segments(after: token, bytesMax: bytesMax)
    } catch {
      if isFirst, error.code == .damaged, let began = try await begin(zone, token.incarnation) {
        return .folded(began)
      }
      // The log begins later. What the store has not sent is folded into the snapshot that stands for the rest.
      if error.code == .expired {
        if let began = try await begin(zone, token.incarnation, isExpired: true) { return .folded(began) }
        throw await explained(error, in: zone, token.incarnation)
      }
      if error.code == .zoneUnknown, try await makeAgain(zone, token.incarnation) {
        return .fetched(try await remote.segments(after: token, bytesMax: pageBytesMax))
      }
      guard error.code == .quarantined, let offset = error.offset, try await reread(zone, from: offset)
      else { throw error }
      return .folded(try await readOn(zone))
    }
    if isFirst, case .segments(let segments, _) = outcome, !segments.isEmpty,
      let began = try await begin(zone, token.incarnation)
    {
      return .folded(began)
    }
    clock.note(outcome, wall: store.wallMilliseconds())
    switch outcome {
    case .gone(let fate): try await endRereading(zone, before: fate)
    case .segments(let segments, let hasMore):
      try await store.noteLogIsThere(zone)
      guard let sent, !hasMore, sent > segments.last?.offset ?? token.offset else { break }
      // It ends before what this store has sent. What it has is folded first.
      if !segments.isEmpty { return .fetched(.segments(segments, hasMore: true)) }
      throw RemoteError(
        .wentBack,
        "the log of zone “\(zone)” ends at offset \(token.offset), and this store has sent a segment to "
          + "offset \(sent)",
        hint: "a round that may write sends it again. If it does not, check the remote with `replay remote`",
        offset: token.offset + 1)
    }
    return .fetched(outcome)
  }

  private static let firstPageBytesMax = 1 << 18

  /// Ends a rereading at a closed log: nothing follows. A log that the remote has discarded, or that
  /// this account may not read, was not read, so the store keeps what that log does not have.
  ///
  /// - Returns: how many transactions were removed that the log does not have any more.
  @discardableResult
  private func endRereading(_ zone: ZoneID, before fate: ZoneFate) async throws -> Int {
    guard !fate.discardsLog, fate != .revoked, try store.isRereading(zone) else { return 0 }
    let removed = try await store.endRereading(zone)
    try await store.finishRenewal(of: zone)
    return removed
  }

  /// Makes a zone again at a remote that does not have it: one that went back to before the zone was made, if the user
  /// lets the zone's log be read again; or another one than before, if the app moves to it.
  ///
  /// - Returns: whether the remote has that log now.
  /// - Throws: ``RemoteError`` `nameTaken` if it has another zone of that name.
  private func makeAgain(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool {
    guard try store.isRereading(zone) || store.restoresLog(of: zone) else { return false }
    if try await remote.createZone(zone, proposing: incarnation) == incarnation { return true }
    throw RemoteError.nameTaken(zone, remote.name)
  }

  /// Folds a page of segments. If one is rejected because an entry was given up that the store had folded, reads
  /// the log again from there to its end.
  func fold(
    _ segments: [StoredSegment], of zone: ZoneID, after token: ChangeToken, isMoreToCome: Bool
  ) async throws -> FoldOutcome {
    let asked = askedRejections.take(of: zone, token.incarnation)
    var outcome = try await foldPage(segments, after: token, isMoreToCome: isMoreToCome)
    // Up to there the log is the one that was read.
    if let offset = outcome.lostAt {
      outcome.begin(
        again: try await readAgain(zone, token.incarnation, partedAt: offset, knownAs: folded(zone)))
      return outcome
    }
    // A store that has what this one has not any more says in a snapshot what follows. Until then the zone waits.
    if outcome.problem?.errorCode == .init(StoreError.Code.retired),
      let began = try? await begin(zone, token.incarnation, isExpired: true, after: outcome.token.offset)
    {
      outcome.begin(again: began)
      return outcome
    }
    guard outcome.report.rejected > 0 else {
      if let asked { askedRejections.note(asked, of: zone, token.incarnation) }
      return outcome
    }
    guard let offset = try await givenUp(beforeRejectionsAfter: asked ?? 0, of: zone, token.incarnation),
      try await reread(zone, from: offset)
    else { return outcome }
    let again = try await readOn(zone)
    outcome.add(again.report, segments: again.segments, bytes: again.bytes)
    (outcome.token, outcome.problem, outcome.isForked) = (again.token, again.problem, again.isForked)
    return outcome
  }

  /// The offset of an entry that was given up, and that the store has folded, if a rejected segment was written
  /// after the log without it. If all answers are there and none says so, it is not asked again.
  ///
  /// - Parameter asked: the offset up to which rejections were asked for before.
  private func givenUp(
    beforeRejectionsAfter asked: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws -> UInt64? {
    let rejected = try store.read { try $0.rejectedSegments(in: zone) }.filter {
      [.chain, .base].contains($0.reason) && $0.offset > asked
    }
    var placesLeft = Self.placesAskedForMax
    for rejection in rejected where placesLeft > 0 {
      if let offset = try await givenUp(before: rejection.offset, of: zone, incarnation, &placesLeft) {
        return offset
      }
    }
    askedRejections.note(rejected.last?.offset ?? asked, of: zone, incarnation)
    return nil
  }

  /// As ``givenUp(beforeRejectionsAfter:of:_:)``, of one rejection: looks before it, and before the base that it says
  /// itself.
  private func givenUp(
    before rejected: UInt64, of zone: ZoneID, _ incarnation: IncarnationID, _ placesLeft: inout Int
  ) async throws -> UInt64? {
    var base: UInt64?
    var offset = rejected - 1
    var isLast = false
    while offset > 0 && placesLeft > 0 {
      let places = try store.placesBack(from: offset, of: zone, incarnation, limit: placesLeft)
      for place in places {
        placesLeft -= 1
        switch try await entry(rejected, after: place, isWanted: base == nil && !isLast) {
        case .givenUp(let offset): return offset
        case .base(let found): base = found
        case .absent: isLast = true
        case .differs: break
        }
        offset = min(offset, place.offset)
      }
      if isLast { return nil }
      if let base {
        (offset, isLast) = (base, true)
      } else {
        // The remote told another chain at the entries so far, as that of another rejected one. One before them
        // tells the rejected one's base.
        if places.isEmpty { return nil }
        offset -= 1
      }
    }
    return nil
  }

  private enum Answer {
    /// The entry at the place, at an offset, was given up.
    case givenUp(UInt64)
    /// The base of the entry that was asked for.
    case base(UInt64)
    /// The entry that was asked for is not among what follows.
    case absent
    /// The remote's log is another one up to the place.
    case differs
  }

  /// Asks what a remote has after a place.
  ///
  /// - Parameter isWanted: whether the entry is looked for; else only whether the place's was given up.
  private func entry(
    _ offset: UInt64, after place: ChangeToken, isWanted: Bool
  ) async throws -> Answer {
    let isNext = place.offset + 1 == offset
    do throws(RemoteError) {
      let page = try await remote.segments(after: place, bytesMax: isWanted && !isNext ? pageBytesMax : 1)
      guard case .segments(let segments, _) = page,
        let stored = segments.first(where: { $0.offset == offset }),
        let header = try? SegmentFrame.readHeader(stored.bytes.span.bytes)
      else { return isWanted ? .absent : .differs }
      return isWanted ? .base(header.base) : .differs
    } catch {
      if error.code == .quarantined, let found = error.offset { return .givenUp(found) }
      // Any other error than that the log is not as the store has read it, or does not have the place, may pass.
      if error.code != .wentBack, error.code != .expired { throw error }
      return .differs
    }
  }

  private static let placesAskedForMax = 128

  /// Begins to read a log again at an entry that was given up. What only that entry gave others is pending
  /// again.
  ///
  /// - Returns: whether the store knows the zone's log.
  func reread(_ zone: ZoneID, from offset: UInt64) async throws -> Bool {
    try await store.beginRereading(zone, from: offset) != nil
  }

  /// Reads a zone's log from the store's token to its end, and ends a rereading there.
  func readOn(_ zone: ZoneID) async throws -> FoldOutcome {
    var token = try folded(zone)
    var outcome = FoldOutcome(token: token)
    while true {
      let page: FetchOutcome
      do throws(RemoteError) {
        page = try await remote.segments(after: token, bytesMax: pageBytesMax)
      } catch {
        // The one before was given up too.
        guard error.code == .quarantined, let offset = error.offset, offset <= token.offset,
          try await reread(zone, from: offset)
        else { throw error }
        token = try folded(zone)
        continue
      }
      guard case .segments(let segments, let hasMore) = page else {
        if case .gone(let fate) = page {
          outcome.report.removed += try await endRereading(zone, before: fate)
        }
        // The next fetch finds the closed log.
        return outcome
      }
      guard !segments.isEmpty else {
        let removed = try await store.endRereading(zone)
        outcome.report.removed += removed
        if removed > 0 { outcome.changes.forget() }
        try await store.finishRenewal(of: zone)
        return outcome
      }
      let folded = try await foldPage(segments, after: token, isMoreToCome: hasMore)
      outcome.add(folded.report, segments: folded.segments, bytes: folded.bytes)
      outcome.changes.add(folded.changes)
      (outcome.token, token) = (folded.token, folded.token)
      // Nothing is shipped before the log was read to its end.
      if let problem = folded.problem { throw problem }
    }
  }

  /// The token up to which a zone's log is folded.
  func folded(_ zone: ZoneID) throws -> ChangeToken {
    if let token = try store.read({ try $0.changeToken(of: zone) }) { return token }
    throw StoreError(.zoneUnknown, "zone “\(zone)” was never synced", hint: "sync it first")
  }

  /// Lets what is pending here of a lane give way to the log's branch of it. If the lane is this store's, its
  /// branch gets another epoch; if it is another store's, that branch is not in the log any more.
  ///
  /// - Returns: whether the segment can be folded now.
  func giveWay(to segment: RemoteSegment) async throws -> Bool {
    guard try await store.yieldLane(of: segment.zone, to: segment) else {
      return try await renewLane(of: segment.zone, contestedBy: segment)
    }
    try await store.finishRenewal(of: segment.zone)
    return true
  }
}

/// Up to which offset a process has asked a remote, for each zone, whether what rejected segments claim to have seen
/// was given up.
final class AskedRejections: Sendable {
  private struct Asked {
    var incarnation: IncarnationID
    var last: UInt64
  }

  private let asked = Mutex<[ZoneID: Asked]>([:])

  /// Nil if it has to ask for all.
  func last(of zone: ZoneID, _ incarnation: IncarnationID) -> UInt64? {
    asked.withLock { $0[zone].flatMap { $0.incarnation == incarnation ? $0.last : nil } }
  }

  /// As ``last(of:_:)``. It has to ask for all until there is another note: an error may come between.
  func take(of zone: ZoneID, _ incarnation: IncarnationID) -> UInt64? {
    defer { asked.withLock { $0[zone] = nil } }
    return last(of: zone, incarnation)
  }

  func note(_ last: UInt64, of zone: ZoneID, _ incarnation: IncarnationID) {
    asked.withLock { $0[zone] = Asked(incarnation: incarnation, last: last) }
  }
}
