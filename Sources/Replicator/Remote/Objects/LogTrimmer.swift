internal import OperationFormat

/// Removes the old part of logs. The floor is written first: a reader that misses an entry then learns that a snapshot
/// stands for it. So it may be cut short anywhere, and several may trim at once.
struct LogTrimmer: Sendable {
  let objects: any ObjectStore
  let zones: RemoteZoneList
  let snapshots: ObjectSnapshots
  private var floors: LogFloors { LogFloors(objects: objects) }

  /// Lets a log begin later. Nothing of it is removed.
  ///
  /// - Parameter wrong: a floor that does not count, however high it is; nil for none.
  /// - Returns: the floor that it has now, which another may have raised higher.
  func raise(to floor: LogFloor, insteadOf wrong: LogFloor? = nil) async throws(RemoteError) -> LogFloor {
    try await zones.noteTrimmedLogs()
    return try await floors.raise(to: floor, insteadOf: wrong)
  }

  /// Lets a log begin with a snapshot, and removes what is before it.
  ///
  /// - Returns: the offset at which it begins now.
  func trim(
    to snapshot: RemoteSnapshot, _ manifest: SnapshotManifest
  ) async throws(RemoteError) -> UInt64 {
    guard try await zones.fate(of: snapshot.zone, snapshot.incarnation, checkedAt: 0) == nil else {
      throw .deleted(snapshot.zone)
    }
    try await snapshots.putManifest(manifest, of: snapshot)
    let floor = try await raise(to: LogFloor(manifest, by: snapshot.maker))
    // One that was not the floor yet, others may have removed meanwhile. Then nothing stands for the entries.
    guard try await snapshots.isWhole(floor.snapshot(of: snapshot.zone)) else { return floor.offset }
    try await snapshots.removeAll(of: snapshot.zone, snapshot.incarnation, before: floor.offset)
    try await removeFormer(of: snapshot.zone, snapshot.incarnation, before: floor.offset)
    // From the first on: an entry that is there has all that follow it.
    var next = try await objects.firstEntry(of: snapshot.incarnation)
    while let offset = next, offset < floor.offset {
      try await objects.delete(.entry(of: snapshot.incarnation, offset))
      try await objects.delete(.amendment(of: snapshot.incarnation, offset))
      next = offset + 1
    }
    return floor.offset
  }

  /// Removes the snapshots with which a log has begun before: the list of snapshots may not name them any more.
  ///
  /// - Parameter first: where it begins now. A floor that was wrong may be above.
  private func removeFormer(
    of zone: ZoneID, _ incarnation: IncarnationID, before first: UInt64
  ) async throws(RemoteError) {
    var left: [RemoteSnapshot] = []
    var number = try await floors.last(of: incarnation)
    while number > 1, left.count < Self.formerMax {
      number -= 1
      do throws(RemoteError) {
        let former = try await floors.read(number, of: incarnation).snapshot(of: zone)
        // Those before it went earlier.
        guard try await snapshots.manifest(of: former) != nil else { break }
        if former.offset < first { left.append(former) }
      } catch {
        guard error.isAboutOneObject else { throw error }
      }
    }
    // The first one first: so this continues where it is cut short.
    for former in left.reversed() { try await snapshots.remove(former) }
  }

  /// So many are removed at once.
  private static let formerMax = 16
}

extension LogFloor {
  /// A floor at the offset of a snapshot.
  init(_ manifest: SnapshotManifest, by maker: ReplicaID, hasEntry: Bool = true) {
    self.init(
      manifest.incarnation, offset: manifest.offset, maker: maker, hash: manifest.hash, chain: manifest.chain,
      hasEntry: hasEntry)
  }
}
