import LMDB
import OperationFormat

extension LogTable where Source == TableStorage {
  /// Appends an entry to the log, and its position to `sequences`.
  func append(_ header: LogEntryHeader, body: RawSpan) throws -> Position {
    let position = try source.lastPosition().next
    if try !shareLastRow(header, body, at: position) { try appendRow(header, body, at: position) }
    try nameAppended(header, position)
    source.noteAppended(header, at: position)
    return position
  }

  private func appendRow(_ header: LogEntryHeader, _ body: RawSpan, at position: Position) throws {
    try source.withWriter { writer in
      LogEntryCodec.append(header, body: body, at: position, to: &writer)
      let key = TableKey.log(position)
      try transaction.put(writer.span, for: key.span, in: tables.log, .append)
    }
    let mayBeShared = LogRun.takes(header, body: body)
    source.lastRow = LastLogRow(first: position, entry: mayBeShared ? header : nil)
  }

  // MARK: Rows of several entries

  /// Appends an entry to the last row of the log, if it may share one, and is the next one there.
  private func shareLastRow(
    _ header: LogEntryHeader, _ body: RawSpan, at position: Position
  ) throws -> Bool {
    guard LogRun.takes(header, body: body) else { return false }
    if source.lastRow == nil { source.lastRow = try readLastRow(for: header) }
    guard source.lastRow?.accepts(header, at: position) ?? false, let first = source.lastRow?.first
    else { return false }
    do {
      if source.lastRow?.entry != nil { source.lastRow = LastLogRow(first: first, run: try readRun(first)) }
      source.lastRow?.run?.append(header, body: body)
      try source.withWriter { writer in
        source.lastRow?.run?.write(at: first, to: &writer)
        let key = TableKey.log(first)
        try transaction.put(writer.span, for: key.span, in: tables.log)
      }
      return true
    } catch {
      source.forgetRows()
      throw error
    }
  }

  /// Reads the last row, if an entry may be the next one there.
  private func readLastRow(for header: LogEntryHeader) throws -> LastLogRow {
    var cursor = try transaction.openCursor(tables.log)
    guard try cursor.last() else { return LastLogRow(first: .start) }
    let (position, bytes) = try cursor.withEntry { key, row in
      (Position(rawValue: try key.bigEndian64(at: 0)), row.bytes)
    }
    let row = bytes.span.bytes
    var last = LastLogRow(first: position)
    do throws(FormatError) {
      switch try LogRow(row, at: position).kind {
      case .removed: break
      case .entry:
        let (entry, body) = try LogEntryCodec.read(row, at: position)
        if LogRun.takes(entry, body: row.extracting(body)) { last.entry = entry }
      case .run:
        if try LogRun.accepts(header, in: row, at: position) { last.run = try LogRun(row, at: position) }
      }
    } catch {
      // A damaged row gets no other entry.
    }
    return last
  }

  /// Reads a row with one entry, as one of several.
  private func readRun(_ position: Position) throws -> LogRun {
    let (header, body) = try withEntry(at: position) { ($0, $1.bytes) }
    var run = LogRun(startingWith: header)
    run.append(header, body: body.span.bytes)
    return run
  }

  // MARK: Removal

  /// Replaces entries, in any order, by rows that stand for removed ones.
  func remove(_ positions: [Position]) throws {
    for run in positions.runs { try remove(run) }
  }

  /// Replaces a run of entries, and the removed runs on both sides, by one row.
  func remove(_ entries: ClosedRange<Position>) throws {
    source.forgetRows()
    var (first, last) = (entries.lowerBound, entries.upperBound)
    try splitRow(before: first)
    if last.rawValue < .max { try splitRow(before: last.next) }
    try removeRows(entries)
    if first.rawValue > 1,
      let before = try removedRun(at: Position(rawValue: first.rawValue - 1))
    {
      first = before.lowerBound
    }
    if last.rawValue < .max, let after = try removedRun(at: last.next) {
      try removeRows(after.lowerBound...after.lowerBound)
      last = after.upperBound
    }
    try source.put(.log(first), in: tables.log) { LogEntryCodec.appendRemoved(first...last, to: &$0) }
  }

  /// Lets a row begin at a position, if it is in a row of several entries.
  private func splitRow(before position: Position) throws {
    var parts: (first: [UInt8], second: [UInt8])?
    var first = position
    do {
      var cursor = try transaction.openCursor(tables.log)
      guard try cursor.seek(before: TableKey.log(position).span) else { return }
      try cursor.withEntry { key, bytes in
        let row = try LogRow(bytes, under: key)
        guard row.kind == .run, row.positions.contains(position) else { return }
        first = row.positions.lowerBound
        do {
          parts = try LogRun.split(bytes, at: first, before: Int(position.rawValue - first.rawValue))
        } catch {
          throw StoreError.damagedEntry(at: first, error)
        }
      }
    }
    guard let parts else { return }
    try source.put(.log(first), in: tables.log) { $0.append(parts.first) }
    try source.put(.log(position), in: tables.log) { $0.append(parts.second) }
  }

  /// Removes the rows whose first positions are in a range.
  func removeRows(_ positions: ClosedRange<Position>) throws {
    let key = TableKey.log(positions.lowerBound)
    var cursor = try transaction.openCursor(tables.log)
    while try cursor.seek(atOrAfter: key.span),
      try cursor.withEntry({ key, _ in try key.bigEndian64(at: 0) }) <= positions.upperBound.rawValue
    {
      try cursor.deleteCurrent()
    }
  }
}

extension [Position] {
  /// The positions in order, in runs of consecutive ones.
  var runs: [ClosedRange<Position>] {
    var runs: [ClosedRange<Position>] = []
    for position in sorted() {
      if let last = runs.last, last.upperBound.rawValue < .max, last.upperBound.next == position {
        runs[runs.count - 1] = last.lowerBound...position
      } else {
        runs.append(position...position)
      }
    }
    return runs
  }
}
