import LMDB
import OperationFormat

/// The rows of the log, and the sequences that name them.
struct LogTable<Source: TableReading>: TableView {
  let source: Source

  /// The last position of the log, `.start` if it is empty.
  func lastPosition() throws -> Position {
    var cursor = try transaction.openCursor(tables.log)
    guard try cursor.last() else { return .start }
    return try cursor.withEntry { key, row in
      let position = Position(rawValue: try key.bigEndian64(at: 0))
      return try LogEntryCodec.removedRun(row, at: position)?.upperBound ?? position
    }
  }

  func position(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> Position? {
    let key = TableKey.sequence(zone, replica, epoch, sequence)
    return try transaction.withCheckedValue(of: key, in: tables.sequences) { row in
      var reader = ByteReader(row)
      return Position(rawValue: try reader.readVarint("row"))
    }
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

  /// Lends an entry's header and body, where they are in the memory map. Its zone may be gone.
  func withEntry<R>(at position: Position, _ body: (LogEntryHeader, RawSpan) throws -> R) throws -> R {
    if let result = try withEntryUnlessRemoved(at: position, body) { return result }
    throw StoreError.takenOut(position)
  }

  /// The same; nil for an entry that was removed from the log.
  func withEntryUnlessRemoved<R>(
    at position: Position,
    _ body: (LogEntryHeader, RawSpan) throws -> R
  ) throws -> R? {
    let result = try transaction.withValue(of: TableKey.log(position).span, in: tables.log) { entry -> R? in
      let header: LogEntryHeader
      let range: Range<Int>
      do {
        if try LogEntryCodec.removedRun(entry, at: position) != nil { return nil }
        (header, range) = try LogEntryCodec.read(entry, at: position)
      } catch {
        throw StoreError.damagedEntry(at: position, error)
      }
      return try body(header, entry.extracting(range))
    }
    guard let result else {
      if try removedRun(at: position) != nil { return nil }
      throw StoreError(
        .positionUnknown, "the log has no position \(position)",
        hint: "the last is \(try lastPosition())")
    }
    return result
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

  /// The base of a transaction that the store has, nil if it has none.
  func base(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> BaseNumbers? {
    guard let position = try position(of: replica, epoch, sequence, in: zone) else {
      throw StoreError(
        .damaged, "sequence \(sequence) of a lane of zone number \(zone.rawValue) is missing from the store",
        hint: StoreError.damageHint)
    }
    return try withEntry(at: position) { header, _ in header.base }
  }

  /// ``checkTail()`` reads at most so many entries.
  static var tailEntriesMax: Int { 64 }

  /// Compares the last entries of the log with `sequences`. An entry that no sequence names would never be
  /// sent.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads at most ``tailEntriesMax`` entries.
  func checkTail() throws {
    var cursor = try transaction.openCursor(tables.log)
    var isThere = try cursor.last()
    var left = Self.tailEntriesMax
    while isThere, left > 0 {
      try cursor.withEntry { key, row in
        let position = Position(rawValue: try key.bigEndian64(at: 0))
        if try LogEntryCodec.removedRun(row, at: position) != nil { return }
        let header = try LogEntryCodec.read(row, at: position).header
        let named = try self.position(
          of: header.replica, header.epoch, header.sequence, in: header.zone)
        // Of a removed zone, the sequences go first, then the entries.
        if named == position { return }
        if try named == nil && source.zoneRowIfThere(header.zone)?.status.isGone ?? true { return }
        throw StoreError.unmatched("the log has sequence \(header.sequence) at position \(position), unnamed")
      }
      isThere = try cursor.previous()
      left -= 1
    }
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
  fileprivate static func takenOut(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown,
      "the log's entry at position \(position) was removed: it was issued again under another epoch and "
        + "has a later position, or the remote's log does not have it any more, or its zone was removed",
      hint: "continue with the positions after it")
  }
}
