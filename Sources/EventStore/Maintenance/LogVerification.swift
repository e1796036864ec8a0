import LMDB
import OperationFormat

/// Verifies the log: its positions, its entries, their sequences, and what each had seen.
struct LogVerification {
  private(set) var report: VerificationReport
  /// How many transactions of the log name each asset, by zone.
  private(set) var assetNames: [AssetName: UInt64] = [:]
  private var knownZones: Set<ZoneNumber> = []
  private var lastSequences: [Lane: UInt64] = [:]
  private var seen = SeenOffsets()
  private var decoder = BodyDecoder()

  init(_ report: VerificationReport) { self.report = report }

  /// Counts the assets that the snapshots name which zones begin with, as those of a transaction each.
  mutating func countOriginAssets(_ source: borrowing ReadTransaction) throws {
    try source.readView.assets.countOriginAssets(in: &assetNames)
  }

  /// Every position is there, every entry can be read, and every sequence follows the one before and is
  /// named.
  mutating func check(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    let last = try Self.lastKey(source)
    var expected: Position?
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere = try cursor.first()
    while isThere {
      let position = try cursor.withEntry { key, _ in
        key.byteCount == 8 ? Position(rawValue: try key.bigEndian64(at: 0)) : nil
      }
      guard let position, position.rawValue < .max else {
        report.add(.log, "key", "a key of the log is not a position")
        isThere = try cursor.next()
        continue
      }
      if let expected, position != expected {
        report.add(.log, "\(expected)", "the log continues at \(position)")
      }
      let row = row(cursor, at: position)
      // How many entries a damaged row had, it does not say.
      expected = row?.positions.upperBound.next
      isThere = try cursor.next()
      if row?.kind == .removed { continue }
      var next = position
      let upper = row?.positions.upperBound ?? position
      while next <= upper {
        if row != nil { checkEntry(at: next, source) }
        report.transactions += 1
        if report.transactions % 4096 == 0 {
          try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
        }
        next = next.next
      }
    }
    try checkNames(source)
    try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
  }

  /// The positions of the row that a cursor is on; nil if it cannot be read, which is reported.
  private mutating func row(_ cursor: borrowing Cursor, at position: Position) -> LogRow? {
    do {
      return try cursor.withEntry { _, row in try LogRow(row, at: position) }
    } catch {
      report.add(.log, "\(position)", Verification.text(StoreError.damagedEntry(at: position, error)))
      return nil
    }
  }

  private mutating func checkEntry(at position: Position, _ source: borrowing ReadTransaction) {
    do {
      try source.readView.log.withEntry(at: position) { header, body in
        try decoder.parse(body)
        try countAssets(of: decoder.operations, body, header.zone)
        if !knownZones.contains(header.zone) {
          knownZones.insert(header.zone)
          let key = TableKey.zoneRow(header.zone)
          if try !source.transaction.contains(key.span, in: source.tables.zones) {
            report.add(.log, "\(position)", "its zone, number \(header.zone.rawValue), has no row")
          }
        }
        _ = try source.readView.log.transactionHeader(of: header)
        if let before = lastSequences[header.lane], header.sequence != before &+ 1 {
          report.add(.sequence, "\(position)", "sequence \(header.sequence) follows \(before)")
        }
        lastSequences[header.lane] = header.sequence
        if let problem = try seen.problem(of: header, source) {
          report.add(.sequence, "\(position)", problem)
        }
        let named = try source.readView.log.position(
          of: header.replica, header.epoch, header.sequence, in: header.zone)
        if named != position {
          report.add(
            .sequence, "\(position)",
            "sequence \(header.sequence) is named at \(named.map { "\($0)" } ?? "no position")")
        }
      }
    } catch {
      report.add(.log, "\(position)", Verification.text(error))
    }
  }

  /// `sequences` names no more than the transactions of the log.
  private mutating func checkNames(_ source: borrowing ReadTransaction) throws {
    var named: UInt64 = 0
    var cursor = try source.transaction.openCursor(source.tables.sequences)
    while try cursor.next() {
      do {
        let count = try cursor.withCheckedEntry { key, row in try SequenceRun(row, under: key).count }
        let (sum, overflows) = named.addingReportingOverflow(count)
        named = overflows ? .max : sum
      } catch {
        report.add(.sequence, "row", Verification.text(error))
      }
    }
    if named != report.transactions {
      report.add(.sequence, "count", "\(named) sequences name \(report.transactions) transactions")
    }
  }

  /// The greatest position that a row of the log begins at.
  private static func lastKey(_ source: borrowing ReadTransaction) throws -> Position {
    var cursor = try source.transaction.openCursor(source.tables.log)
    guard try cursor.last() else { return .start }
    return cursor.withEntry { key, _ in
      key.byteCount == 8
        ? Position(rawValue: UInt64(bigEndian: key.unsafeLoadUnaligned(as: UInt64.self))) : .start
    }
  }

  /// Counts the assets that a transaction of the log names, each once.
  private mutating func countAssets(
    of operations: [OperationLayout], _ body: RawSpan, _ zone: ZoneNumber
  ) throws {
    var found: [AssetReference] = []
    try operations.appendAssets(in: body, to: &found)
    if found.isEmpty { return }
    for asset in Set(found) { assetNames[AssetName(asset: asset, zone: zone), default: 0] += 1 }
  }
}
