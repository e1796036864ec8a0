import LMDB
public import OperationFormat

/// A transaction in this store's log.
public struct LogEntry: Hashable, Sendable {
  public let position: Position
  /// When it came into this store, in milliseconds since 1970.
  public let arrivedMilliseconds: Int64
  public let transaction: LogTransaction

  package init(position: Position, arrivedMilliseconds: Int64, transaction: LogTransaction) {
    self.position = position
    self.arrivedMilliseconds = arrivedMilliseconds
    self.transaction = transaction
  }
}

/// Where a transaction lies in its zone's remote log.
public struct Placement: Hashable, Sendable {
  public let incarnation: IncarnationID
  public let offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  public let receivedMilliseconds: UInt64?
}

extension ReadTransaction {
  /// The position of the last transaction in the log, `.start` if there is none.
  public func lastPosition() throws -> Position { try tables.lastPosition(transaction) }

  /// The transaction at a position.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func entry(at position: Position) throws -> LogEntry {
    let reader = LogReader(tables, interned)
    return try reader.entry(at: position, transaction)
  }

  /// The canonical bytes of the transaction at a position: as in a segment, and as replicas compare them.
  ///
  /// - Throws: ``StoreError`` `positionUnknown`, `damaged`.
  public func bytes(at position: Position) throws -> [UInt8] {
    let reader = LogReader(tables, interned)
    return try reader.bytes(at: position, transaction)
  }

  /// The position of a transaction, nil if the store does not have it.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func position(of id: TransactionID, in zone: ZoneID) throws -> Position? {
    let number = try tables.zoneNumber(of: zone, interned, transaction)
    guard let replica = try interned.replicas.number(of: id.replica, in: tables.replicas, transaction) else {
      return nil
    }
    return try tables.position(of: replica, id.epoch, id.sequence, in: number, transaction)
  }

  /// Calls a closure with the log's transactions after a position, in the log's order, until it returns false.
  ///
  /// - Parameters:
  ///   - position: where to begin, without that position itself.
  ///   - zone: only transactions of this zone. They are found without passing over those of others.
  ///   - record: only transactions that have an operation on this record, and only of its zone.
  ///   - body: gets each transaction; it returns false to end.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`; what the closure throws.
  /// - Complexity: linear in the transactions of the zone after the position; without a zone, of the log.
  public func history(
    after position: Position = .start, zone: ZoneID? = nil, record: RecordID? = nil,
    _ body: (LogEntry) throws -> Bool
  ) throws {
    let reader = LogReader(tables, interned)
    try reader.forEachPosition(after: position, in: record?.zone ?? zone, transaction) { position in
      let entry = try reader.entry(at: position, transaction)
      if let record, !entry.transaction.operations.contains(where: { $0.record == record.name }) {
        return true
      }
      return try body(entry)
    }
  }

  /// The last transaction before a position, or of the whole log; nil if there is none.
  package func entry(before position: Position?) throws -> LogEntry? {
    let reader = LogReader(tables, interned)
    let found = try reader.lastPosition(before: position, transaction)
    return try found.map { try reader.entry(at: $0, transaction) }
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if it has none, or not the zone.
  package func lastSequence(of replica: ReplicaID, _ epoch: UInt32, in zone: ZoneID) throws -> UInt64 {
    let found = try tables.findZone(zone, interned, transaction) { try tables.zoneRow($0, transaction) }
    guard let found, let number = try interned.replicas.number(of: replica, in: tables.replicas, transaction)
    else { return 0 }
    return try tables.lastSequence(of: number, epoch, in: found.number, transaction)
  }

  /// The transactions of a zone that this store is still to ship, in the log's order: its own, and those of a log that it
  /// has imported.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in what is pending; nothing is scanned.
  public func pending(in zone: ZoneID, limit: Int = .max) throws -> [LogEntry] {
    let reader = LogReader(tables, interned)
    return try reader.pending(in: zone, identity, transaction).prefix(limit).map {
      try reader.entry(at: $0, transaction)
    }
  }

  /// How many transactions of a zone this store is still to ship.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func pendingCount(in zone: ZoneID) throws -> Int {
    let (number, row) = try tables.zone(zone, interned, transaction)
    return Int(
      try tables.pendingCount(in: number, row, identity, interned, transaction))
  }

  /// Where a transaction lies in the zone's present remote log, nil if it is pending.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  public func placement(of id: TransactionID, in zone: ZoneID) throws -> Placement? {
    let (number, row) = try tables.zone(zone, interned, transaction)
    guard let replica = try interned.replicas.number(of: id.replica, in: tables.replicas, transaction),
      let incarnation = row.token?.incarnation,
      let place = try tables.placement(
        of: replica, id.epoch, id.sequence, in: number, incarnation, transaction)
    else { return nil }
    let segment = try tables.segment(at: place.offset, in: number, incarnation, transaction)
    return Placement(
      incarnation: try interned.incarnations.identity(of: incarnation, in: tables.incarnations, transaction),
      offset: place.offset, receivedMilliseconds: segment?.receivedMilliseconds)
  }
}

extension LogOperation {
  /// The record that the operation works on, nil where that is not known.
  public var record: Name? {
    switch self {
    case .create(let record, _), .delete(let record), .moveAway(let record, _), .moveHere(let record, _, _),
      .update(let record, _, _, _):
      record
    case .unknown: nil
    }
  }
}

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

  /// An entry's header, and its transaction's canonical bytes.
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

  /// Reads an entry where it lies: header and body. Its zone may be gone.
  func withEntry<R>(
    at position: Position, _ transaction: borrowing LMDBTransaction,
    _ body: (LogEntryHeader, RawSpan) throws -> R
  ) throws -> R {
    if let result = try withEntryUnlessRemoved(at: position, transaction, body) { return result }
    throw StoreError.takenOut(position)
  }

  /// As ``withEntry(at:_:_:)``; nil for an entry that was taken out of the log.
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

  /// The header of a transaction, in identities.
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

  /// Calls a closure with positions in the log's order, those of one zone or all, until it returns false.
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

  /// The position of the last entry before another, or of all; nil if there is none.
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

  /// The zone of a row of the log, nil if it stands for removed entries.
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
    // A replica's positions grow with its sequences: from the last one back, only what is asked for is read.
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

  /// The positions of the transactions that the store is still to ship, in order.
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

extension StoreError {
  static func removed(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown, "the log's entry at position \(position) was removed with its zone",
      hint: "continue with the positions after it")
  }

  /// Of what was taken out, the log keeps the positions alone: not why.
  fileprivate static func takenOut(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown,
      "the log's entry at position \(position) was taken out: it was issued again under another epoch and stands at "
        + "a later position, or the remote's log has it no more, or its zone was removed",
      hint: "continue with the positions after it")
  }
}
