import EventStore
import OperationFormat

/// What to do if a remote has lost the end of a log, because it was restored from an older copy, say: put it back; or,
/// if others have written there since, read what they have written and offer again what the log lacks.
extension EffectRunner {
  /// Puts back the entries that a log has lost after it parts from what this store has read.
  ///
  /// They get the offsets that they had, and the same bytes but for how they are packed: the log's chain proves it.
  /// If another entry has taken such an offset meanwhile, nothing is put back: the two logs part there for good. The
  /// assets that the entries name are sent again if they are lost too.
  ///
  /// - Parameters:
  ///   - token: up to where the store has read the log.
  ///   - parting: the first offset at which the remote has something else, or nothing.
  /// - Returns: how many were put back, and whether this client may do so.
  func putBack(upTo token: ChangeToken, from parting: UInt64) async throws -> ZoneResult {
    // With what was sent while the zone was parked.
    let last = try store.read { try $0.remoteLogs() }.first { $0.incarnation == token.incarnation }?.last
    var (count, parting) = (0, parting)
    do {
      if let origin = try store.origin(of: token.zone), origin.offset >= parting,
        try await begin(token.zone, with: origin)
      {
        // What was before, this store does not have.
        (count, parting) = (1, origin.offset + 1)
      }
      for offset in parting..<max(token.offset, last ?? 0) + 1 {
        try Task.checkCancellation()
        guard try await putBack(offset, of: token) else { break }
        count += 1
      }
      if count == 0, parting > token.offset { try await sendAgain(behind: token) }
    } catch {
      // What keeps it from being put back says less than that it is lost.
      switch error {
      case is StoreError, is FormatError: break
      case let error as RemoteError where error.takesNothing:
        return .putBack(count, isAllowed: false)
      case let error as RemoteError where ![.unreachable, .later, .cancelled].contains(error.code): break
      default: throw error
      }
    }
    return .putBack(count)
  }

  /// An offset behind a place at which this store has sent a segment, ahead of what it has read: the last one
  /// up to another offset, or else the first one; nil if there is none.
  func sentOffset(behind token: ChangeToken, near offset: UInt64) throws -> UInt64? {
    try store.knownOffset(near: offset, in: token.offset + 1..<(.max), of: token.zone, token.incarnation)
  }

  /// Sends the first segment again that this store has sent behind a place at which the log ends now: what
  /// was between, it does not have. That shows that this client may write there. The rest is pending once the
  /// log was read again.
  private func sendAgain(behind token: ChangeToken) async throws {
    guard let offset = try sentOffset(behind: token, near: token.offset),
      let copy = try store.read({ try $0.segmentCopy(at: offset, of: token.zone, token.incarnation) })
    else { return }
    var cut = copy.cut
    cut.formerReceivedMilliseconds = copy.receivedMilliseconds
    _ = try await remote.append(SegmentPacker.pack(cut), after: token)
  }

  /// Lets a log that has nothing begin with the snapshot that this store's records begin with.
  ///
  /// - Returns: whether it does.
  private func begin(_ zone: ZoneID, with origin: SnapshotManifest) async throws -> Bool {
    let snapshot = RemoteSnapshot(
      of: zone, origin.incarnation, at: origin.offset, by: store.identity.replica)
    guard
      case .segments(let found, _) = try await remote.segments(
        after: .start(of: zone, origin.incarnation), bytesMax: 1), found.isEmpty
    else { return false }
    try await put(origin, snapshot) { try await remote.finishSnapshot(origin, of: snapshot) }
    return try await remote.beginLog(with: snapshot)
  }

  /// Reads a log again, to its end, from the first offset at which it has something else than this store has read.
  ///
  /// - Parameter isLost: whether what was there cannot be put back. If it can be, it is not read while nothing is there.
  func part(
    _ zone: ZoneID, _ incarnation: IncarnationID, from offset: UInt64, isLost: Bool
  ) async throws -> FoldOutcome {
    if let began = try await beginAgain(zone, incarnation, from: offset) { return began }
    let known = try folded(zone)
    // Up to there it must be the one that was read.
    let before = try place(before: offset, of: zone, incarnation)
    let next: FetchOutcome?
    do throws(RemoteError) {
      if let before { next = try await remote.segments(after: before, bytesMax: 1) } else { next = nil }
    } catch {
      // Where the log begins now is behind the parting, or there.
      guard error.code == .expired else { throw error }
      if let began = try await begin(zone, incarnation, isExpired: true) { return began }
      throw await explained(error, in: zone, incarnation)
    }
    guard case .segments(let segments, _)? = next, isLost || !segments.isEmpty else {
      throw RemoteError(
        .wentBack, "the log of zone “\(zone)” is not the one that was read, from offset \(offset) on",
        hint:
          "a round that may write puts back what was lost. If it does not, check the remote with `replay remote`",
        offset: offset)
    }
    // Somebody may have put it back, or another process has read the other log.
    if let before, let found = segments.first, try isRead(found, after: before) {
      return try await readOn(zone)
    }
    return try await readAgain(zone, incarnation, partedAt: offset, knownAs: known)
  }

  /// Whether an entry of a log is the one that this store has read there.
  private func isRead(_ entry: StoredSegment, after place: ChangeToken) throws -> Bool {
    guard let chain = try store.place(at: entry.offset, of: place.zone, place.incarnation)?.chain,
      let header = try? SegmentFrame.readHeader(entry.bytes.span.bytes)
    else { return false }
    let before = place.chain ?? .start(of: place.incarnation)
    return LogChain(header.statement.hash, at: entry.offset, after: before) == chain
  }

  /// Reads a log again, to its end, from where it is known to have parted. Up to there it is what was read.
  ///
  /// - Parameter known: how far the store had read it then. If another process has read it since, it is read on from there.
  func readAgain(
    _ zone: ZoneID, _ incarnation: IncarnationID, partedAt offset: UInt64, knownAs known: ChangeToken
  ) async throws -> FoldOutcome {
    _ = askedRejections.take(of: zone, incarnation)
    guard try await store.part(zone, from: offset, knownAs: known) != nil else {
      return try await readOn(zone)
    }
    return try await readParted(zone, from: offset)
  }

  /// Lets a zone begin with another snapshot than before, if its log has parted before that: one that has all that the
  /// store has only in the former one. Who has that still as transactions has sent them again, and made it.
  ///
  /// - Returns: nil if there is none, or the log has parted behind the former snapshot.
  private func beginAgain(
    _ zone: ZoneID, _ incarnation: IncarnationID, from offset: UInt64
  ) async throws -> FoldOutcome? {
    guard let origin = try store.origin(of: zone), offset <= origin.offset else { return nil }
    do {
      return try await begin(zone, incarnation, isExpired: true, parting: offset)
    } catch let error as StoreError where [.outOfOrder, .mismatch, .retired].contains(error.code) {
      return nil
    }
  }

  /// Reads a log that has parted to its end.
  ///
  /// - Parameter offset: the first one at which it has something else than this store had read.
  func readParted(_ zone: ZoneID, from offset: UInt64) async throws -> FoldOutcome {
    var outcome = try await readOn(zone)
    outcome.partedAt = offset
    // What transactions had seen is another: that changes more than what the segments say.
    outcome.changes.forget()
    return outcome
  }

  /// The place before an offset of a log, as this store knows the log; nil if it does not know the chain there.
  private func place(
    before offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> ChangeToken? {
    offset > 1
      ? try store.place(at: offset - 1, of: zone, incarnation) : ChangeToken.start(of: zone, incarnation)
  }

  /// - Returns: whether the log has the entry now.
  private func putBack(_ offset: UInt64, of token: ChangeToken) async throws -> Bool {
    let (zone, incarnation) = (token.zone, token.incarnation)
    let before = try place(before: offset, of: zone, incarnation)
    let (copy, hash) = try store.read {
      try (
        $0.segmentCopy(at: offset, of: zone, incarnation, isProven: true),
        $0.segmentHash(at: offset, of: zone, incarnation)
      )
    }
    guard let before else { return false }
    guard let copy else {
      // Of the entries that were given up, only that of a deletion that was taken back is known.
      let passed = try LogTombstone(passingSealOf: incarnation, at: offset).encode()
      guard hash == ContentHash(of: passed.span.bytes) else { return false }
      return try await remote.putBack(
        StoredSegment(offset: offset, receivedMilliseconds: nil, bytes: passed), after: before)
    }
    let entry = StoredSegment(
      offset: offset, receivedMilliseconds: copy.receivedMilliseconds, chain: copy.chain,
      bytes: try SegmentPacker.pack(copy.cut).bytes)
    guard try await remote.putBack(entry, after: before) else { return false }
    for asset in try copy.cut.assets() {
      if case .whole = try await remote.assetState(RemoteAsset(asset, of: zone, incarnation)) { continue }
      _ = try await store.assetTransfers.noteUnsent(asset, in: zone, incarnation)
    }
    return true
  }
}
