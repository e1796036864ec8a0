internal import OperationFormat

/// Appends segments and seals to zones' logs.
///
/// The next offset is found by trying names one after the other, never by listing: a list may be late.
struct LogAppender: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList
  let entries: LogEntries
  let hints: RemoteHints?
  /// Gives entries their receive times.
  let clock: ReceiveClock
  /// What was seen of the place's clock.
  let seen = PlaceClock()

  func append(
    _ segment: PackedSegment, after token: ChangeToken
  ) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsWhole()
    try segment.checkIsOf(token)
    let (zone, incarnation) = (token.zone, token.incarnation)
    let listed = try await zones.fate(of: zone, incarnation, checkedAt: token.offset)
    if let listed, listed.discardsLog { return .gone(listed) }
    guard token.offset < Limits.placeMax else { throw try await zones.logWentBack(incarnation, token.offset) }
    var next = token.offset + 1
    var chain = token.chain
    while true {
      switch try await entries.find(incarnation, zone, next) {
      case .segment(let found, let isAmended):
        // A reader that has read up to here computes the same.
        let statement = found.header.statement.hash
        var link = ChainLink(statement, at: next, stated: found.chain, after: chain)
        if !link.continues, try await entries.followsTombstone(incarnation, zone, next) {
          link.adopt(found.chain)
        }
        let place = SegmentPlace(
          offset: next, receivedMilliseconds: found.receivedMilliseconds,
          chain: found.chain)
        if let outcome = try await compare(segment, with: found, at: place, token, isAmended: isAmended) {
          return outcome
        }
        chain = link.chain
        next += 1
      case .tombstone(let hash):
        chain = ChainLink(hash, at: next, stated: nil, after: chain).chain
        next += 1
      // It may have been the same segment: then the log has it twice, and readers skip the second.
      case .unreadable:
        chain = nil
        next += 1
      case .hole(let following):
        chain = nil
        next = following
      case .seal(let fate, let seal):
        return .gone(try await zones.complete(fate, listed: listed, zone, incarnation, sealedAt: seal))
      case .end:
        if let listed { return .gone(listed) }
        if next == token.offset + 1, token.offset > 0 {
          var isThere = try await entries.exists(incarnation, token.offset)
          if !isThere { isThere = try await entries.floors.begins(after: token) }
          guard isThere else {
            throw try await zones.logWentBack(incarnation, token.offset)
          }
          if chain == nil { chain = try await self.chain(at: token) }
        }
        let put = try await put(segment, next, after: chain)
        if put.isPut { return .appended(put.place) }
        guard try await wasTaken(next, in: incarnation, zone) else {
          throw .notShown(.entry(of: incarnation, next))
        }
      }
    }
  }

  /// Puts an entry back that the log has lost at its end.
  ///
  /// - Returns: whether the log has that segment there now.
  func putBack(
    _ entry: StoredSegment, after token: ChangeToken, _ pages: LogPageReader
  ) async throws(RemoteError) -> Bool {
    let (zone, incarnation) = (token.zone, token.incarnation)
    guard entry.offset == token.offset + 1, !zones.isReadOnly,
      try await zones.fate(of: zone, incarnation, checkedAt: token.offset) == nil
    else { return false }
    try entry.checkMayBePutBack(after: token)
    try await entries.checkBegins(by: entry.offset, of: incarnation)
    try await pages.check(token)
    if FrameKind(of: entry.bytes.span.bytes) == .tombstone {
      let name = ObjectName.entry(of: incarnation, entry.offset)
      if try await objects.putIfAbsent(name, entry.bytes) {
        hints?.didPut(incarnation, at: entry.offset)
        return true
      }
      guard case .tombstone(let hash) = try await entries.find(incarnation, zone, entry.offset) else {
        return false
      }
      hints?.didFindOwn(incarnation)
      return hash == ContentHash(of: entry.bytes.span.bytes)
    }
    let lost = try LogObject.head(of: entry)
    let bytes = SegmentEnvelope.encode(
      offset: entry.offset, receivedMilliseconds: entry.receivedMilliseconds, chain: entry.chain,
      segment: entry.bytes.span.bytes)
    if try await objects.putIfAbsent(.entry(of: incarnation, entry.offset), bytes) {
      hints?.didPut(incarnation, at: entry.offset)
      return true
    }
    guard case .segment(let found, _) = try await entries.find(incarnation, zone, entry.offset) else {
      return false
    }
    hints?.didFindOwn(incarnation)
    return found.header.statement == lost.header.statement
  }

  /// The chain at a token's offset, as the entry there states it; nil if it states none.
  private func chain(at token: ChangeToken) async throws(RemoteError) -> LogChain? {
    guard case .segment(let found, _) = try await entries.find(token.incarnation, token.zone, token.offset)
    else { return nil }
    return found.chain
  }

  /// What a segment in the log means for an append; nil if it is another one.
  private func compare(
    _ segment: PackedSegment, with found: SegmentHead, at place: SegmentPlace, _ token: ChangeToken,
    isAmended: Bool
  ) async throws(RemoteError) -> AppendOutcome? {
    let outcome = segment.header.outcome(meeting: found.header, at: place)
    guard case .alreadyThere? = outcome else { return outcome }
    // Read whole, because its writer then no longer has it as pending.
    let entry: LogSlot<StoredSegment>?
    do throws(RemoteError) {
      entry = try await entries.read(token.incarnation, token.zone, place.offset)
    } catch {
      // It is the same segment, damaged: it is appended again after it.
      if error.isAboutOneObject { return nil }
      throw error
    }
    switch entry {
    case .segment?: break
    case .tombstone?, .seal?: return nil
    // Its beginning was read just now.
    case nil: throw .notShown(.entry(of: token.incarnation, place.offset))
    }
    // Its writer may have crashed before it was durable. An amendment is durable before it counts.
    if !isAmended {
      _ = try await objects.putIfAbsent(
        .entry(of: token.incarnation, place.offset),
        bytes(
          segment, place.offset, place.receivedMilliseconds, place.chain, isOfferedAgain: found.isOfferedAgain
        ))
    }
    hints?.didFindOwn(token.incarnation)
    return outcome
  }

  /// Puts a segment at an offset, unless something is there.
  ///
  /// - Parameter before: the chain at the offset before; nil if it is not known. Then the entry states none.
  private func put(
    _ segment: PackedSegment, _ offset: UInt64, after before: LogChain?
  ) async throws(RemoteError) -> (isPut: Bool, place: SegmentPlace) {
    let chain = before.map { LogChain(segment.header.statement.hash, at: offset, after: $0) }
    let put = try await putEntry(segment, offset, chain)
    if put.isPut { hints?.didPut(segment.header.incarnation, at: offset) }
    return put
  }

  func bytes(
    _ segment: PackedSegment, _ offset: UInt64, _ received: UInt64?, _ chain: LogChain?, isOfferedAgain: Bool
  ) -> [UInt8] {
    SegmentEnvelope.encode(
      offset: offset, receivedMilliseconds: received, chain: chain, isOfferedAgain: isOfferedAgain,
      segment: segment.bytes.span.bytes)
  }

  // MARK: Seals

  /// Closes a log, unless it is closed.
  ///
  /// - Returns: why it is closed now, and the offset of the seal.
  func seal(
    _ incarnation: IncarnationID, _ zone: ZoneID, _ kind: LogSeal.Kind
  ) async throws(RemoteError) -> (fate: ZoneFate, offset: UInt64) {
    var offset = try await lastOffset(in: incarnation, zone)
    while true {
      switch try await entries.find(incarnation, zone, offset) {
      case .seal(let fate, let seal):
        hints?.didPut(incarnation, at: seal)
        return (fate, seal)
      case .end:
        let name = ObjectName.entry(of: incarnation, offset)
        if try await objects.putIfAbsent(name, LogObject.seal(kind, offset)) {
          hints?.didPut(incarnation, at: offset)
          return (ZoneFate(kind), offset)
        }
        guard try await wasTaken(offset, in: incarnation, zone) else { throw .notShown(name) }
      case .hole(let next): offset = next
      case .segment, .tombstone, .unreadable: offset += 1
      }
    }
  }

  /// The offset of the seal of a closed log; nil if it has none: the log was opened again. Nothing follows a seal.
  func lastSeal(
    of incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> UInt64? {
    var offset = try await lastOffset(in: incarnation, zone)
    while true {
      switch try await entries.find(incarnation, zone, offset) {
      case .seal(_, let seal): return seal
      case .end: return nil
      case .hole(let next): offset = next
      case .segment, .tombstone, .unreadable: offset += 1
      }
    }
  }

  /// The offset of an entry at or before the last one, or the first that the log may have. In a log without
  /// holes it is the last: a binary search finds it.
  ///
  /// - Complexity: O(log n) calls
  private func lastOffset(
    in incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> UInt64 {
    var (first, lacksEntry) = try await entries.floors.begin(of: incarnation)
    // A snapshot stands for the entry of a floor too.
    if first > 1 || lacksEntry, try await !entries.exists(incarnation, first) { first += 1 }
    var (taken, step) = (first - 1, UInt64(1))
    while step <= Limits.placeMax - taken, try await isTaken(taken + step, in: incarnation, zone) {
      (taken, step) = (taken + step, step * 2)
    }
    var free = taken + step
    while free - taken > 1 {
      let middle = taken + (free - taken) / 2
      if try await isTaken(middle, in: incarnation, zone) { taken = middle } else { free = middle }
    }
    return max(taken, first)
  }

  /// Whether something was at an offset when a put failed there. It may have been discarded since.
  private func wasTaken(
    _ offset: UInt64, in incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> Bool {
    if try await entries.exists(incarnation, offset) { return true }
    return try await entries.discardSeal(after: offset, of: incarnation, zone) != nil
  }

  /// Whether a log goes at least to an offset. The seal of a discarded one is beyond the end of a log that was opened again, until the
  /// log has grown over it.
  private func isTaken(
    _ offset: UInt64, in incarnation: IncarnationID, _ zone: ZoneID
  ) async throws(RemoteError) -> Bool {
    guard try await entries.exists(incarnation, offset) else { return false }
    guard offset > 1, try await entries.discardSeal(at: offset, of: incarnation, zone) != nil else {
      return true
    }
    return try await entries.exists(incarnation, offset - 1)
  }
}
