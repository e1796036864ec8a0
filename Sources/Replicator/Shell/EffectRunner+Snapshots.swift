import EventStore
import OperationFormat

/// Snapshots of zones at a remote: a new store begins with one, and one that has sent something makes the next.
extension EffectRunner {
  /// Lets a zone of which nothing was read begin with the newest snapshot of its log that can be read.
  ///
  /// - Returns: nil if there is none: the log is to be read.
  func begin(_ zone: ZoneID, _ incarnation: IncarnationID) async throws -> FoldOutcome? {
    // Who knows the log reads it again: what is here is kept.
    guard try !store.isRereading(zone), try !store.hasSegmentsAhead(in: zone),
      let known = try await remote.snapshots(of: zone, incarnation)
    else {
      return nil
    }
    for snapshot in known {
      guard let manifest = try await remote.snapshotManifest(of: snapshot) else { continue }
      do {
        try await begin(zone, with: manifest, snapshot)
        guard let token = try store.read({ try $0.changeToken(of: zone) }) else { return nil }
        var outcome = FoldOutcome(token: token)
        outcome.beganAt = manifest.offset
        return outcome
      } catch {
        guard Self.isOnlyOf(snapshot, error) else { throw error }
      }
    }
    return nil
  }

  private func begin(
    _ zone: ZoneID, with manifest: SnapshotManifest, _ snapshot: RemoteSnapshot
  ) async throws {
    guard manifest.zone.name == zone.name else {
      throw StoreError(
        .mismatch, "a snapshot of zone “\(zone)” says that it is of “\(manifest.zone)”",
        hint: "check the remote with `replay remote`")
    }
    // The log must be the one that the snapshot says it is of.
    _ = try await remote.segments(
      after: ChangeToken(
        zone: zone, incarnation: manifest.incarnation, offset: manifest.offset, hash: manifest.hash,
        chain: manifest.chain), bytesMax: 1)
    let remote = remote
    try await store.begin(zone, with: manifest) { index in
      if let part = try await remote.snapshotPart(at: index, of: snapshot) { return part }
      throw StoreError(
        .damaged, "a snapshot of zone “\(zone)” lacks its part \(index)", hint: "the log is read instead")
    }
  }

  /// Whether an error says that one snapshot is wrong: the one before, or the log, may serve.
  private static func isOnlyOf(_ snapshot: RemoteSnapshot, _ error: any Error) -> Bool {
    switch error {
    case let error as StoreError: [.damaged, .newerFormat, .outOfOrder, .mismatch].contains(error.code)
    case let error as RemoteError:
      [.wentBack, .damagedSegment, .newerSegment, .missingSegment, .quarantined].contains(error.code)
    default: false
    }
  }

  /// Makes a snapshot of a zone that is settled, and puts it at the remote, unless another store has made one
  /// since.
  ///
  /// - Returns: whether it was made.
  func makeSnapshot(of zone: ZoneID, _ incarnation: IncarnationID) async throws -> Bool {
    guard let known = try await remote.snapshots(of: zone, incarnation) else { return false }
    if let newest = known.first, let manifest = try await remote.snapshotManifest(of: newest) {
      let left = try await store.noteSnapshot(of: zone, at: newest.offset, byteCount: manifest.byteCount)
      if left < manifest.byteCount { return false }
    }
    guard let manifest = try await store.makeSnapshotForRemote(of: zone) else { return false }
    let snapshot = RemoteSnapshot(of: zone, incarnation, at: manifest.offset, by: store.identity.replica)
    for index in manifest.parts.indices {
      try await remote.putSnapshotPart(store.snapshotPart(index, of: manifest), at: index, of: snapshot)
    }
    try await remote.finishSnapshot(manifest, of: snapshot)
    try await store.noteSnapshot(of: zone, at: manifest.offset, byteCount: manifest.byteCount)
    try store.removeUnneededSnapshots()
    return true
  }
}
