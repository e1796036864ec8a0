internal import OperationFormat

extension ObjectRemote {
  package func append(
    _ segment: PackedSegment, after offset: UInt64
  ) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsWhole()
    let header = segment.header
    let log = try await log(header.zone, header.incarnation, checkedAt: offset)
    if log.fate == .purged { return .gone(.purged) }
    guard offset < Limits.placeMax else { throw try await logWentBack(header.incarnation, offset) }
    var next = offset + 1
    while true {
      switch try await meet(header.incarnation, header.zone, next) {
      case .segment(let found, let isAmended):
        if let outcome = try await compare(segment, with: found, at: next, isAmended: isAmended) {
          return outcome
        }
        next += 1
      // It may have been this one: then it lies there twice, and readers know the second.
      case .unreadable: next += 1
      case .seal(let fate):
        return .gone(try await finish(fate, log, header.incarnation))
      case .end:
        if let fate = log.fate { return .gone(fate) }
        if next == offset + 1, offset > 0, try await !exists(header.incarnation, offset) {
          throw try await logWentBack(header.incarnation, offset)
        }
        let put = try await put(segment, next)
        if put.isPut { return .appended(put.place) }
        guard try await exists(header.incarnation, next) else {
          throw .unreadable(.entry(of: header.incarnation, next))
        }
      }
    }
  }

  package func segments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let outcome = try await readSegments(after: token, bytesMax: bytesMax)
    if case .segments(let page, _) = outcome, let last = page.last {
      try await makeLasting(token.offset + 1...last.offset, of: .log(of: token.incarnation)) {
        .entry(of: token.incarnation, $0)
      }
    }
    return outcome
  }

  private func readSegments(
    after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let log = try await log(token.zone, token.incarnation, checkedAt: token.offset)
    if log.fate == .purged { return .gone(.purged) }
    do throws(RemoteError) {
      try await check(token)
      return try await entries(after: token, of: log, bytesMax: bytesMax)
    } catch {
      // Nobody mends the log of a deleted zone only so that others can end it.
      guard log.fate == .deleted, error.isAboutOneObject || error.isOfNewerEntry else { throw error }
      return .gone(.deleted)
    }
  }

  /// Reads segments after an offset, whatever lies there: for whoever looks behind what cannot be read.
  package func segments(
    afterUnchecked token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    let log = try await log(token.zone, token.incarnation, checkedAt: token.offset)
    if log.fate == .purged { return .gone(.purged) }
    return try await entries(after: token, of: log, bytesMax: bytesMax)
  }

  private func entries(
    after token: ChangeToken, of log: ZoneList.Log, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    var page: [StoredSegment] = []
    var bytes = 0
    while true {
      let offset = token.offset + UInt64(page.count) + 1
      let entry: LogSlot<StoredSegment>?
      do throws(RemoteError) {
        entry = try await read(token.incarnation, token.zone, offset)
      } catch {
        // What comes before is told first, and this one at the next call.
        if page.isEmpty { throw error }
        return .segments(page, hasMore: true)
      }
      switch entry {
      case .segment(let segment)?, .tombstone(let segment)?:
        if !page.isEmpty && bytes + segment.bytes.count > bytesMax { return .segments(page, hasMore: true) }
        bytes += segment.bytes.count
        page.append(segment)
      case .seal(let fate)?:
        if !page.isEmpty { return .segments(page, hasMore: true) }
        return .gone(try await finish(fate, log, token.incarnation))
      case nil:
        guard let fate = log.fate else { return .segments(page, hasMore: false) }
        return page.isEmpty ? .gone(fate) : .segments(page, hasMore: true)
      }
    }
  }

  // MARK: Looking

  /// Throws unless a token's segment is where it was.
  private func check(_ token: ChangeToken) async throws(RemoteError) {
    if token.offset == 0 { return }
    guard token.offset < Limits.placeMax else {
      throw try await logWentBack(token.incarnation, token.offset)
    }
    do throws(RemoteError) {
      switch try await look(token.incarnation, token.zone, token.offset) {
      case .segment(let found)? where found.header.contentHash == token.hash: return
      // Its header may be whole, and its body not: then something else may count, which is read whole.
      case .segment?, .tombstone?: break
      case nil where try await isHole(token.offset, of: token.incarnation): break
      default: throw try await logWentBack(token.incarnation, token.offset)
      }
    } catch {
      guard error.isAboutOneObject else { throw error }
    }
    switch try await read(token.incarnation, token.zone, token.offset) {
    case .segment(let stored)?:
      if try LogObject.head(of: stored).header.contentHash == token.hash { return }
    case .tombstone(let stored)?:
      if ContentHash(of: stored.bytes.span.bytes) == token.hash { return }
      throw quarantined(token)
    default: break
    }
    throw try await logWentBack(token.incarnation, token.offset)
  }

  // MARK: Comparing

  /// What it means for an append that a segment lies at an offset; nil if it is another one.
  private func compare(
    _ segment: PackedSegment, with found: SegmentHead, at offset: UInt64, isAmended: Bool
  ) async throws(RemoteError) -> AppendOutcome? {
    let (own, other) = (segment.header, found.header)
    guard own.replica == other.replica, own.epoch == other.epoch, own.sequences.overlaps(other.sequences)
    else { return nil }
    let place = SegmentPlace(offset: offset, receivedMilliseconds: found.receivedMilliseconds)
    let isCutAlike = own.sequences == other.sequences
    if isCutAlike && own.contentHash != other.contentHash { return .fork(place) }
    // Read whole, for its writer forgets that it is pending.
    let entry: LogSlot<StoredSegment>?
    do throws(RemoteError) {
      entry = try await read(own.incarnation, own.zone, offset)
    } catch {
      // It is this one, and damaged: it is put once more, behind.
      if isCutAlike, error.isAboutOneObject { return nil }
      throw error
    }
    if case .tombstone? = entry { return nil }
    guard case .segment(let stored)? = entry else {
      throw .unreadable(.entry(of: own.incarnation, offset)).ofSegment
    }
    do throws(FormatError) {
      let transactions = try SegmentPacker.unpack(stored.bytes).transactions
      if !isCutAlike {
        // A cut that was forgotten and made anew may differ. What both have must be the same.
        return try segment.agrees(with: transactions, from: other.sequences.lowerBound) ? nil : .fork(place)
      }
    } catch {
      // As above: what a segment's own hash does not show, its content's does.
      if isCutAlike, error.code == .damaged { return nil }
      throw RemoteError.damaged(.damagedSegment, .entry(of: own.incarnation, offset), error).ofSegment
    }
    // Whoever put it may not have lived to make it last. An amendment lasts before it counts.
    if !isAmended { _ = try await put(segment, offset) }
    return .alreadyThere(place)
  }

  // MARK: Putting

  /// Puts a segment at an offset, unless something lies there.
  private func put(
    _ segment: PackedSegment, _ offset: UInt64
  ) async throws(RemoteError) -> (isPut: Bool, place: SegmentPlace) {
    let received = receivedMilliseconds?()
    let bytes = SegmentEnvelope.encode(
      offset: offset, receivedMilliseconds: received, segment: segment.bytes.span.bytes)
    let isPut = try await objects.putIfAbsent(.entry(of: segment.header.incarnation, offset), bytes)
    return (isPut, SegmentPlace(offset: offset, receivedMilliseconds: received))
  }

  /// Closes a log for deletion.
  ///
  /// - Returns: why it is closed now.
  func seal(_ incarnation: IncarnationID, _ zone: ZoneID) async throws(RemoteError) -> ZoneFate {
    var offset = try await lastOffset(in: incarnation)
    while true {
      switch try await meet(incarnation, zone, offset) {
      case .seal(let fate): return fate
      case .end:
        let name = ObjectName.entry(of: incarnation, offset)
        if try await objects.putIfAbsent(name, LogObject.seal(.deleted, offset)) { return .deleted }
        guard try await exists(incarnation, offset) else { throw .unreadable(name) }
      case .segment, .unreadable: offset += 1
      }
    }
  }

  /// An offset at or before the last where something lies, or 1. In a log without holes it is the last: halving finds it.
  ///
  /// - Complexity: O(log n) calls
  private func lastOffset(in incarnation: IncarnationID) async throws(RemoteError) -> UInt64 {
    var (taken, step) = (UInt64(0), UInt64(1))
    while step <= Limits.placeMax - taken, try await exists(incarnation, taken + step) {
      (taken, step) = (taken + step, step * 2)
    }
    var free = taken + step
    while free - taken > 1 {
      let middle = taken + (free - taken) / 2
      if try await exists(incarnation, middle) { taken = middle } else { free = middle }
    }
    return max(taken, 1)
  }

  /// What a seal means: one for deletion whose maker did not live to tell the list of zones is told there now.
  private func finish(
    _ fate: ZoneFate, _ log: ZoneList.Log, _ incarnation: IncarnationID
  ) async throws(RemoteError) -> ZoneFate {
    guard fate == .deleted, log.fate == nil, !isReadOnly else { return fate }
    do throws(RemoteError) {
      try await record(.deleted, log.zone, incarnation)
    } catch {
      // Who may not write there is told all the same; somebody who may comes by.
      if error.code != .denied && error.code != .overQuota { throw error }
    }
    return fate
  }

  /// What it means that something of a log is missing: another remote is there, or this one has lost it.
  private func logWentBack(
    _ incarnation: IncarnationID, _ offset: UInt64
  ) async throws(RemoteError) -> RemoteError {
    try await knownZones()
    let name = "\(offset > 0 ? "\(ObjectName.entry(of: incarnation, offset))" : "the log") of \(self.name)"
    return RemoteError(
      .wentBack, "\(name) was read here, and is not there any more, or is another segment",
      hint:
        "the remote was restored from an old copy, lost its last segments, or was tampered with: put the newest copy in "
        + "its place, or run `replay remote REMOTE --repair STORE` with this store, which puts back what nothing replaced. Where the "
        + "remote is right, this store reads it again with `replay sync STORE --remote REMOTE --reread ZONE@1`: what others "
        + "wrote and the remote does not have goes from the store too",
      offset: offset)
  }

  /// What it means that a token's segment was given up.
  private func quarantined(_ token: ChangeToken) -> RemoteError {
    RemoteError(
      .quarantined,
      "\(ObjectName.entry(of: token.incarnation, token.offset)) of \(name) was given up, and this store has what was "
        + "there: other stores do not",
      hint:
        "sync again: the store reads the log again from there, and sends what nobody has",
      offset: token.offset)
  }
}
