import LMDB
import OperationFormat

/// The rows of the log, and the sequences that name them.
struct LogTable<Source: TableReading>: TableView {
  let source: Source

  /// What the log has at a position.
  enum Found<R> {
    case entry(R)
    /// A removed entry.
    case removed
    case nothing
  }

  /// The last position of the log, `.start` if it is empty.
  ///
  /// - Complexity: O(1); linear in `sequences` if the last row is damaged
  func lastPosition() throws -> Position {
    var cursor = try transaction.openCursor(tables.log)
    guard try cursor.last() else { return .start }
    do {
      return try cursor.withEntry { key, row in try LogRow(row, under: key).positions.upperBound }
    } catch let error as StoreError where error.code == .damaged {
      // What is appended comes after it, and a verification reports it.
      let first = try cursor.withEntry { key, _ in Position(rawValue: try key.bigEndian64(at: 0)) }
      return max(first, try lastNamedPosition())
    }
  }

  /// The last position that `sequences` names; `.start` if there is none.
  private func lastNamedPosition() throws -> Position {
    var last = Position.start
    try transaction.forEachEntry(in: tables.sequences, under: [], from: [0]) { key, row in
      last = max(
        last, try SequenceRun(CheckedRow.content(of: row, under: key), under: key).positions.upperBound)
      return true
    }
    return last
  }

  /// The run of removed entries that a position is in; nil if it is in none.
  func removedRun(at position: Position) throws -> ClosedRange<Position>? {
    var cursor = try transaction.openCursor(tables.log)
    guard try cursor.seek(atMost: TableKey.log(position).span) else { return nil }
    let run = try cursor.withEntry { key, row in
      try LogEntryCodec.removedRun(row, at: Position(rawValue: try key.bigEndian64(at: 0)))
    }
    guard let run, run.contains(position) else { return nil }
    return run
  }

  /// Lends an entry's header and body. Its zone may be gone. The body may be in the memory map: it is valid
  /// until the transaction's next write.
  ///
  /// - Complexity: the first of the entries that share a row decodes them all, for those that are read after
  ///   it.
  func withEntry<R>(at position: Position, _ body: (LogEntryHeader, RawSpan) throws -> R) throws -> R {
    if let result = try withEntryUnlessRemoved(at: position, body) { return result }
    throw StoreError.takenOut(position, isRetired: try source.zones.historyBegin() >= position)
  }

  /// The same; nil for an entry that was removed from the log.
  func withEntryUnlessRemoved<R>(
    at position: Position, _ body: (LogEntryHeader, RawSpan) throws -> R
  ) throws -> R? {
    switch try find(position, body) {
    case .entry(let result): return result
    case .removed: return nil
    case .nothing:
      let last = try lastPosition()
      if position.rawValue > 0, position <= last {
        throw StoreError(
          .damaged, "the log has nothing at position \(position), although its last is \(last)",
          hint: StoreError.damageHint)
      }
      throw StoreError(
        .positionUnknown, "the log has no position \(position)", hint: "the last is \(last)")
    }
  }

  /// Lends the entry at a position, if there is one: see ``withEntry(at:_:)``.
  func find<R>(_ position: Position, _ body: (LogEntryHeader, RawSpan) throws -> R) throws -> Found<R> {
    if let run = try cachedRun(at: position) { return .entry(try run.withEntry(at: position, body)) }
    let key = TableKey.log(position)
    let result = try transaction.withValue(of: key.span, in: tables.log) { row -> Found<R>? in
      if LogRun.isRun(row) { return nil }
      let header: LogEntryHeader
      let range: Range<Int>
      do {
        if try LogEntryCodec.removedRun(row, at: position) != nil { return .removed }
        (header, range) = try LogEntryCodec.read(row, at: position)
      } catch {
        throw StoreError.damagedEntry(at: position, error)
      }
      return .entry(try body(header, row.extracting(range)))
    }
    if let result = result.flatMap({ $0 }) { return result }
    guard let (row, run) = try sharedRow(at: position), row.positions.contains(position) else {
      return .nothing
    }
    guard let run else { return row.kind == .removed ? .removed : .nothing }
    return .entry(try run.withEntry(at: position, body))
  }

  /// The decoded row that has a position, if it is cached.
  private func cachedRun(at position: Position) throws -> DecodedRun? {
    guard let run = source.logCache.run(at: position) else { return nil }
    let key = TableKey.log(run.first)
    let isCurrent = try transaction.withValue(of: key.span, in: tables.log) { run.isMade(from: $0) }
    return isCurrent ?? false ? run : nil
  }

  /// Reads the last row whose first position is at most one, and decodes it if it has several entries and one
  /// at that position.
  private func sharedRow(at position: Position) throws -> (row: LogRow, run: DecodedRun?)? {
    var cursor = try transaction.openCursor(tables.log)
    guard try cursor.seek(atMost: TableKey.log(position).span) else { return nil }
    return try cursor.withEntry { key, bytes in
      do {
        let row = try LogRow(bytes, at: Position(rawValue: try key.bigEndian64(at: 0)))
        guard row.kind == .run, row.positions.contains(position) else { return (row, nil) }
        let run = try DecodedRun(bytes, at: row.positions.lowerBound)
        source.logCache.add(run)
        return (row, run)
      } catch {
        throw StoreError.damagedEntry(at: position, error)
      }
    }
  }

  /// A header with identities for numbers.
  func transactionHeader(of header: LogEntryHeader) throws -> TransactionHeader {
    var base: Base?
    if let found = header.base {
      base = Base(
        incarnation: try incarnations.identity(of: found.incarnation), offset: found.offset)
    }
    var parent: TransactionID?
    if let found = header.parent {
      parent = TransactionID(
        replica: try replicas.identity(of: found.replica),
        epoch: found.epoch, sequence: found.sequence)
    }
    return TransactionHeader(
      replica: try replicas.identity(of: header.replica),
      epoch: header.epoch, sequence: header.sequence,
      zone: try zoneNumbers.identity(of: header.zone), base: base,
      parent: parent)
  }

  /// What a transaction that the store has had seen, nil for nothing.
  func base(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> BaseNumbers? {
    guard let position = try position(of: replica, epoch, sequence, in: zone) else {
      let lane = Lane(zone: zone, replica: replica, epoch: epoch)
      if try lanes.retired(lane) >= sequence { return try lanes.retiredBase(of: lane, sequence) }
      throw StoreError(
        .damaged, "sequence \(sequence) of a lane of zone number \(zone.rawValue) is missing from the store",
        hint: StoreError.damageHint)
    }
    return try withEntry(at: position) { header, _ in try source.baseLimits.base(of: header) }
  }

  /// ``checkTail()`` reads at most so many entries.
  static var tailEntriesMax: Int { 64 }

  /// Compares the last entries of the log with `sequences`. An entry that no sequence names would never be
  /// sent.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads at most ``tailEntriesMax`` entries, and those that share rows with them.
  func checkTail() throws {
    var cursor = try transaction.openCursor(tables.log)
    var isThere = try cursor.last()
    var left = Self.tailEntriesMax
    while isThere, left > 0 {
      let row = try cursor.withEntry { key, row in try LogRow(row, under: key) }
      if row.kind != .removed {
        var position = row.positions.upperBound
        while left > 0 {
          try checkNamed(position)
          left -= 1
          guard position > row.positions.lowerBound else { break }
          position = Position(rawValue: position.rawValue - 1)
        }
      } else {
        left -= 1
      }
      isThere = try cursor.previous()
    }
  }

  private func checkNamed(_ position: Position) throws {
    let header = try withEntry(at: position) { header, _ in header }
    let named = try self.position(
      of: header.replica, header.epoch, header.sequence, in: header.zone)
    // Of a removed zone, the sequences go first, then the entries.
    if named == position { return }
    if try named == nil && source.zoneRowIfThere(header.zone)?.status.isGone ?? true { return }
    throw StoreError.unmatched("the log has sequence \(header.sequence) at position \(position), unnamed")
  }
}

extension StoreError {
  /// The error of an entry that cannot be decoded; any other error as it is.
  static func damagedEntry(at position: Position, _ error: any Error) -> any Error {
    guard let error = error as? FormatError else { return error }
    return StoreError(
      error.code == .newerFormat ? .newerFormat : .damaged,
      "the log entry at position \(position) cannot be read: \(error.text)",
      hint: StoreError.damageHint, underlying: error)
  }

  static func removed(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown, "the log's entry at position \(position) was removed with its zone",
      hint: "continue with the positions after it")
  }

  /// Of a removed entry, the log keeps only the position.
  ///
  /// - Parameter isRetired: whether the history of a zone was retired up to there, or further.
  fileprivate static func takenOut(_ position: Position, isRetired: Bool) -> StoreError {
    if isRetired {
      return StoreError(
        .retired,
        "the log's entry at position \(position) is not there any more: a snapshot stands for it",
        hint: "ask for a later position; `replay info` says where the history of each zone begins")
    }
    return StoreError(
      .positionUnknown,
      "the log's entry at position \(position) was removed: it was issued again under another epoch and "
        + "has a later position, or the remote's log does not have it any more, or its zone was removed",
      hint: "continue with the positions after it")
  }
}
