import LMDB
import OperationFormat

/// Where the joining of rows continues: first in the log, then in `sequences`.
enum JoiningStep: Hashable, Sendable {
  /// With the log's row at a position, or the first one after it.
  case log(Position)
  /// With the row of `sequences` under a key, or the first one after it.
  case sequences([UInt8])
  case done

  /// At the start of the log.
  static let start = JoiningStep.log(.start)
}

/// Joins rows of the log, or of `sequences`, in steps.
struct RowJoining {
  let storage: TableStorage

  init(_ storage: TableStorage) { self.storage = storage }

  /// Lets transactions that have rows of their own share rows, as new ones do: earlier programs wrote one row
  /// for each. It does one step, in a commit.
  ///
  /// Repeat it with what it returns until that is ``JoiningStep/done``. Rows that are joined already stay as
  /// they are, so it may begin again at any time. Damaged rows stay as they are too.
  ///
  /// - Parameters:
  ///   - step: where to begin.
  ///   - rowsMax: how many rows one commit reads at most, from 2.
  /// - Returns: where the next step begins.
  /// - Throws: ``StoreError`` `closed`, `readOnly`, `full`, `system`.
  static func run(
    _ step: JoiningStep, _ core: StoreCore, rowsMax: Int = 8192
  ) async throws -> JoiningStep {
    precondition(rowsMax > 1, "a row joins another one")
    return try await core.perform { try RowJoining($0.storage).run(step, rowsMax) }
  }

  private func run(_ step: JoiningStep, _ rowsMax: Int) throws -> JoiningStep {
    storage.forgetSequences()
    switch step {
    case .log(let position):
      return try joinLog(from: position, rowsMax).map { .log($0) } ?? .sequences([])
    case .sequences(let key):
      return try joinSequences(from: key, rowsMax).map { .sequences($0) } ?? .done
    case .done: return .done
    }
  }

  // MARK: The log

  /// Rows of the log that become one.
  private struct Group: ~Copyable {
    /// The position of the first entry.
    var first: Position
    /// The position after the last entry.
    var next: Position
    var run: LogRun
    var rows = 1
  }

  /// An entry with the body, which may share a row.
  private typealias Entry = (header: LogEntryHeader, body: [UInt8])

  /// - Returns: where the next step begins; nil at the end of the log.
  private func joinLog(from start: Position, _ rowsMax: Int) throws -> Position? {
    var group: Group?
    var position = start
    for _ in 0..<rowsMax {
      // No position is the greatest number: a row there is damaged, and the last.
      guard let (row, entries) = try row(atOrAfter: position), row.upperBound.rawValue < .max else {
        if let group = group.take() { try write(group) }
        return nil
      }
      let isJoined = try join(entries, at: row.lowerBound, to: &group)
      if !isJoined {
        if let group = group.take() { try write(group) }
        if let first = entries.first {
          var run = LogRun(startingWith: first.header)
          for entry in entries { run.append(entry.header, body: entry.body.span.bytes) }
          group = Group(first: row.lowerBound, next: row.upperBound.next, run: run)
        }
      }
      position = row.upperBound.next
    }
    guard let last = group.take() else { return position }
    // The next step continues the group.
    let first = last.first
    try write(last)
    return first
  }

  /// Adds the entries of a row to a group, if they follow it and all have space there.
  private func join(_ entries: [Entry], at position: Position, to group: inout Group?) throws -> Bool {
    guard let first = entries.first, group?.next == position, group?.run.accepts(first.header) ?? false else {
      return false
    }
    let bodyBytes = entries.reduce(0) { $0 + $1.body.count }
    // A row is joined whole or not at all, so that the next pass finds the same rows.
    guard entries.count == 1 || group?.run.hasSpace(for: bodyBytes) ?? false else { return false }
    for entry in entries { group?.run.append(entry.header, body: entry.body.span.bytes) }
    group?.next = Position(rawValue: position.rawValue + UInt64(entries.count))
    group?.rows += 1
    return true
  }

  private func write(_ group: consuming Group) throws {
    guard group.rows > 1 else { return }
    let first = group.first
    try storage.log.removeRows(first.next...Position(rawValue: group.next.rawValue - 1))
    let run = group.run
    try storage.withWriter { writer in
      run.write(at: first, to: &writer)
      let key = TableKey.log(first)
      try storage.transaction.put(writer.span, for: key.span, in: storage.tables.log)
    }
  }

  /// The positions of a row of the log, and its entries if they may share a row; nil at the end.
  private func row(
    atOrAfter position: Position
  ) throws -> (positions: ClosedRange<Position>, entries: [Entry])? {
    var cursor = try storage.transaction.openCursor(storage.tables.log)
    guard try cursor.seek(atOrAfter: TableKey.log(position).span) else { return nil }
    return try cursor.withEntry { key, row in
      let position = Position(rawValue: try key.bigEndian64(at: 0))
      do {
        let found = try LogRow(row, at: position)
        var entries: [Entry] = []
        switch found.kind {
        case .removed: break
        case .entry where row.byteCount > LogRun.rowBytesMax: break
        case .entry:
          let (header, body) = try LogEntryCodec.read(row, at: position)
          if LogRun.takes(header, body: row.extracting(body)) {
            entries.append((header, row.extracting(body).bytes))
          }
        case .run:
          var reader = try LogRunReader(row, at: position)
          try reader.readAll { (header, body) throws(FormatError) in entries.append((header, body.bytes)) }
        }
        return (found.positions, entries)
      } catch is FormatError {
        return (position...position, [])
      }
    }
  }

  // MARK: Sequences

  /// - Returns: where the next step begins; nil at the end of the table.
  private func joinSequences(from start: [UInt8], _ rowsMax: Int) throws -> [UInt8]? {
    var joined: (lane: Lane, run: SequenceRun)?
    var key = start
    for _ in 0..<rowsMax {
      guard let (found, lane, run) = try sequences(atOrAfter: key) else { return nil }
      if let run, let last = joined, last.lane == lane,
        let both = last.run.joined(with: run)
      {
        _ = try storage.transaction.delete(found.span.bytes, in: storage.tables.sequences)
        try storage.log.put(both, of: lane)
        joined?.run = both
      } else {
        joined = run.map { (lane, $0) }
      }
      key = found + [0]
    }
    // The next step continues the run.
    return joined.map { TableKey.sequence($0.lane, $0.run.first).span.bytes } ?? key
  }

  /// A row of `sequences`: its key, its lane, and what it says unless it is damaged.
  private func sequences(atOrAfter key: [UInt8]) throws -> (key: [UInt8], lane: Lane, run: SequenceRun?)? {
    var cursor = try storage.transaction.openCursor(storage.tables.sequences)
    guard try cursor.seek(atOrAfter: key.span.bytes) else { return nil }
    return try cursor.withEntry { key, row in
      let lane = Lane(
        zone: ZoneNumber(rawValue: try key.bigEndian32(at: 0)),
        replica: ReplicaNumber(rawValue: try key.bigEndian32(at: 4)), epoch: try key.bigEndian32(at: 8))
      let run: SequenceRun?
      do throws(FormatError) {
        run = try SequenceRun(CheckedRow.content(of: row, under: key), under: key)
      } catch {
        run = nil
      }
      return (key.bytes, lane, run)
    }
  }
}
