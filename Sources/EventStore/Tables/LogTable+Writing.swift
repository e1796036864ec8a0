import LMDB
import OperationFormat

extension LogTable where Source == TableStorage {
  /// Appends an entry to the log, and its position to `sequences`.
  func append(_ header: LogEntryHeader, body: RawSpan) throws -> Position {
    let position = try source.lastPosition().next
    if try !shareLastRow(header, body, at: position) { try appendRow(header, body, at: position) }
    try nameAppended(header, position)
    try source.noteAppended(header, at: position)
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
    if mayBeShared { noteLast(body) }
  }

  /// Keeps a copy of the last body.
  private func noteLast(_ body: RawSpan) {
    source.lastBody.removeAll()
    source.lastBody.append(body)
  }

  // MARK: Rows of several entries

  /// Appends an entry to the last row of the log, if it may share one, is the next one there, and like the one
  /// before it.
  private func shareLastRow(
    _ header: LogEntryHeader, _ body: RawSpan, at position: Position
  ) throws -> Bool {
    guard LogRun.takes(header, body: body) else { return false }
    if source.lastRow == nil { source.lastRow = try readLastRow(for: header) }
    guard source.lastRow?.accepts(header, at: position) ?? false, let first = source.lastRow?.first,
      LogRun.isAlike(body, source.lastBody.span)
    else { return false }
    do {
      if let entry = source.lastRow?.entry {
        source.lastRow = LastLogRow(first: first, run: LogRun(startingWith: entry))
        source.lastRow?.run?.append(entry, body: source.lastBody.span)
      }
      source.lastRow?.run?.append(header, body: body)
      try source.withWriter { writer in
        source.lastRow?.run?.write(at: first, to: &writer)
        let key = TableKey.log(first)
        try transaction.put(writer.span, for: key.span, in: tables.log)
      }
      noteLast(body)
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
      (Position(rawValue: try key.bigEndian64(at: 0)), row.byteCount > LogRun.rowBytesMax ? nil : row.bytes)
    }
    var last = LastLogRow(first: position)
    guard let bytes else { return last }
    let row = bytes.span.bytes
    do throws(FormatError) {
      switch try LogRow(row, at: position).kind {
      case .removed: break
      case .entry:
        let (entry, body) = try LogEntryCodec.read(row, at: position)
        if LogRun.takes(entry, body: row.extracting(body)) {
          last.entry = entry
          noteLast(row.extracting(body))
        }
      case .run:
        guard try LogRun.accepts(header, in: row, at: position) else { break }
        last.run = try LogRun(row, at: position)
        let decoded = try DecodedRun(row, at: position)
        noteLast(decoded.lastBody.span.bytes)
      }
    } catch {
      // A damaged row gets no other entry.
    }
    return last
  }

  // MARK: Removal

  /// Replaces entries, in any order, by rows that stand for removed ones.
  func remove(_ positions: [Position]) throws { try remove(positions.map { $0...$0 }) }

  /// The same of entries in runs.
  ///
  /// - Parameter isRewrite: whether what was folded of the log is another by that: not if their zone is gone.
  func remove(_ runs: [ClosedRange<Position>], isRewrite: Bool = true) throws {
    if runs.isEmpty { return }
    if isRewrite { try meta.countRewrite() }
    for run in runs.joined { try remove(run) }
  }

  /// Replaces a run of entries, and the removed runs on both sides, by one row.
  private func remove(_ entries: ClosedRange<Position>) throws {
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
        // One that is damaged cannot be split. A verification reports it.
        guard let row = try? LogRow(bytes, under: key), row.kind == .run, row.positions.contains(position)
        else { return }
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

extension [ClosedRange<Position>] {
  /// The same positions in order, in as few runs as there can be.
  var joined: [ClosedRange<Position>] {
    var joined: [ClosedRange<Position>] = []
    for run in sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, last.upperBound.rawValue < .max, last.upperBound.next == run.lowerBound {
        joined[joined.count - 1] = last.lowerBound...run.upperBound
      } else {
        joined.append(run)
      }
    }
    return joined
  }
}
