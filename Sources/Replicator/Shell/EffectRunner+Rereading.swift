import EventStore
import OperationFormat

/// Reading a log again: if an entry was given up that the store had folded, or if the user asks for it.
extension EffectRunner {
  /// Fetches a page. If the token's entry was given up, reads the log again from there to its end instead,
  /// and gives what was folded.
  func fetch(_ zone: ZoneID, after token: ChangeToken) async throws -> ZoneResult {
    let outcome: FetchOutcome
    do throws(RemoteError) {
      outcome = try await remote.segments(after: token, bytesMax: pageBytesMax)
    } catch {
      if error.code == .zoneUnknown, try await makeAgain(zone, token.incarnation) {
        return .fetched(try await remote.segments(after: token, bytesMax: pageBytesMax))
      }
      guard error.code == .quarantined, let offset = error.offset, try await reread(zone, from: offset)
      else { throw error }
      return .folded(try await readOn(zone))
    }
    if case .gone(let fate) = outcome { try await endRereading(zone, before: fate) }
    return .fetched(outcome)
  }

  /// Ends a rereading at a closed log: nothing follows. A log that the remote has purged, or that
  /// this account may not read, was not read, so the store keeps what that log does not have.
  private func endRereading(_ zone: ZoneID, before fate: ZoneFate) async throws {
    guard fate != .purged, fate != .revoked, try store.isRereading(zone) else { return }
    try await store.endRereading(zone)
    try await store.finishRenewal()
  }

  /// Makes a zone again at a remote that went back to before it was made, if the user lets the zone's log be
  /// read again.
  ///
  /// - Returns: whether the remote has that log now. If another store has made the zone meanwhile, the list
  ///   of zones says so.
  private func makeAgain(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool {
    guard try store.isRereading(zone) else { return false }
    return try await remote.createZone(zone, proposing: incarnation) == incarnation
  }

  /// Folds a page of segments. If one is rejected because an entry was given up that the store had folded, reads
  /// the log again from there to its end.
  func fold(
    _ segments: [StoredSegment], of zone: ZoneID, after token: ChangeToken, isMoreToCome: Bool
  ) async throws -> FoldOutcome {
    var outcome = try await foldPage(segments, after: token, isMoreToCome: isMoreToCome)
    guard outcome.report.rejected > 0,
      let offset = try await givenUp(before: segments, of: zone, token.incarnation),
      try await reread(zone, from: offset)
    else { return outcome }
    let again = try await readOn(zone)
    outcome.add(again.report, segments: again.segments, bytes: again.bytes)
    (outcome.token, outcome.problem, outcome.isForked) = (again.token, again.problem, again.isForked)
    return outcome
  }

  /// The offset of an entry that was given up, and that the store has folded, if the first rejected one of some
  /// segments was written after the log without it.
  private func givenUp(
    before segments: [StoredSegment], of zone: ZoneID, _ incarnation: IncarnationID
  ) async throws -> UInt64? {
    let rejected = try store.read { try $0.rejectedSegments(in: zone) }.filter {
      [.chain, .base].contains($0.reason)
    }
    let offsets = Set(rejected.map(\.offset))
    guard let first = segments.first(where: { offsets.contains($0.offset) }) else { return nil }
    let base = try SegmentFrame.readHeader(first.bytes.span.bytes).base
    for offset in [first.offset - 1, base] {
      for place in try store.placesBack(from: offset, of: zone, incarnation, limit: Self.placesAskedForMax) {
        do throws(RemoteError) {
          _ = try await remote.segments(after: place, bytesMax: 1)
        } catch {
          if error.code == .quarantined { return error.offset }
        }
      }
    }
    return nil
  }

  private static let placesAskedForMax = 64

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
        if case .gone(let fate) = page { try await endRereading(zone, before: fate) }
        // The next fetch finds the closed log.
        return outcome
      }
      guard !segments.isEmpty else {
        outcome.report.removed += try await store.endRereading(zone)
        try await store.finishRenewal()
        return outcome
      }
      let folded = try await foldPage(segments, after: token, isMoreToCome: hasMore)
      outcome.add(folded.report, segments: folded.segments, bytes: folded.bytes)
      (outcome.token, token) = (folded.token, folded.token)
      // Nothing is shipped before the log was read to its end.
      if let problem = folded.problem { throw problem }
    }
  }

  /// The token up to which a zone's log is folded.
  private func folded(_ zone: ZoneID) throws -> ChangeToken {
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
    try await store.finishRenewal()
    return true
  }
}
