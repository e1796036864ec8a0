import LMDB
import OperationFormat

/// What taking away the rows of deleted zones has done so far.
public struct ReclaimReport: Hashable, Sendable {
  /// Zones of which nothing is left.
  public internal(set) var zones = 0
  /// Transactions that were taken out of the log.
  public internal(set) var transactions: UInt64 = 0
  /// Files of assets that nothing named any more.
  public internal(set) var assets = 0
  /// Their bytes.
  public internal(set) var assetBytes: UInt64 = 0
}

extension LocalStore {
  /// Takes away what deleted zones have left: records, transactions, places; and the files of assets that nothing names.
  /// The data file does not get smaller; its pages are used again.
  ///
  /// It works in steps, and reads and writes go on meanwhile. If it is cut short, by a crash or a thrown error, the
  /// next call goes on where it ended. Positions of transactions that are gone are not given out again. A zone
  /// whose remote is still to be told of its deletion is left as it is.
  ///
  /// - Parameter progress: called after each step with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in what is taken away and in the files of assets.
  public func reclaim(
    progress: (ReclaimReport) throws -> Void = { _ in }
  ) async throws -> ReclaimReport {
    var report = ReclaimReport()
    while try await perform(isRepeatable: true, { try $0.discardStep() }) { try progress(report) }
    while let step = try await perform(isRepeatable: true, { try $0.reclaimStep() }) {
      report.zones += step.zones
      report.transactions += step.transactions
      try progress(report)
    }
    (report.assets, report.assetBytes) = try await collectAssets()
    return report
  }
}

extension WriteBatch {
  /// What one step may still take away: so that its transaction stays small.
  private struct Budget {
    var rows = 10_000
    /// Of the log.
    var bytes = LogReplay.stepBytesMax

    var isSpent: Bool { rows <= 0 || bytes <= 0 }
  }

  /// Takes away some rows of zones that were removed.
  ///
  /// - Returns: nil if there are no such zones.
  func reclaimStep() throws -> ReclaimReport? {
    var report = ReclaimReport()
    var budget = Budget()
    var last = ZoneNumber.none
    while !budget.isSpent, let zone = try storage.removedZone(after: last) {
      try reclaim(zone, &budget, &report)
      last = zone
    }
    return last == .none ? nil : report
  }

  /// Takes away some rows of one zone, its own row last.
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
    budget.rows -= try storage.removeAssets(of: zone, rowsMax: budget.rows)
    guard !budget.isSpent else { return }
    try storage.removeCut(of: zone)
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
      try storage.removeEntries(first...last)
    }
    return UInt64(positions.count)
  }
}

extension TableStorage {
  /// The next zone whose rows are to be taken away, nil if there is none.
  fileprivate func removedZone(after last: ZoneNumber) throws -> ZoneNumber? {
    try flush()
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
