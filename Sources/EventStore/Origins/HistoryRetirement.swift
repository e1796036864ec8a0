import OperationFormat

/// Retires what a policy does not keep of the history of zones.
///
/// The zone's records at the offset that the policy allows are folded again, in a scratch directory, from the snapshot that
/// the zone begins with and the log after it. The snapshot that is written of them is the one that a store would have
/// written that was settled there, byte for byte; then the zone begins with it. So nothing has to be prepared while time
/// goes by, the first run already cuts where the policy says, and what waits to be sent may wait. Cut short, it leaves what
/// nothing needs: ``OriginChange`` says the rest.
struct HistoryRetirement {
  private let core: StoreCore
  private let policy: HistoryPolicy
  /// Nil: all that the policy lets go is retired, at once.
  private let bytesMin: UInt64?

  /// So many bytes of log are read for those zones that are due in one run, and of one zone more.
  private static let runBytesMax: UInt64 = 32 << 20

  init(_ core: StoreCore, _ policy: HistoryPolicy, bytesMin: UInt64? = nil) {
    (self.core, self.policy, self.bytesMin) = (core, policy, bytesMin)
  }

  /// - Parameter zones: nil for all: then those are left out that cannot be cut now.
  func run(
    _ zones: [ZoneID]?, _ progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void
  ) async throws -> [RetiredHistory] {
    if core.configuration.isReadOnly { throw StoreError.readOnly(core.directory) }
    if policy == .everything { return [] }
    // A round has done so at its start.
    if bytesMin == nil { try await RebuildRun(core).finish() }
    var found: [RetiredHistory] = []
    var bytes: UInt64 = 0
    var damage: StoreError?
    for zone in try zones ?? core.read({ try $0.zones() }) where bytesMin == nil || bytes < Self.runBytesMax {
      do {
        guard let (retired, read) = try await run(zone, progress) else { continue }
        found.append(retired)
        bytes += read
      } catch let error as StoreError where zones == nil || bytesMin != nil {
        // What is damaged of one zone holds up no other.
        guard [.unsettled, .newerFormat, .zoneUnknown, .damaged].contains(error.code) else { throw error }
        if error.code == .damaged { damage = damage ?? error }
      }
    }
    if !found.isEmpty { try core.removeUnneededSnapshots() }
    if let damage { throw damage }
    return found
  }

  /// - Returns: what was retired, and how many bytes of log were read for it; nil if nothing was.
  private func run(
    _ zone: ZoneID, _ progress: @escaping @Sendable (_ done: UInt64, _ total: UInt64) throws -> Void
  ) async throws -> (RetiredHistory, UInt64)? {
    let made = try await core.fileThreads.run(.waits) { call in
      try core.read { source in
        try make(of: zone, source) { done, total in
          try call.checkCancellation()
          try progress(done, total)
        }
      }
    }
    guard let (choice, manifest) = made else { return nil }
    try await OriginChange(core: core, zone: zone, manifest: manifest).run(progress)
    let origin = try core.read { try $0.readView.zones.origin(of: $0.readView.zones.number(of: zone)) }
    let retired = RetiredHistory(
      zone: zone, transactions: choice.transactions, bytes: choice.bytes,
      position: origin?.position ?? .start)
    return (retired, choice.bytes + choice.keptBytes)
  }

  /// Writes the snapshot with which a zone is to begin; nil if it is to stay as it is.
  private func make(
    of zone: ZoneID, _ source: borrowing ReadTransaction,
    _ progress: @escaping (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws -> (HistoryChoice, SnapshotManifest)? {
    let number = try source.readView.zones.visible(zone).number
    let choice = try HistoryChoice(
      of: number, source, keeping: policy, at: core.configuration.wallMilliseconds(), core.snapshots)
    guard let choice else { return nil }
    if let bytesMin, choice.bytes < max(bytesMin, choice.keptBytes, choice.originBytes) { return nil }
    return (choice, try core.makeSnapshot(of: zone, at: choice.offset, source, progress).manifest)
  }
}

extension StoreCore {
  /// Writes a snapshot of a zone as its remote log had it up to an offset, which is not after its token.
  ///
  /// - Parameter files: where to write it; nil for the store's own.
  /// - Throws: ``StoreError`` `unsettled`, `zoneUnknown`, `newerFormat`, `damaged`, `full`, `system`; what the closure throws.
  func makeSnapshot(
    of zone: ZoneID, at offset: UInt64, _ source: borrowing ReadTransaction, into files: SnapshotFiles? = nil,
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) throws -> MadeSnapshot {
    let view = source.readView
    let token = try SnapshotWriter.checkedToken(of: zone, view)
    let number = try view.zones.number(of: zone)
    if let begin = try view.zones.origin(of: number)?.offset, begin > offset {
      throw StoreError.unsettled(zone, "it begins at offset \(begin)")
    }
    var lanes: [Lane: UInt64] = [:]
    for lane in try view.lanes.countedLanes(of: number) {
      lanes[Lane(zone: number, replica: lane.replica, epoch: lane.epoch)] = try view.placements.lastPlaced(
        lane.replica, lane.epoch, in: number, token.incarnation, before: offset + 1)
    }
    let fold = try ScratchFold(
      of: source, .zone(zone, number, through: lanes), snapshots, in: configuration.scratchDirectory,
      progress: progress)
    return try fold.read { records in
      let past = (offset: offset, records: records.readView)
      let made = try (files ?? snapshots).make { keep in
        try SnapshotWriter(of: zone, source, past: past, keep: keep).write { try progress($0, $0) }
      }
      return MadeSnapshot(manifest: made.manifest, isNew: made.isNew)
    }
  }
}
