import LMDB
import OperationFormat

/// Rewrites the rows of a store of a former version, in steps: see ``LocalStore/upgrade(progress:)``.
struct StoreUpgrade {
  /// How many rows one commit, or one step of a count, reads.
  private static let rowsAtOnce = 4096

  // MARK: Counting

  /// Counts what there is to do, and changes nothing.
  static func count(
    _ core: StoreCore, _ progress: (UpgradeReport) throws -> Void
  ) throws -> UpgradeReport {
    try core.read { transaction in
      let view = transaction.readView
      var report = UpgradeReport(total: try total(view))
      var next: [UInt8]? = []
      while let start = next {
        next = try former(from: start, view, &report).next
        try progress(report)
      }
      next = []
      while let start = next {
        next = try singleAddends(from: start, view, &report).next
        try progress(report)
      }
      var position: Position? = .start
      while let start = position {
        position = try countSingleRows(from: start, view, &report)
        try progress(report)
      }
      return report
    }
  }

  /// Counts some of the log's rows that have one transaction and may be joined with the row before.
  ///
  /// - Returns: where the next step begins; nil at the end.
  private static func countSingleRows(
    from start: Position, _ view: ReadView, _ report: inout UpgradeReport
  ) throws -> Position? {
    var cursor = try view.transaction.openCursor(view.tables.log)
    var isThere = try cursor.seek(atOrAfter: TableKey.log(start).span)
    var left = rowsAtOnce
    // The lane, sequence and position that a row must begin with to be joined.
    var next: (lane: Lane, sequence: UInt64, position: Position)?
    while isThere, left > 0 {
      try cursor.withEntry { key, row in
        let position = Position(rawValue: try key.bigEndian64(at: 0))
        guard try LogRow(row, under: key).kind == .entry,
          let (header, body) = try? LogEntryCodec.read(row, at: position),
          LogRun.takes(header, body: row.extracting(body))
        else {
          next = nil
          return
        }
        if let next, next == (header.lane, header.sequence, position) { report.transactions += 1 }
        next = header.sequence < .max ? (header.lane, header.sequence + 1, position.next) : nil
      }
      left -= 1
      report.done += 1
      isThere = try cursor.next()
    }
    return isThere ? try cursor.withEntry { key, _ in Position(rawValue: try key.bigEndian64(at: 0)) } : nil
  }

  private static func total<Source: TableReading>(_ source: Source) throws -> UInt64 {
    try [source.tables.records, source.tables.elements, source.tables.log].reduce(0) {
      try $0 + UInt64(source.transaction.statistics(of: $1).entries)
    }
  }

  // MARK: Writing

  /// Rewrites all rows of former versions.
  static func run(
    _ core: StoreCore, _ progress: (UpgradeReport) throws -> Void
  ) async throws -> UpgradeReport {
    var report = UpgradeReport(total: try core.read { try total($0.readView) })
    for step in [writeRecords, joinAddends] {
      var next: [UInt8]? = []
      while let start = next {
        let before = report
        (report, next) = try await core.perform { store in
          // The fold may have one of the rows.
          try store.fold.flush()
          store.fold.reset()
          var report = before
          let next = try step(start, store.storage, &report)
          return (report, next)
        }
        try progress(report)
      }
    }
    let rows = try core.read { try rowsOfLog($0.readView) }
    var step = JoiningStep.start
    while step != .done {
      step = try await RowJoining.run(step, core)
      report.transactions = try core.read { rows - min(rows, try rowsOfLog($0.readView)) }
      try progress(report)
    }
    return report
  }

  private static func rowsOfLog(_ view: ReadView) throws -> UInt64 {
    UInt64(try view.transaction.statistics(of: view.tables.log).entries)
  }

  /// Rewrites rows of records, in the order of their keys.
  ///
  /// - Parameter start: the key to begin with.
  /// - Returns: where the next step begins; nil at the end.
  @Sendable
  private static func writeRecords(
    from start: [UInt8], _ storage: TableStorage, _ report: inout UpgradeReport
  ) throws -> [UInt8]? {
    let (found, next) = try former(from: start, storage, &report)
    for (key, row) in found {
      try storage.transaction.put(row.span.bytes, for: key.span.bytes, in: storage.tables.records)
    }
    return next
  }

  /// Some rows of records that can be written shorter.
  ///
  /// - Returns: their keys, how they are written now, and where the next step begins; nil at the end.
  private static func former<Source: TableReading>(
    from start: [UInt8], _ source: Source, _ report: inout UpgradeReport
  ) throws -> (found: [(key: [UInt8], row: [UInt8])], next: [UInt8]?) {
    var found: [(key: [UInt8], row: [UInt8])] = []
    var bytesSaved = 0
    let next = try walk(source.tables.records, from: start, source, &report) { key, row in
      guard let shorter = StoredRow(row).repacked() else { return }
      bytesSaved += row.byteCount - shorter.count
      found.append((key.bytes, shorter))
    }
    report.records += UInt64(found.count)
    report.bytesSaved += UInt64(bytesSaved)
    return (found, next)
  }

  /// Reads some rows of a table.
  ///
  /// - Returns: where the next step begins; nil at the end.
  private static func walk<Source: TableReading>(
    _ table: Table, from start: [UInt8], _ source: Source, _ report: inout UpgradeReport,
    _ body: (_ key: RawSpan, _ row: RawSpan) -> Void
  ) throws -> [UInt8]? {
    var cursor = try source.transaction.openCursor(table)
    var isThere = try cursor.seek(atOrAfter: start.span.bytes)
    var left = rowsAtOnce
    while isThere, left > 0 {
      cursor.withEntry(body)
      left -= 1
      report.done += 1
      isThere = try cursor.next()
    }
    return isThere ? cursor.withEntry { key, _ in key.bytes } : nil
  }

  /// Lets addends that have a row for themselves share rows, as new ones do.
  ///
  /// - Parameter start: the key of `elements` to begin with.
  /// - Returns: where the next step begins; nil at the end.
  @Sendable
  private static func joinAddends(
    from start: [UInt8], _ storage: TableStorage, _ report: inout UpgradeReport
  ) throws -> [UInt8]? {
    let (found, next) = try singleAddends(from: start, storage, &report)
    let bound = FoldBound()
    for key in found {
      guard let cell = try key.addends else { continue }
      try ApartHeads(of: cell, count: 1, storage, bound).join(key)
    }
    return next
  }

  /// Some rows of one addend that belongs into another row.
  ///
  /// - Returns: their keys, and where the next step begins; nil at the end.
  private static func singleAddends<Source: TableReading>(
    from start: [UInt8], _ source: Source, _ report: inout UpgradeReport
  ) throws -> (found: [ElementKey], next: [UInt8]?) {
    var found: [ElementKey] = []
    let next = try walk(source.tables.elements, from: start, source, &report) { bytes, row in
      let key = ElementKey(bytes: bytes.bytes)
      // What is damaged stays as it is.
      guard let cell = try? key.addends, let head = try? ApartRow(row).heads[0].head.id else { return }
      if cell.key(head) != key { found.append(key) }
    }
    report.addends += UInt64(found.count)
    return (found, next)
  }
}
