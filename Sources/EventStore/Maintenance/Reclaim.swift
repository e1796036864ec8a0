import LMDB
import OperationFormat

/// Removes the rows of zones that were deleted, in steps.
struct Reclaim {
  let storage: TableStorage

  init(_ storage: TableStorage) { self.storage = storage }

  /// Removes some rows of zones that were deleted.
  ///
  /// - Returns: nil if there are no such zones.
  func step() throws -> ReclaimReport? {
    var report = ReclaimReport()
    var budget = RemovalBudget()
    var last = ZoneNumber.none
    while !budget.isSpent, let zone = try storage.zones.nextRemoved(after: last) {
      try reclaim(zone, &budget, &report)
      last = zone
    }
    return last == .none ? nil : report
  }

  /// Removes some rows of one zone, its own row last.
  private func reclaim(_ zone: ZoneNumber, _ budget: inout RemovalBudget, _ report: inout ReclaimReport)
    throws
  {
    // The sequences tell where its entries are: while there are any, nothing else goes.
    report.transactions += try reclaimLog(zone, &budget)
    let tables = storage.tables
    let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
    let rows = [(tables.segments, prefix), (tables.placements, prefix)]
    for (table, prefix) in rows + TableKey.lanesOfZone(zone).map({ (tables.replicas, $0) }) {
      if budget.isSpent { return }
      try storage.transaction.deleteEntries(in: table, under: prefix.span.bytes, &budget.rows)
    }
    guard !budget.isSpent else { return }
    budget.rows -= try storage.assets.removeAll(of: zone, rowsMax: budget.rows)
    guard !budget.isSpent else { return }
    try storage.zones.removeCut(of: zone)
    try storage.zones.removeOrigin(of: zone)
    try storage.removeZoneRow(zone)
    budget.rows -= 1
    report.zones += 1
  }

  /// Takes some of a zone's entries out of the log, and their sequences.
  ///
  /// - Returns: how many.
  private func reclaimLog(_ zone: ZoneNumber, _ budget: inout RemovalBudget) throws -> UInt64 {
    let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
    var runs: [ClosedRange<Position>] = []
    while !budget.isSpent {
      var cursor = try storage.transaction.openCursor(storage.tables.sequences)
      guard try cursor.seek(atOrAfter: prefix.span) else { break }
      let found = try cursor.withCheckedEntry { key, row -> (lane: Lane, run: SequenceRun)? in
        guard key.hasPrefix(prefix.span.bytes) else { return nil }
        let lane = Lane(
          zone: zone, replica: ReplicaNumber(rawValue: try key.bigEndian32(at: 4)),
          epoch: try key.bigEndian32(at: 8))
        return (lane, try SequenceRun(row, under: key))
      }
      guard let (lane, run) = found else { break }
      let positions = try storage.log.firstRemoved(of: run.positions, &budget)
      runs.append(positions)
      let count = positions.upperBound.rawValue - positions.lowerBound.rawValue
      try storage.log.removeSequences(run.first...run.first + count, of: lane)
    }
    try storage.log.remove(runs, isRewrite: false)
    return runs.reduce(0) { $0 + ($1.upperBound.rawValue - $1.lowerBound.rawValue) + 1 }
  }
}

extension Reclaim {
  /// Removes all that deleted zones have left, and the files of assets that nothing names.
  static func run(_ core: StoreCore, progress: (ReclaimReport) throws -> Void) async throws -> ReclaimReport {
    var report = ReclaimReport()
    while try await core.perform({ try Rebuild($0).discardStep() }) { try progress(report) }
    while let step = try await core.perform({ try Reclaim($0.storage).step() }) {
      report.zones += step.zones
      report.transactions += step.transactions
      try progress(report)
    }
    try await FoldedEntries.removeAll(core)
    try StoreError.translating { try core.removeUnneededSnapshots() }
    (report.assets, report.assetBytes) = try await AssetCollection(core).collect()
    return report
  }
}

extension ZoneTable where Source == TableStorage {
  /// The next zone whose rows are to be taken away, nil if there is none.
  fileprivate func nextRemoved(after last: ZoneNumber) throws -> ZoneNumber? {
    try source.flush()
    var cursor = try transaction.openCursor(tables.zones)
    var isThere = try cursor.seek(atOrAfter: TableKey.zoneRow(ZoneNumber(rawValue: last.rawValue + 1)).span)
    while isThere {
      let (number, isRemoved) = try cursor.withCheckedEntry { key, row in
        guard key.hasPrefix([2]) else { return (ZoneNumber?.none, false) }
        return (ZoneNumber(rawValue: try key.bigEndian32(at: 1)), try ZoneRow(row).status == .removed)
      }
      guard let number else { return nil }
      if isRemoved { return number }
      isThere = try cursor.next()
    }
    return nil
  }
}
