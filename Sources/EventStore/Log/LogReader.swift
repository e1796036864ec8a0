import LMDB
import OperationFormat

/// Reads entries of the log back into transactions.
struct LogReader {
  let tables: Tables
  let interned: Interned

  init(_ tables: Tables, _ interned: Interned) {
    self.tables = tables
    self.interned = interned
  }

  func entry(at position: Position, _ transaction: borrowing LMDBTransaction) throws -> LogEntry {
    let (header, bytes) = try canonical(at: position, transaction)
    do {
      let decoded = try LogTransaction(decoding: bytes.span.bytes)
      let arrived = Int64(decoded.timestamp.milliseconds).addingReportingOverflow(header.arrivalDelay)
      return LogEntry(
        position: position, arrivedMilliseconds: arrived.overflow ? 0 : arrived.partialValue,
        transaction: decoded)
    } catch {
      throw Self.damaged(position, error)
    }
  }

  func bytes(at position: Position, _ transaction: borrowing LMDBTransaction) throws -> [UInt8] {
    try canonical(at: position, transaction).bytes
  }

  /// An entry's header, and the canonical bytes of its transaction.
  private func canonical(
    at position: Position, _ transaction: borrowing LMDBTransaction
  ) throws -> (header: LogEntryHeader, bytes: [UInt8]) {
    var writer = ByteWriter()
    let found = try withEntry(at: position, transaction) { header, body in
      if try tables.zoneRow(header.zone, transaction)?.status.isGone ?? false {
        throw StoreError.removed(position)
      }
      try self.header(header, transaction).encode(into: &writer)
      writer.append(body)
      return header
    }
    return (found, writer.bytes)
  }

  /// Runs a closure on an entry's header and body, in the memory map. Its zone may be gone.
  func withEntry<R>(
    at position: Position, _ transaction: borrowing LMDBTransaction,
    _ body: (LogEntryHeader, RawSpan) throws -> R
  ) throws -> R {
    if let result = try withEntryUnlessRemoved(at: position, transaction, body) { return result }
    throw StoreError.removedEntry(position)
  }

  /// As ``withEntry(at:_:_:)``; nil for an entry that was removed from the log.
  func withEntryUnlessRemoved<R>(
    at position: Position, _ transaction: borrowing LMDBTransaction,
    _ body: (LogEntryHeader, RawSpan) throws -> R
  ) throws -> R? {
    let result = try transaction.withValue(of: TableKey.log(position).span, in: tables.log) { entry -> R? in
      let header: LogEntryHeader
      let range: Range<Int>
      do {
        if try LogEntryCodec.removedRun(entry, at: position) != nil { return nil }
        (header, range) = try LogEntryCodec.read(entry, at: position)
      } catch {
        throw Self.damaged(position, error)
      }
      return try body(header, entry.extracting(range))
    }
    guard let result else {
      if try tables.removedRun(at: position, transaction) != nil { return nil }
      throw StoreError(
        .positionUnknown, "the log has no position \(position)",
        hint: "the last is \(try tables.lastPosition(transaction))")
    }
    return result
  }

  /// The header of a transaction, with identities instead of numbers.
  func header(
    _ header: LogEntryHeader, _ transaction: borrowing LMDBTransaction
  ) throws -> TransactionHeader {
    var base: Base?
    if let found = header.base {
      base = Base(
        incarnation: try interned.incarnations.identity(
          of: found.incarnation, in: tables.incarnations, transaction), offset: found.offset)
    }
    var parent: TransactionID?
    if let found = header.parent {
      parent = TransactionID(
        replica: try interned.replicas.identity(of: found.replica, in: tables.replicas, transaction),
        epoch: found.epoch, sequence: found.sequence)
    }
    return TransactionHeader(
      replica: try interned.replicas.identity(of: header.replica, in: tables.replicas, transaction),
      epoch: header.epoch, sequence: header.sequence,
      zone: try interned.zones.identity(of: header.zone, in: tables.zones, transaction), base: base,
      parent: parent)
  }

  /// Calls a closure with the positions of one zone or of all, in the log's order, until it returns false.
  func forEachPosition(
    after position: Position, in zone: ZoneID?, _ transaction: borrowing LMDBTransaction,
    _ body: (Position) throws -> Bool
  ) throws {
    if let zone {
      let number = try tables.zoneNumber(of: zone, interned, transaction)
      for found in try positions(of: number, after: position, transaction).sorted() {
        guard try body(found) else { return }
      }
      return
    }
    guard position.rawValue < .max else { return }
    var isGone: [ZoneNumber: Bool] = [:]
    var cursor = try transaction.openCursor(tables.log)
    var isThere = try cursor.seek(atOrAfter: TableKey.log(position.next).span)
    while isThere {
      let (found, zone) = try cursor.withEntry { key, row in
        let found = Position(rawValue: try key.bigEndian64(at: 0))
        return (found, try shownZone(row, at: found))
      }
      isThere = try cursor.next()
      guard let zone else { continue }
      if isGone[zone] == nil {
        isGone[zone] = try tables.zoneRow(zone, transaction)?.status.isGone ?? false
      }
      if isGone[zone] == true { continue }
      guard try body(found) else { return }
    }
  }

  /// The position of the last entry before another, or of the whole log; nil if there is none.
  func lastPosition(
    before position: Position?, _ transaction: borrowing LMDBTransaction
  ) throws -> Position? {
    var cursor = try transaction.openCursor(tables.log)
    var isThere =
      if let position { try cursor.seek(before: TableKey.log(position).span) } else { try cursor.last() }
    while isThere {
      let (found, zone) = try cursor.withEntry { key, row in
        let found = Position(rawValue: try key.bigEndian64(at: 0))
        return (found, try shownZone(row, at: found))
      }
      if let zone, try !(tables.zoneRow(zone, transaction)?.status.isGone ?? false) { return found }
      isThere = try cursor.previous()
    }
    return nil
  }

  /// The zone of a row of the log; nil if the row stands for removed entries.
  private func shownZone(_ row: RawSpan, at position: Position) throws -> ZoneNumber? {
    do {
      if try LogEntryCodec.removedRun(row, at: position) != nil { return nil }
      return try LogEntryCodec.zone(ofUnchecked: row)
    } catch {
      throw Self.damaged(position, error)
    }
  }

  /// The positions of a zone's transactions, from `sequences`, by replica.
  private func positions(
    of zone: ZoneNumber, after position: Position, _ transaction: borrowing LMDBTransaction
  ) throws -> [Position] {
    var positions: [Position] = []
    var cursor = try transaction.openCursor(tables.sequences)
    // A replica's positions grow with its sequences: going back from the last one reads only what is needed.
    for lane in try tables.lanes(of: zone, transaction) {
      let last = TableKey.sequence(zone, lane.replica, lane.epoch, lane.last)
      var isThere = try cursor.seek(to: last.span)
      var left = lane.count
      while isThere, left > 0 {
        let found = try cursor.withCheckedEntry { _, row in
          var reader = ByteReader(row)
          return Position(rawValue: try reader.readVarint("position"))
        }
        guard found > position else { break }
        positions.append(found)
        left -= 1
        isThere = try cursor.previous()
      }
    }
    return positions
  }

  /// The positions of a zone's pending transactions, in order.
  func pending(
    in zone: ZoneID, _ identity: StoreIdentity, _ transaction: borrowing LMDBTransaction
  ) throws -> [Position] {
    let (number, row) = try tables.zone(zone, interned, transaction)
    var positions: [Position] = []
    for lane in try tables.pendingLanes(of: number, row, identity, interned, transaction) {
      for sequence in lane.placed + 1...lane.last {
        let position = try tables.position(of: lane.replica, lane.epoch, sequence, in: number, transaction)
        guard let position else { throw StoreError.missing(sequence, zone) }
        positions.append(position)
      }
    }
    return positions.sorted()
  }

  static func damaged(_ position: Position, _ error: any Error) -> any Error {
    guard let error = error as? FormatError else { return error }
    return StoreError(
      error.code == .newerFormat ? .newerFormat : .damaged,
      "the log entry at position \(position) cannot be read: \(error.text)",
      hint: StoreError.damageHint, underlying: error)
  }
}

extension TableStorage {
  var logReader: LogReader { LogReader(tables, interned) }
}

extension StoreError {
  /// The log keeps only the positions of removed entries, not the reason.
  fileprivate static func removedEntry(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown,
      "the log's entry at position \(position) was removed: it was issued again under another epoch and has a "
        + "later position, or the remote's log does not have it any more, or its zone was removed",
      hint: "continue with the positions after it")
  }
}
