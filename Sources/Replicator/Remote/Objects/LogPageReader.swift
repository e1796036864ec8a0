internal import OperationFormat

/// Reads zones' logs in pages of segments.
struct LogPageReader: Sendable {
  let zones: RemoteZoneList
  let entries: LogEntries
  let durable: DurableEntries
  let hints: RemoteHints?

  func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await read(after: token, bytesMax: bytesMax)
    if case .segments(let page, _) = outcome, let last = page.last {
      try await durable.wait(for: token.offset + 1...last.offset, of: .log(of: token.incarnation)) {
        .entry(of: token.incarnation, $0)
      }
    }
    return outcome
  }

  private func read(after token: ChangeToken, bytesMax: Int) async throws(RemoteError) -> FetchOutcome {
    let fate = try await zones.fate(of: token.zone, token.incarnation, checkedAt: token.offset)
    if let fate, fate.discardsLog { return .gone(fate) }
    do throws(RemoteError) {
      try await check(token)
      let outcome = try await page(after: token, listed: fate, bytesMax: bytesMax)
      if case .segments(let page, _) = outcome, let first = page.first {
        try await check(token, before: first)
      }
      return outcome
    } catch {
      // It was discarded since the list was read.
      if error.code == .wentBack,
        case .seal(let sealed, let seal)? = try await entries.read(
          token.incarnation, token.zone, token.offset), sealed.discardsLog
      {
        return .gone(
          try await zones.complete(sealed, listed: fate, token.zone, token.incarnation, sealedAt: seal))
      }
      // The log of a deleted zone need not be repaired for others to read it to its end.
      guard fate == .deleted, error.isAboutOneObject || error.isOfNewerEntry || error.code == .expired else {
        throw error
      }
      return .gone(.deleted)
    }
  }

  /// Reads segments after an offset without a check of the token: for an audit, which reads past entries that
  /// cannot be read.
  func segments(
    afterUnchecked token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let fate = try await zones.fate(of: token.zone, token.incarnation, checkedAt: token.offset)
    if let fate, fate.discardsLog { return .gone(fate) }
    return try await page(after: token, listed: fate, bytesMax: bytesMax)
  }

  /// - Parameter listed: why the list of zones says that the log is closed.
  private func page(
    after token: ChangeToken, listed: ZoneFate?, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    var page: [StoredSegment] = []
    var bytes = 0
    while true {
      let offset = token.offset + UInt64(page.count) + 1
      let entry: LogSlot<StoredSegment>?
      do throws(RemoteError) {
        entry = try await entries.read(token.incarnation, token.zone, offset)
      } catch {
        // The segments before it come first; the next call throws the error.
        if page.isEmpty { throw error }
        return .segments(page, hasMore: true)
      }
      switch entry {
      case .segment(let segment)?, .tombstone(let segment)?:
        if !page.isEmpty && bytes + segment.bytes.count > bytesMax { return .segments(page, hasMore: true) }
        bytes += segment.bytes.count
        page.append(segment)
      case .seal(let fate, let seal)?:
        if !page.isEmpty { return .segments(page, hasMore: true) }
        return .gone(
          try await zones.complete(
            fate, listed: listed, token.zone, token.incarnation, sealedAt: seal))
      case nil:
        guard let fate = listed else {
          hints?.didSee(token.incarnation, end: offset - 1)
          return .segments(page, hasMore: false)
        }
        return page.isEmpty ? .gone(fate) : .segments(page, hasMore: true)
      }
    }
  }

  /// Throws unless a token's segment is still at its offset.
  func check(_ token: ChangeToken) async throws(RemoteError) {
    if token.offset == 0 { return }
    guard token.offset < Limits.placeMax else {
      throw try await zones.logWentBack(token.incarnation, token.offset)
    }
    do throws(RemoteError) {
      switch try await entries.look(token.incarnation, token.zone, token.offset) {
      // Its header may be whole and its body damaged. Then an amendment may replace it: read it whole.
      case .segment(let found)? where found.matches(token):
        if try await !entries.isAmended(token.incarnation, token.offset) { return }
      case .segment?, .tombstone?: break
      case nil where try await entries.floors.begins(after: token): return
      case nil
      where try await entries.entryAfterHole(at: token.offset, of: token.incarnation, token.zone) != nil:
        break
      default: throw try await zones.logWentBack(token.incarnation, token.offset)
      }
    } catch {
      guard error.isAboutOneObject else { throw error }
    }
    switch try await entries.read(token.incarnation, token.zone, token.offset) {
    case .segment(let stored)?:
      if try LogObject.head(of: stored).matches(token) { return }
    case .tombstone(let stored)?:
      if ContentHash(of: stored.bytes.span.bytes) == token.hash { return }
      throw quarantined(token, at: token.offset)
    default: break
    }
    throw try await zones.logWentBack(token.incarnation, token.offset)
  }

  /// Throws if an entry that a token's reader has read was given up, and the entry after the token was written
  /// over the tombstone. Of the token's segment only the beginning was read, and that may be whole; and entries
  /// that state no chain do not show what was before them.
  private func check(_ token: ChangeToken, before next: StoredSegment) async throws(RemoteError) {
    guard token.offset > 0, let chain = token.chain, let stated = next.chain else { return }
    let statement = try LogObject.head(of: next).header.statement.hash
    let link = ChainLink(statement, at: next.offset, stated: stated, after: chain)
    if link.continues { return }
    var after: [(statement: ContentHash, isTombstone: Bool)] = []
    var known: LogChain?
    while known == nil, case let offset = token.offset - UInt64(after.count) {
      if offset == 0 {
        known = .start(of: token.incarnation)
        break
      }
      switch try await entries.read(token.incarnation, token.zone, offset) {
      case .tombstone(let stored)?: after.append((ContentHash(of: stored.bytes.span.bytes), true))
      case .segment(let stored)?:
        known = stored.chain
        if known == nil { after.append((try LogObject.head(of: stored).header.statement.hash, false)) }
      default: return
      }
    }
    guard var found = known, let first = after.lastIndex(where: \.isTombstone) else { return }
    for (index, entry) in after.enumerated().reversed() {
      found = LogChain(entry.statement, at: token.offset - UInt64(index), after: found)
    }
    if found != chain { throw quarantined(token, at: token.offset - UInt64(first)) }
  }

  /// The error for a token whose reader has read an entry that was given up.
  private func quarantined(_ token: ChangeToken, at offset: UInt64) -> RemoteError {
    RemoteError(
      .quarantined,
      "\(ObjectName.entry(of: token.incarnation, offset)) of \(zones.name) was given up, and this "
        + "store has folded it: other stores do not have it",
      hint: "sync again: the store reads the log again from there, and sends what the log does not have",
      offset: offset)
  }
}

extension SegmentHead {
  /// Whether it is the segment of a token, and the log before it is the same too, as far as both know it.
  fileprivate func matches(_ token: ChangeToken) -> Bool {
    guard header.contentHash == token.hash else { return false }
    guard let known = token.chain, let stated = chain else { return true }
    return known == stated
  }
}
