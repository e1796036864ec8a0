import LMDB
import OperationFormat

/// Removes the rows of zones that were deleted, in steps.
struct Reclaim {
  /// What one step may still take away: so that its transaction stays small.
  private struct Budget {
    var rows = 10_000
    /// Of the log.
    var bytes = LogReplay.stepBytesMax

    var isSpent: Bool { rows <= 0 || bytes <= 0 }
  }

  let storage: TableStorage

  init(_ storage: TableStorage) { self.storage = storage }

  /// Removes some rows of zones that were deleted.
  ///
  /// - Returns: nil if there are no such zones.
  func step() throws -> ReclaimReport? {
    var report = ReclaimReport()
    var budget = Budget()
    var last = ZoneNumber.none
    while !budget.isSpent, let zone = try storage.zones.nextRemoved(after: last) {
      try reclaim(zone, &budget, &report)
      last = zone
    }
    return last == .none ? nil : report
  }

  /// Removes some rows of one zone, its own row last.
  private func reclaim(_ zone: ZoneNumber, _ budget: inout Budget, _ report: inout ReclaimReport) throws {
    // The sequences tell where its entries are: while there are any, nothing else goes.
    report.transactions += try reclaimLog(zone, &budget)
    let tables = storage.tables
    let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
    let rows = [(tables.segments, prefix), (tables.placements, prefix)]
    for (table, prefix) in rows + TableKey.lanesOfZone(zone).map({ (tables.replicas, $0) }) {
      let bytes = prefix.span.bytes
      var cursor = try storage.transaction.openCursor(table)
      while !budget.isSpent, try cursor.seek(atOrAfter: prefix.span),
        cursor.withEntry({ key, _ in key.hasPrefix(bytes) })
      {
        try cursor.deleteCurrent()
        budget.rows -= 1
      }
    }
    guard !budget.isSpent else { return }
    budget.rows -= try storage.assets.removeAll(of: zone, rowsMax: budget.rows)
    guard !budget.isSpent else { return }
    try storage.zones.removeCut(of: zone)
    try storage.removeZoneRow(zone)
    budget.rows -= 1
    report.zones += 1
  }

  /// Takes some of a zone's entries out of the log, and their sequences.
  ///
  /// - Returns: how many.
  private func reclaimLog(_ zone: ZoneNumber, _ budget: inout Budget) throws -> UInt64 {
    let tables = storage.tables
    var positions: [Position] = []
    do {
      let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
      let bytes = prefix.span.bytes
      var cursor = try storage.transaction.openCursor(tables.sequences)
      while !budget.isSpent, try cursor.seek(atOrAfter: prefix.span) {
        let position = try cursor.withCheckedEntry { key, row in
          guard key.hasPrefix(bytes) else { return Position?.none }
          var reader = ByteReader(row)
          return Position(rawValue: try reader.readVarint("position"))
        }
        guard let position else { break }
        let key = TableKey.log(position)
        budget.bytes -= try storage.transaction.withValue(of: key.span, in: tables.log) { $0.byteCount } ?? 0
        budget.rows -= 1
        positions.append(position)
        try cursor.deleteCurrent()
      }
    }
    positions.sort()
    var index = 0
    while index < positions.count {
      let first = positions[index]
      var last = first
      index += 1
      while index < positions.count, positions[index] == last.next {
        last = positions[index]
        index += 1
      }
      try storage.log.remove(first...last)
    }
    return UInt64(positions.count)
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
