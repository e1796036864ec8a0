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
      try await RebuildRun(core).finish(zone)
      let made = try core.makeSnapshot(of: zone) { _ in }
      // The log has nothing besides. The files of what the zone begins with may be gone.
      let known = try core.read { try $0.readView.zones.origin(of: $0.readView.zones.number(of: zone)) }
      if known?.content == made.manifest.content { return }
      try await OriginChange(core: core, zone: zone, manifest: made.manifest).run(progress)
      try core.removeUnneededSnapshots()
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Retires the history of zones that a policy does not keep. Nothing that the store shows changes.
  ///
  /// ```swift
  /// // Keeps a month, and of a zone with much of it at most 100 MiB.
  /// try await store.retireHistory(
  ///   keeping: HistoryPolicy(millisecondsMax: 30 * 86_400_000, logBytesMax: 100 << 20))
  /// ```
  ///
  /// What waits to be sent stays, and so does a zone that was never synced, or whose records are being folded again. A
  /// replicator does it by itself: see `SyncPolicy.history`.
  ///
  /// - Parameters:
  ///   - policy: what stays.
  ///   - zones: of which zones; nil for all.
  ///   - progress: called now and then with how much is done of one step of the work; what it throws ends the work.
  /// - Returns: what went, for each zone from which anything did.
  /// - Throws: ``StoreError`` `unsettled` if one of the given zones cannot be cut now; `zoneUnknown`, `newerFormat`,
  ///   `damaged`, `full`, `readOnly`, `system`; what `progress` throws. Zones before it are done.
  /// - Complexity: linear in the zones' logs; where anything goes, also in the records of its zone.
  @discardableResult
  public func retireHistory(
    keeping policy: HistoryPolicy, in zones: [ZoneID]? = nil,
    progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> [RetiredHistory] {
    do {
      return try await HistoryRetirement(core, policy).run(zones, progress)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// The same for zones of which as much goes as stays, and a least number of bytes: then it costs little for each write.
  /// It ends after some zones; the next call continues.
  package func retireDueHistory(
    keeping policy: HistoryPolicy, in zones: [ZoneID], bytesMin: UInt64
  ) async throws -> [RetiredHistory] {
    do {
      return try await HistoryRetirement(core, policy, bytesMin: bytesMin).run(zones) { _, _ in }
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Lets a zone begin with a snapshot of its remote log, and folds what the store has besides into that.
  ///
  /// - Parameters:
  ///   - parting: an offset from which on the store is known to have read another log; nil for none.
  ///   - same: if the log is being read again, the offset up to which it is known to be what was read before.
  ///   - fetch: gives a part as it is stored.
  /// - Returns: the first offset at which the store had read another log; nil if it had not. Then the log is to be read to its
  ///   end, as ``part(_:from:)`` says.
  @discardableResult
  package func begin(
    _ zone: ZoneID, with manifest: SnapshotManifest, parting: UInt64? = nil, sameThrough same: UInt64 = 0,
    fetch: @escaping @Sendable (Int) async throws -> [UInt8],
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> UInt64? {
    do {
      try core.checkReplacesNoOrigin(manifest)
      try await core.snapshots.keep(manifest, fetch: fetch)
      let change = OriginChange(
        core: core, zone: zone, manifest: manifest, parting: parting, sameThrough: same, mayPart: true)
      let found = try await change.run(progress)
      try core.removeUnneededSnapshots()
      return found
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

  /// The snapshots that zones begin with and that are not whole here, as far as the sizes of their files say. They are looked
  /// for once after the store was opened, and again when a part turned out to be damaged.
  ///
  /// - Returns: those of which ``noteAsked(for:)`` was not called since.
  package func brokenOrigins() throws -> [BrokenOrigin] {
    if let known = core.brokenOrigins.value { return known }
    let found: [BrokenOrigin] = try read { source in
      let view = source.readView
      return try view.zones.origins().compactMap { number, origin in
        guard try !core.snapshots.isThere(origin.content), let zone = try view.zones.id(of: number) else {
          return nil
        }
        return BrokenOrigin(
          zone: zone, incarnation: try view.incarnations.identity(of: origin.incarnation),
          offset: origin.offset,
          content: origin.content)
      }
    }
    core.brokenOrigins.value = found
    return found
  }

  /// Notes that a remote was asked for a snapshot, and that what it has of it was put back.
  package func noteAsked(for broken: BrokenOrigin) {
    core.brokenOrigins.change { known in known?.removeAll { $0.zone == broken.zone } }
  }

  /// Whether a manifest is of a snapshot that a zone begins with, by all that the store knows of that. The hash of the content
  /// does not say of which log it is, nor its floor.
  package func isManifest(_ manifest: SnapshotManifest, of broken: BrokenOrigin) throws -> Bool {
    guard manifest.content == broken.content, manifest.offset == broken.offset,
      manifest.incarnation == broken.incarnation, manifest.zone.name == broken.zone.name
    else { return false }
    return try read { source in
      let view = source.readView
      let number = try view.zones.number(of: broken.zone)
      guard let origin = try view.zones.origin(of: number), origin.content == broken.content else {
        return false
      }
      let floor = try view.lanes.countedFloor(of: number, origin.incarnation, before: origin.offset + 1)
      return try floor == manifest.floor ?? 0
        && view.segments.hasLog(of: manifest, in: number, origin.incarnation)
    }
  }

  /// Puts back what is damaged of a snapshot.
  ///
  /// - Parameter fetch: gives a part as it is stored.
  package func putBack(_ manifest: SnapshotManifest, fetch: @escaping @Sendable (Int) async throws -> [UInt8])
    async throws
  {
    do {
      try await core.snapshots.keep(manifest, fetch: fetch)
    } catch {
      throw StoreError.translate(error)
    }
  }

  /// Calls a closure with a snapshot of a zone, whose files are removed then unless they were there before.
  ///
  /// - Parameter offset: a former place of its remote log; nil for where it was read to, with nothing that waits.
  /// - Throws: as ``makeSnapshot(of:progress:)``; what the closure throws.
  package func withSnapshot<R>(
    of zone: ZoneID, at offset: UInt64? = nil, _ body: (SnapshotManifest) async throws -> R
  ) async throws -> R {
    let made = try await core.fileThreads.run(.waits) { [core] call in
      try StoreError.translating {
        guard let offset else { return try core.makeSnapshot(of: zone) { _ in try call.checkCancellation() } }
        return try core.read {
          try core.makeSnapshot(of: zone, at: offset, $0) { _, _ in try call.checkCancellation() }
        }
      }
    }
    let result: Result<R, any Error>
    do { result = .success(try await body(made.manifest)) } catch { result = .failure(error) }
    if made.isNew { await removeUnlessNeeded(made.manifest) }
    return try result.get()
  }

  /// Calls a closure with the snapshot of a zone at a place of its remote log, as all stores make it, and with what reads its
  /// parts: the one that the zone begins with, or one that is made in a scratch directory. The store does not change.
  ///
  /// - Returns: what the closure returns; nil if the store has not read the log up to there.
  /// - Throws: ``StoreError`` `unsettled`, `zoneUnknown`, `newerFormat`, `damaged`, `full`, `system`; what the closure throws.
  package func withSnapshotAgain<R: Sendable>(
    of zone: ZoneID, _ incarnation: IncarnationID, at offset: UInt64,
    _ body: (SnapshotManifest, _ part: (Int) throws -> [UInt8]) async throws -> R
  ) async throws -> R? {
    guard let token = try read({ try $0.changeToken(of: zone) }), token.incarnation == incarnation,
      token.offset >= offset
    else { return nil }
    if let origin = try origin(of: zone), origin.incarnation == incarnation, origin.offset == offset {
      return try await body(origin) { try snapshotPart($0, of: origin) }
    }
    let directory = try SystemEnvironment.makeScratchDirectory(in: core.configuration.scratchDirectory)
    let files = SnapshotFiles(
      store: directory, isSynced: false, calls: FileCalls(), makeRandom: core.configuration.makeRandom)
    defer {
      // A scratch directory is nobody's: what stays, the system removes.
      try? files.removeAll()
      SystemEnvironment.removeScratchDirectory(directory)
    }
    let made = try await core.fileThreads.run(.waits) { [core] call in
      try core.read {
        try core.makeSnapshot(of: zone, at: offset, $0, into: files) { _, _ in try call.checkCancellation() }
      }
    }
    return try await body(made.manifest) { index in
      try StoreError.translating { try files.part(index, of: made.manifest) }
    }
  }

  /// Removes the files of a snapshot. A zone may have begun to stand on it meanwhile, as history was retired up to the same
  /// place: who lets one begin looks for the files in a write transaction too.
  private func removeUnlessNeeded(_ manifest: SnapshotManifest) async {
    _ = try? await core.performIfChanged { [core] store -> Bool? in
      if try !store.storage.zones.originContents().contains(manifest.content) {
        try core.snapshots.remove(manifest.content)
      }
      return nil
    }
  }

  /// Notes that a snapshot could not be made: the next try comes when the log has grown as much again, or in the next round
  /// if the remote needs one whatever its size.
  ///
  /// - Parameter isForGood: whether the remote takes none.
  package func deferSnapshot(of zone: ZoneID, isForGood: Bool = false) async throws {
    try await core.perform { store in
      let (number, known) = try store.storage.zones.visible(zone)
      var row = known
      row.deferSnapshot()
      if isForGood { try store.storage.lanes.forgetSnapshotNeeded(having: .max, in: number) }
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
  /// - Returns: how many bytes a new one would stand for, about: see `ZoneRow.snapshotDueBytes(_:)`.
  @discardableResult
  package func noteSnapshot(_ manifest: SnapshotManifest, of zone: ZoneID) async throws -> UInt64 {
    try await core.perform { store in
      let (number, known) = try store.storage.zones.visible(zone)
      var row = known
      let (end, before) = (row.token?.offset ?? 0, row.snapshot.offset)
      // Each entry counts as the others do.
      if manifest.offset >= end {
        row.logBytes = 0
      } else if manifest.offset > before {
        row.logBytes = UInt64(Double(row.logBytes) * Double(end - manifest.offset) / Double(end - before))
      }
      try store.storage.lanes.forgetSnapshotNeeded(having: manifest.offset, in: number)
      if manifest.offset > before { row.snapshot.note(manifest, passing: known.logBytes - row.logBytes) }
      store.storage.setZoneRow(row, number)
      return try row.snapshotDueBytes(store.storage.stateRow(row.state).floor)
    }
  }

  /// A part of a snapshot that was made here, as it is stored.
  package func snapshotPart(_ index: Int, of manifest: SnapshotManifest) throws -> [UInt8] {
    try StoreError.translating { try core.snapshots.part(index, of: manifest) }
  }
}
