import LMDB
import OperationFormat

/// Verifies the log: its positions, its entries, their sequences, and what each had seen.
struct LogVerification {
  private(set) var report: VerificationReport
  /// How many transactions of the log name each asset, by zone.
  private(set) var assetNames: [AssetName: UInt64] = [:]

  init(_ report: VerificationReport) { self.report = report }

  /// Every position is there, every entry can be read, and every sequence follows the one before and is
  /// named.
  mutating func check(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    let last = try Self.lastKey(source)
    var knownZones: Set<ZoneNumber> = []
    var lastSequences: [Lane: UInt64] = [:]
    var seen = SeenOffsets()
    var decoder = BodyDecoder()
    var expected: Position?
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere = try cursor.first()
    while isThere {
      let position = try cursor.withEntry { key, _ in
        key.byteCount == 8 ? Position(rawValue: try key.bigEndian64(at: 0)) : nil
      }
      guard let position else {
        report.add(.log, "key", "a key of the log is not a position")
        isThere = try cursor.next()
        continue
      }
      if let expected, position != expected {
        report.add(.log, "\(expected)", "the log continues at \(position)")
      }
      expected = position.next
      do {
        let run = try cursor.withEntry { try LogEntryCodec.removedRun($1, at: position) }
        if let run {
          expected = run.upperBound.next
          isThere = try cursor.next()
          continue
        }
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
          let lane = Lane(zone: header.zone, replica: header.replica, epoch: header.epoch)
          if let before = lastSequences[lane], header.sequence != before + 1 {
            report.add(.sequence, "\(position)", "sequence \(header.sequence) follows \(before)")
          }
          lastSequences[lane] = header.sequence
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
      report.transactions += 1
      if report.transactions % 4096 == 0 {
        try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
      }
      isThere = try cursor.next()
    }
    let named = try source.transaction.statistics(of: source.tables.sequences).entries
    if named != report.transactions {
      report.add(.sequence, "count", "\(named) sequences name \(report.transactions) transactions")
    }
    try progress(VerificationProgress(step: .log, done: report.transactions, total: last.rawValue))
  }

  /// The greatest position that a row of the log has.
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
