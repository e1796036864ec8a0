public import OperationFormat

extension LocalStore {
  /// Writes a snapshot of a zone beside the store's data: its whole state as its remote log has it up to where the store has
  /// read it.
  ///
  /// Two stores that are in sync at one place of the log write the same content.
  ///
  /// - Parameters:
  ///   - zone: which zone.
  ///   - progress: called now and then with how many records are written; what it throws ends the work.
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
  /// - Parameters:
  ///   - zone: whose history goes.
  ///   - progress: called now and then with how many records are loaded, of how many; what it throws ends the work.
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
    do {
      try await core.snapshots.keep(manifest, fetch: fetch)
      try await OriginChange(core: core, zone: zone, manifest: manifest).run(progress)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// The snapshot that a zone's records begin with; nil if the log has all of the zone.
  package func origin(of zone: ZoneID) throws -> SnapshotManifest? {
    let origin = try read { source in
      try source.readView.zones.origin(of: source.readView.zones.number(of: zone))
    }
    return try StoreError.translating { try origin.map { try core.snapshots.manifest(of: $0.content) } }
  }

  /// Calls a closure with a snapshot of a zone, whose files are removed then unless they were there before.
  ///
  /// - Throws: as ``makeSnapshot(of:progress:)``; what the closure throws.
  package func withSnapshot(
    of zone: ZoneID, _ body: (SnapshotManifest) async throws -> Void
  ) async throws {
    let made = try await core.fileThreads.run(.waits) { [core] call in
      try StoreError.translating {
        try core.makeSnapshot(of: zone) { _ in if call.isCancelled { throw CancellationError() } }
      }
    }
    defer { if made.isNew { try? core.snapshots.remove(made.manifest.content) } }
    try await body(made.manifest)
  }

  /// Notes that a snapshot could not be made: the next try comes when the log has grown as much again.
  package func deferSnapshot(of zone: ZoneID) async throws {
    try await core.perform { store in
      let (number, known) = try store.storage.zones.visible(zone)
      var row = known
      row.logBytes = 0
      store.storage.setZoneRow(row, number)
    }
  }

  /// Whether a snapshot is of the log that a zone has read.
  package func knows(_ manifest: SnapshotManifest, of zone: ZoneID) throws -> Bool {
    try read { source in
      let (number, row) = try source.readView.zones.visible(zone)
      guard let token = row.token, manifest.offset <= token.offset else { return false }
      return try source.readView.segments.hasLog(of: manifest, in: number, token.incarnation)
    }
  }

  /// Notes that the remote has a snapshot of a zone.
  ///
  /// - Returns: how many bytes the log has after it, about.
  @discardableResult
  package func noteSnapshot(
    of zone: ZoneID, at offset: UInt64, byteCount: UInt64
  ) async throws -> UInt64 {
    try await core.perform { store in
      let (number, known) = try store.storage.zones.visible(zone)
      var row = known
      let (end, before) = (row.token?.offset ?? 0, row.snapshot.offset)
      // Each entry counts as the others do.
      if offset >= end {
        row.logBytes = 0
      } else if offset > before {
        row.logBytes = UInt64(Double(row.logBytes) * Double(end - offset) / Double(end - before))
      }
      if offset > before { row.snapshot = (offset, byteCount) }
      store.storage.setZoneRow(row, number)
      return row.logBytes
    }
  }

  /// A part of a snapshot that was made here, as it is stored.
  package func snapshotPart(_ index: Int, of manifest: SnapshotManifest) throws -> [UInt8] {
    try StoreError.translating { try core.snapshots.part(index, of: manifest) }
  }
}
