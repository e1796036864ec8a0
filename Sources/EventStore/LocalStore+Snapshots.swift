public import OperationFormat

extension LocalStore {
  /// Writes a snapshot of a zone beside the store's data: its whole state as its remote log has it up to where the store has
  /// read it.
  ///
  /// Two stores that are in sync at one place of the log write the same content.
  ///
  /// - Parameter progress: called now and then with how many records are written; what it throws ends the work.
  /// - Throws: ``StoreError`` `unsettled` if something waits to be sent, or the zone was never synced; `zoneUnknown`,
  ///   `newerFormat`, `damaged`, `full`, `readOnly`, `system`; what `progress` throws.
  /// - Complexity: linear in the zone's records, and in its log since the snapshot that it begins with.
  public func makeSnapshot(
    of zone: ZoneID, progress: (_ records: UInt64) throws -> Void = { _ in }
  ) throws -> SnapshotManifest {
    try withoutActuallyEscaping(progress) { progress in
      try StoreError.translating { try core.makeSnapshot(of: zone, progress).manifest }
    }
  }

  /// Retires the history of a zone: its records begin with a snapshot of what they are now, and the log keeps only what comes
  /// later. Nothing that the store shows changes.
  ///
  /// What waits to be sent is never retired: a zone in which something does is left as it is. The past of the store, and what
  /// explains a value, then begin here.
  ///
  /// - Parameter progress: called now and then with how many records are loaded, of how many; what it throws ends the work.
  /// - Throws: ``StoreError`` `unsettled` if something waits to be sent, or the zone was never synced; `zoneUnknown`,
  ///   `newerFormat`, `damaged`, `full`, `readOnly`, `system`; what `progress` throws.
  /// - Complexity: linear in the zone's records and its log.
  public func retireHistory(
    of zone: ZoneID, progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws {
    do {
      let made = try core.makeSnapshot(of: zone) { _ in }
      try await OriginChange(core: core, zone: zone, manifest: made.manifest).run(
        madeAt: made.position, progress)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Lets a zone begin with a snapshot of its remote log, and folds what the store has besides into that.
  ///
  /// - Parameter fetch: gives a part as it is stored.
  package func begin(
    _ zone: ZoneID, with manifest: SnapshotManifest, fetch: @escaping @Sendable (Int) async throws -> [UInt8],
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws {
    try await core.keep(manifest, fetch: fetch)
    try await OriginChange(core: core, zone: zone, manifest: manifest).run(progress)
  }

  /// A part of a snapshot that was made here, as it is stored.
  package func snapshotPart(_ index: Int, of manifest: SnapshotManifest) throws -> [UInt8] {
    try StoreError.translating { try core.snapshots.part(index, of: manifest) }
  }
}

extension StoreCore {
  var snapshots: SnapshotFiles {
    SnapshotFiles(
      store: configuration.assetDirectory ?? directory, isSynced: !configuration.isUnsynced,
      calls: configuration.assetCalls, makeRandom: configuration.makeRandom)
  }

  /// Writes a snapshot of a zone. Returns the last position of the log that it has seen, too.
  func makeSnapshot(
    of zone: ZoneID, _ progress: @escaping (UInt64) throws -> Void
  ) throws -> (manifest: SnapshotManifest, position: Position) {
    if configuration.isReadOnly { throw StoreError.readOnly(directory) }
    return try read { source in
      let position = try source.lastPosition()
      let manifest = try snapshots.make { keep in
        try SnapshotWriter(of: zone, source, keep: keep).write(progress: progress)
      }
      return (manifest, position)
    }
  }

  /// Keeps a snapshot of another store.
  func keep(_ manifest: SnapshotManifest, fetch: (Int) async throws -> [UInt8]) async throws {
    let incoming = try snapshots.begin()
    do {
      for (index, part) in manifest.parts.enumerated() {
        let stored = try await fetch(index)
        _ = try part.unpack(stored.span.bytes)
        try snapshots.write(stored, index, to: incoming)
      }
      try snapshots.finish(manifest, incoming)
    } catch {
      snapshots.discard(incoming)
      throw StoreError.translate(error)
    }
  }

  /// Removes the snapshots that no zone begins with.
  func removeUnneededSnapshots() throws {
    let needed = try read { try $0.readView.zones.origins().map(\.origin.content) }
    try snapshots.remove(allBut: Set(needed))
  }
}
