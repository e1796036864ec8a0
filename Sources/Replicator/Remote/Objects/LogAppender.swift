internal import OperationFormat

/// Appends segments and seals to zones' logs.
///
/// The next offset is found by trying names one after the other, never by listing: a list may be late.
struct LogAppender: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList
  let entries: LogEntries
  let hints: RemoteHints?
  /// The remote's own clock; nil if it has none.
  let receivedMilliseconds: (@Sendable () -> UInt64)?

  func append(
    _ segment: PackedSegment, after offset: UInt64
  ) async throws(RemoteError) -> AppendOutcome {
    try segment.checkIsWhole()
    let header = segment.header
    let log = try await zones.log(header.zone, header.incarnation, checkedAt: offset)
    if log.fate == .purged { return .gone(.purged) }
    guard offset < Limits.placeMax else { throw try await zones.logWentBack(header.incarnation, offset) }
    var next = offset + 1
    while true {
      switch try await entries.find(header.incarnation, header.zone, next) {
      case .segment(let found, let isAmended):
        if let outcome = try await compare(segment, with: found, at: next, isAmended: isAmended) {
          return outcome
        }
        next += 1
      // It may have been the same segment: then the log has it twice, and readers skip the second.
      case .unreadable: next += 1
      case .seal(let fate):
        return .gone(try await zones.complete(fate, log, header.incarnation))
      case .end:
        if let fate = log.fate { return .gone(fate) }
        if next == offset + 1, offset > 0, try await !entries.exists(header.incarnation, offset) {
          throw try await zones.logWentBack(header.incarnation, offset)
        }
        let put = try await put(segment, next)
        if put.isPut { return .appended(put.place) }
        guard try await entries.exists(header.incarnation, next) else {
          throw .unreadable(.entry(of: header.incarnation, next))
        }
      }
    }
  }

  /// What a segment at an offset means for an append; nil if it is another one.
  private func compare(
    _ segment: PackedSegment, with found: SegmentHead, at offset: UInt64, isAmended: Bool
  ) async throws(RemoteError) -> AppendOutcome? {
    let (own, other) = (segment.header, found.header)
    guard own.replica == other.replica, own.epoch == other.epoch, own.sequences.overlaps(other.sequences)
    else { return nil }
    let place = SegmentPlace(offset: offset, receivedMilliseconds: found.receivedMilliseconds)
    let isCutAlike = own.sequences == other.sequences
    if isCutAlike && own.contentHash != other.contentHash { return .fork(place) }
    // Read whole, because its writer then no longer has it as pending.
    let entry: LogSlot<StoredSegment>?
    do throws(RemoteError) {
      entry = try await entries.read(own.incarnation, own.zone, offset)
    } catch {
      // It is the same segment, damaged: it is appended again after it.
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
        // A cut that was forgotten and made again may differ. The transactions that both have must be equal.
        return try segment.agrees(with: transactions, from: other.sequences.lowerBound) ? nil : .fork(place)
      }
    } catch {
      // As above: the content shows damage that the segment's hash does not.
      if isCutAlike, error.code == .damaged { return nil }
      throw RemoteError.damaged(.damagedSegment, .entry(of: own.incarnation, offset), error).ofSegment
    }
    // Its writer may have crashed before it was durable. An amendment is durable before it counts.
    if !isAmended { _ = try await put(segment, offset) }
    return .alreadyThere(place)
  }

  /// Puts a segment at an offset, unless something is there.
  private func put(
    _ segment: PackedSegment, _ offset: UInt64
  ) async throws(RemoteError) -> (isPut: Bool, place: SegmentPlace) {
    let received = receivedMilliseconds?()
    let bytes = SegmentEnvelope.encode(
      offset: offset, receivedMilliseconds: received, segment: segment.bytes.span.bytes)
    let isPut = try await objects.putIfAbsent(.entry(of: segment.header.incarnation, offset), bytes)
    if isPut { hints?.didPut(segment.header.incarnation, at: offset) }
    return (isPut, SegmentPlace(offset: offset, receivedMilliseconds: received))
  }

  // MARK: Seals

  /// Closes a log for deletion.
  ///
  /// - Returns: why it is closed now.
  func seal(_ incarnation: IncarnationID, _ zone: ZoneID) async throws(RemoteError) -> ZoneFate {
    var offset = try await lastOffset(in: incarnation)
    while true {
      switch try await entries.find(incarnation, zone, offset) {
      case .seal(let fate): return fate
      case .end:
        let name = ObjectName.entry(of: incarnation, offset)
        if try await objects.putIfAbsent(name, LogObject.seal(.deleted, offset)) {
          hints?.didPut(incarnation, at: offset)
          return .deleted
        }
        guard try await entries.exists(incarnation, offset) else { throw .unreadable(name) }
      case .segment, .unreadable: offset += 1
      }
    }
  }

  /// The offset of an entry at or before the last one, or 1. In a log without holes it is the last: a binary
  /// search finds it.
  ///
  /// - Complexity: O(log n) calls
  private func lastOffset(in incarnation: IncarnationID) async throws(RemoteError) -> UInt64 {
    var (taken, step) = (UInt64(0), UInt64(1))
    while step <= Limits.placeMax - taken, try await entries.exists(incarnation, taken + step) {
      (taken, step) = (taken + step, step * 2)
    }
    var free = taken + step
    while free - taken > 1 {
      let middle = taken + (free - taken) / 2
      if try await entries.exists(incarnation, middle) { taken = middle } else { free = middle }
    }
    return max(taken, 1)
  }
}
