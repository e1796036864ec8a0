import LMDB
import OperationFormat

/// What taking away the rows of deleted zones has done so far.
public struct ReclaimReport: Hashable, Sendable {
  /// Zones of which nothing is left.
  public internal(set) var zones = 0
  /// Transactions that were taken out of the log.
  public internal(set) var transactions: UInt64 = 0
}

extension LocalStore {
  /// Takes away what deleted zones have left: records, transactions, places. The file does not get smaller; its pages
  /// are used again.
  ///
  /// It works in steps, and reads and writes go on meanwhile. If it is cut short, by a crash or a thrown error, the
  /// next call goes on where it ended. Positions of transactions that are gone are not given out again. A zone
  /// whose remote is still to be told of its deletion is left as it is.
  ///
  /// - Parameter progress: called after each step with what was done so far; what it throws ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in what is taken away.
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
    return report
  }
}

extension WriteBatch {
  /// Rows that one step takes away, and bytes of log: so that a step's transaction stays small.
  private static let reclaimedRowsMax = 10_000
  private static let reclaimedBytesMax = 32 << 20

  /// Takes away some rows of a zone that was removed, the zone's own row last.
  ///
  /// - Returns: nil if there is no such zone.
  func reclaimStep() throws -> ReclaimReport? {
    guard let zone = try storage.removedZone() else { return nil }
    var report = ReclaimReport()
    report.transactions = try reclaimLog(zone)
    // The sequences tell where its entries are: while there are any, nothing else goes.
    guard report.transactions == 0 else { return report }
    var left = Self.reclaimedRowsMax
    let tables = storage.tables
    let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
    for (table, prefix) in [
      (tables.segments, prefix), (tables.placements, prefix), (tables.replicas, TableKey.zoneRow(zone)),
    ] {
      let bytes = prefix.span.bytes
      var cursor = try storage.transaction.openCursor(table)
      while left > 0, try cursor.seek(atOrAfter: prefix.span),
        cursor.withEntry({ key, _ in key.hasPrefix(bytes) })
      {
        try cursor.deleteCurrent()
        left -= 1
      }
    }
    guard left > 0 else { return report }
    try storage.removeCut(of: zone)
    try storage.removeZoneRow(zone)
    report.zones = 1
    return report
  }

  /// Takes some of a zone's entries out of the log, and their sequences.
  ///
  /// - Returns: how many; 0 if there are none left.
  private func reclaimLog(_ zone: ZoneNumber) throws -> UInt64 {
    let tables = storage.tables
    var positions: [Position] = []
    var byteCount = 0
    do {
      let prefix = TableKey.state(StateNumber(rawValue: zone.rawValue))
      let bytes = prefix.span.bytes
      var cursor = try storage.transaction.openCursor(tables.sequences)
      while positions.count < Self.reclaimedRowsMax, byteCount < Self.reclaimedBytesMax,
        try cursor.seek(atOrAfter: prefix.span)
      {
        let position = try cursor.withEntry { key, row in
          guard key.hasPrefix(bytes) else { return Position?.none }
          var reader = ByteReader(row)
          return Position(rawValue: try reader.readVarint("position"))
        }
        guard let position else { break }
        let key = TableKey.log(position)
        byteCount += try storage.transaction.withValue(of: key.span, in: tables.log) { $0.byteCount } ?? 0
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
  /// A zone whose rows are to be taken away, nil if there is none.
  fileprivate func removedZone() throws -> ZoneNumber? {
    try flush()
    var cursor = try transaction.openCursor(tables.zones)
    var isThere = try cursor.seek(atOrAfter: TableKey.zoneRow(.none).span)
    while isThere {
      let (number, isRemoved) = try cursor.withEntry { key, row in
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
