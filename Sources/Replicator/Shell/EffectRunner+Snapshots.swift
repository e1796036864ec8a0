import EventStore
import OperationFormat

/// Snapshots of zones at a remote: a new store begins with one, and one that has sent something makes the next.
extension EffectRunner {
  /// Lets a zone begin with the newest snapshot of its log that can be read. What is wrong with snapshots holds up
  /// nothing: the log says the same.
  ///
  /// - Parameters:
  ///   - isExpired: whether the log cannot be read on from where it was read to; else nothing was read.
  ///   - offset: of snapshots after it.
  ///   - parting: an offset from which on the log is known to be another one than was read; nil for none.
  /// - Returns: nil if it has begun with none: the log is to be read.
  func begin(
    _ zone: ZoneID, _ incarnation: IncarnationID, isExpired: Bool = false, after offset: UInt64 = 0,
    parting: UInt64? = nil
  ) async throws -> FoldOutcome? {
    guard try isExpired || isUnread(zone) else { return nil }
    guard
      let (manifest, parting) = try await beginWithNewest(
        zone, incarnation, isExpired, after: offset, parting),
      let token = try store.read({ try $0.changeToken(of: zone) })
    else { return nil }
    var outcome = FoldOutcome(token: token)
    if let parting {
      _ = askedRejections.take(of: zone, incarnation)
      outcome = try await readParted(zone, from: parting)
    }
    (outcome.beganAt, outcome.beganWithRecords) = (manifest.offset, manifest.records)
    return outcome
  }

  /// The error for a log that begins later than it was read to, where the store cannot begin with a snapshot of it: it names
  /// what is damaged of the snapshot with which the log begins.
  func explained(_ expiry: RemoteError, in zone: ZoneID, _ incarnation: IncarnationID) async -> RemoteError {
    do throws(RemoteError) {
      let named = try await remote.snapshots(of: zone, incarnation) ?? []
      for first in named.sorted(by: { $0.offset < $1.offset }) {
        guard case .broken(let part) = try await SnapshotReader(remote).read(first) else { break }
        // Of one that was removed, nothing is left.
        if try await isRemoved(first) { continue }
        return .expired(first, part, remote.name, offset: expiry.offset)
      }
    } catch {
      // What cannot be asked now is asked by the next round.
    }
    return expiry
  }

  private func isRemoved(_ snapshot: RemoteSnapshot) async throws(RemoteError) -> Bool {
    guard try await remote.snapshotManifest(of: snapshot) == nil else { return false }
    return try await remote.snapshotPart(at: 0, of: snapshot) == nil
  }

  private func isUnread(_ zone: ZoneID) throws -> Bool {
    try !store.isRereading(zone) && !store.hasSegmentsAhead(in: zone)
  }

  /// - Returns: the snapshot, and where the log had parted from what was read of it.
  private func beginWithNewest(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ isExpired: Bool, after offset: UInt64, _ parting: UInt64?
  ) async throws -> (SnapshotManifest, parting: UInt64?)? {
    var refusal: StoreError?
    do {
      for snapshot in try await remote.snapshots(of: zone, incarnation) ?? [] where snapshot.offset > offset {
        do {
          if let began = try await begin(zone, with: snapshot, parting) { return began }
        } catch {
          if Self.stopsBeginning(error) { throw error }
          if let error = error as? StoreError,
            [.outOfOrder, .mismatch, .retired, .laneClosed].contains(error.code)
          {
            refusal = refusal ?? error
          }
        }
      }
    } catch {
      if Self.stopsBeginning(error) { throw error }
    }
    // What the store has keeps it from the only way on.
    if isExpired, let refusal { throw refusal }
    return nil
  }

  private func begin(
    _ zone: ZoneID, with snapshot: RemoteSnapshot, _ parting: UInt64?
  ) async throws -> (SnapshotManifest, parting: UInt64?)? {
    guard let manifest = try await remote.snapshotManifest(of: snapshot), manifest.zone.name == zone.name,
      manifest.incarnation == snapshot.incarnation
    else { return nil }
    // The log must be the one that the snapshot says it is of, and have no end.
    let end = try await remote.segments(
      after: ChangeToken(
        zone: zone, incarnation: manifest.incarnation, offset: manifest.offset, hash: manifest.hash,
        chain: manifest.chain), bytesMax: 1)
    guard case .segments = end else { return nil }
    let former = try await formerEnd(of: zone, behind: manifest.offset)
    let remote = remote
    let found = try await store.begin(zone, with: manifest, parting: parting, sameThrough: former) {
      try await Self.part($0, of: snapshot, remote)
    }
    return (manifest, found)
  }

  /// The offset up to which a log that is read again was read before, if that is behind another one, and the log is still the
  /// same there; else 0.
  private func formerEnd(of zone: ZoneID, behind offset: UInt64) async throws -> UInt64 {
    guard let former = try store.formerEnd(of: zone), former.offset > offset else { return 0 }
    do throws(RemoteError) {
      guard case .segments = try await remote.segments(after: former, bytesMax: 1) else { return 0 }
      return former.offset
    } catch {
      if Self.stopsBeginning(error) { throw error }
      return 0
    }
  }

  static func part(
    _ index: Int, of snapshot: RemoteSnapshot, _ remote: any RemoteLog
  ) async throws -> [UInt8] {
    if let part = try await remote.snapshotPart(at: index, of: snapshot) { return part }
    throw StoreError(
      .damaged, "a snapshot of zone “\(snapshot.zone)” lacks its part \(index)",
      hint: "the log is read instead")
  }

  /// Whether an error concerns more than a snapshot: the log could not be read either.
  static func stopsBeginning(_ error: any Error) -> Bool {
    switch error {
    case is CancellationError: true
    case let error as StoreError:
      [.closed, .commitFailed, .commitUncertain, .readOnly, .full, .system, .accessDenied, .zoneUnknown]
        .contains(
          error.code)
    case let error as RemoteError: [.unreachable, .later, .cancelled].contains(error.code)
    default: false
    }
  }

  /// Makes a snapshot of a zone that is settled, and puts it at the remote, unless another store has made one
  /// since. If that fails, the next try waits until the log has grown as much again.
  ///
  /// - Parameter offset: the remote needs one behind it; nil if the size of the log decides.
  /// - Returns: whether it was made.
  func makeSnapshot(
    of zone: ZoneID, _ incarnation: IncarnationID, neededBehind offset: UInt64?
  ) async throws -> Bool {
    do {
      guard try await isSnapshotNeeded(zone, incarnation, behind: offset) else { return false }
      let maker = store.identity.replica
      try await store.withSnapshot(of: zone) { manifest in
        let snapshot = RemoteSnapshot(of: zone, incarnation, at: manifest.offset, by: maker)
        try await put(manifest, snapshot) { try await remote.finishSnapshot(manifest, of: snapshot) }
        try await store.noteSnapshot(manifest, of: zone)
      }
      return true
    } catch {
      let isForGood = (error as? RemoteError).map { $0.takesNothing || $0.code == .unsupported }
      try await store.deferSnapshot(of: zone, isForGood: isForGood ?? false)
      throw error
    }
  }

  private func isSnapshotNeeded(
    _ zone: ZoneID, _ incarnation: IncarnationID, behind offset: UInt64?
  ) async throws -> Bool {
    guard let known = try await remote.snapshots(of: zone, incarnation) else {
      try await store.deferSnapshot(of: zone, isForGood: true)
      return false
    }
    for snapshot in known {
      // One that is not of what this store has read, others may not be able to read either.
      guard let manifest = try await remote.snapshotManifest(of: snapshot),
        try store.knows(manifest, of: zone)
      else { continue }
      let bytes = try await store.noteSnapshot(manifest, of: zone)
      return offset.map { manifest.offset <= $0 } ?? (bytes >= manifest.byteCount)
    }
    return true
  }

  /// Puts the parts of a snapshot, and then ends it.
  func put<R>(
    _ manifest: SnapshotManifest, _ snapshot: RemoteSnapshot, end: () async throws -> R
  ) async throws -> R {
    var count = 0
    do {
      for index in manifest.parts.indices {
        let part = try store.snapshotPart(index, of: manifest)
        count += 1
        try await remote.putSnapshotPart(part, at: index, of: snapshot)
      }
      return try await end()
    } catch {
      // The next try is at another offset. What cannot be removed now only takes space.
      try? await remote.removeSnapshot(snapshot, parts: count)
      throw error
    }
  }

  /// Lets a zone's log begin later, as far as ``LogFloorChoice`` allows it: with a snapshot that is there, or with one that is
  /// made for it. A remote keeps the newest ones only, so in a busy zone none of them may be old enough.
  ///
  /// - Returns: the offset at which the log begins now; nil if nothing more may go.
  func trim(
    _ zone: ZoneID, _ incarnation: IncarnationID, olderThanMilliseconds: UInt64
  ) async throws -> UInt64? {
    guard let log = try store.read({ try $0.logOutline(of: zone, incarnation) }) else { return nil }
    var known: [(name: RemoteSnapshot, manifest: SnapshotManifest)] = []
    for snapshot in try await remote.snapshots(of: zone, incarnation) ?? [] {
      guard let manifest = try await remote.snapshotManifest(of: snapshot),
        try store.knows(manifest, of: zone)
      else { continue }
      known.append((snapshot, manifest))
    }
    known.sort { $0.name.offset > $1.name.offset }
    let choice = LogFloorChoice(
      now: log.now(at: store.wallMilliseconds()), olderThanMilliseconds: olderThanMilliseconds)
    let last = choice.lastOffset(
      among: known.map { ($0.name.offset, $0.manifest.floor) }, of: log
    ).offset
    guard last > 1, try await isWhole(known[0]) else { return nil }
    if let found = known.first(where: { $0.name.offset <= last }),
      try await hasEntry(before: found.name.offset, in: zone)
    {
      return try await isWhole(found) ? try await remote.trim(to: found.name, found.manifest) : nil
    }
    // It is much work: as much must go as stays.
    // Another client may have put a snapshot behind what was read.
    guard last <= log.end else { return nil }
    let (end, kept) = (log.end, log.end - last)
    guard end > 2 * kept, try await hasEntry(before: end - 2 * kept + 1, in: zone) else { return nil }
    return try await makeFloor(of: zone, incarnation, at: last)
  }

  /// Makes a snapshot of a former place of a zone's log, with which that begins then; nil if this store cannot.
  private func makeFloor(
    of zone: ZoneID, _ incarnation: IncarnationID, at offset: UInt64
  ) async throws -> UInt64? {
    let snapshot = RemoteSnapshot(of: zone, incarnation, at: offset, by: store.identity.replica)
    do {
      return try await store.withSnapshot(of: zone, at: offset) { manifest in
        try await put(manifest, snapshot) { try await remote.trim(to: snapshot, manifest) }
      }
    } catch let error as StoreError {
      guard error.code == .unsettled else { throw error }
      return nil
    }
  }

  private func isWhole(_ snapshot: (name: RemoteSnapshot, manifest: SnapshotManifest)) async throws -> Bool {
    try await SnapshotReader(remote).whole(snapshot.name) == snapshot.manifest
  }

  /// Whether the log still has an entry before an offset that the store has read.
  private func hasEntry(before offset: UInt64, in zone: ZoneID) async throws -> Bool {
    guard offset > 1, let place = try store.read({ try $0.changeToken(of: zone, before: offset) }) else {
      return false
    }
    do throws(RemoteError) {
      _ = try await remote.segments(after: place.token, bytesMax: 1)
      return true
    } catch {
      guard error.code == .expired else { throw error }
      return false
    }
  }
}
