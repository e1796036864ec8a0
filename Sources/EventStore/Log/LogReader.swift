import LMDB
import OperationFormat

/// Reads entries of the log back into transactions.
struct LogReader<Source: TableReading> {
  let source: Source

  init(_ source: Source) {
    self.source = source
    source.noteLogRead()
  }

  func entry(at position: Position) throws -> LogEntry {
    let (header, bytes) = try canonical(at: position)
    do {
      let decoded = try LogTransaction(decoding: bytes.span.bytes)
        .seen(inLogOf: source.zoneNumbers.identity(of: header.zone))
      let arrived = Int64(decoded.timestamp.milliseconds).addingReportingOverflow(header.arrivalDelay)
      return LogEntry(
        position: position, arrivedMilliseconds: arrived.overflow ? 0 : arrived.partialValue,
        transaction: decoded)
    } catch {
      throw StoreError.damagedEntry(at: position, error)
    }
  }

  /// - Parameter statingOwner: whether the header states the zone's owner, as in segments of earlier programs.
  func bytes(at position: Position, statingOwner: Bool = false) throws -> [UInt8] {
    try canonical(at: position, statingOwner: statingOwner).bytes
  }

  /// An entry's header, and the canonical bytes of its transaction.
  private func canonical(
    at position: Position, statingOwner: Bool = false
  ) throws -> (header: LogEntryHeader, bytes: [UInt8]) {
    var writer = ByteWriter()
    let found = try source.log.withEntry(at: position) { header, body in
      if try source.zoneRowIfThere(header.zone)?.status.isGone ?? false {
        throw StoreError.removed(position)
      }
      var named = try source.log.transactionHeader(of: header)
      named.statesOwner = statingOwner
      named.encode(into: &writer)
      writer.append(body)
      return header
    }
    return (found, writer.bytes)
  }

  /// Calls a closure with the positions of one zone or of all, in the log's order, until it returns false.
  func forEachPosition(after position: Position, in zone: ZoneID?, _ body: (Position) throws -> Bool) throws {
    if let zone {
      let number = try source.zones.number(of: zone)
      _ = try Self.forEachPosition(in: runs(of: number, after: position), body)
      return
    }
    guard position.rawValue < .max else { return }
    let first = position.next
    var isGone: [ZoneNumber: Bool] = [:]
    var cursor = try source.transaction.openCursor(source.tables.log)
    // The row before may have positions after its key.
    var isThere = try cursor.seek(atMost: TableKey.log(first).span)
    if !isThere { isThere = try cursor.seek(atOrAfter: TableKey.log(first).span) }
    while isThere {
      let (row, zone) = try cursor.withEntry { key, row in try Self.shown(row, under: key) }
      isThere = try cursor.next()
      guard let zone, row.positions.upperBound >= first else { continue }
      if isGone[zone] == nil {
        isGone[zone] = try source.zoneRowIfThere(zone)?.status.isGone ?? false
      }
      if isGone[zone] == true { continue }
      let shown = max(first, row.positions.lowerBound)...row.positions.upperBound
      guard try Self.forEachPosition(in: [shown], body) else { return }
    }
  }

  /// Calls a closure with the positions of one zone or of all, the last one first, until it returns false.
  func forEachPosition(before position: Position?, in zone: ZoneID?, _ body: (Position) throws -> Bool) throws
  {
    if position == .start { return }
    guard let zone else {
      var next = position
      while let found = try lastPosition(before: next), try body(found) { next = found }
      return
    }
    let last = position.map { $0.rawValue - 1 } ?? .max
    for run in try runs(of: source.zones.number(of: zone), after: .start).reversed()
    where run.lowerBound.rawValue <= last {
      for at in (run.lowerBound.rawValue...min(run.upperBound.rawValue, last)).reversed() {
        guard try body(Position(rawValue: at)) else { return }
      }
    }
  }

  /// Calls a closure with the positions in some runs, until it returns false. Returns whether it never did.
  private static func forEachPosition(
    in runs: [ClosedRange<Position>], _ body: (Position) throws -> Bool
  ) throws -> Bool {
    for run in runs {
      for position in run.lowerBound.rawValue...run.upperBound.rawValue {
        guard try body(Position(rawValue: position)) else { return false }
      }
    }
    return true
  }

  /// The position of the last entry before another, or of the whole log; nil if there is none.
  func lastPosition(before position: Position?) throws -> Position? {
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere =
      if let position { try cursor.seek(before: TableKey.log(position).span) } else { try cursor.last() }
    while isThere {
      let (row, zone) = try cursor.withEntry { key, row in try Self.shown(row, under: key) }
      if let zone, try !(source.zoneRowIfThere(zone)?.status.isGone ?? false) {
        let last = row.positions.upperBound
        return position.map { min(last, Position(rawValue: $0.rawValue - 1)) } ?? last
      }
      isThere = try cursor.previous()
    }
    return nil
  }

  /// The positions of a row of the log, and its zone; no zone if the row stands for removed entries.
  private static func shown(_ row: RawSpan, under key: RawSpan) throws -> (LogRow, ZoneNumber?) {
    let shown = try LogRow(row, under: key)
    if shown.kind == .removed { return (shown, nil) }
    do {
      return (shown, try LogEntryCodec.zone(ofUnchecked: row))
    } catch {
      throw StoreError.damagedEntry(at: shown.positions.lowerBound, error)
    }
  }

  /// The positions of a zone's transactions, from `sequences`, in runs and in order.
  private func runs(of zone: ZoneNumber, after position: Position) throws -> [ClosedRange<Position>] {
    try source.lanes.countedLanes(of: zone).flatMap {
      try source.log.positionRuns(
        of: Lane(zone: zone, replica: $0.replica, epoch: $0.epoch), after: position)
    }
    .sorted { $0.lowerBound < $1.lowerBound }
  }

  /// Calls a closure with the positions of a zone's pending transactions, in order, until it returns false.
  func forEachPending(
    in zone: ZoneID, _ identity: StoreIdentity, _ body: (Position) throws -> Bool
  ) throws {
    let (number, row) = try source.zones.visible(zone)
    var runs: [ClosedRange<Position>] = []
    for pending in try source.lanes.pendingLanes(of: number, row, identity) {
      let lane = Lane(zone: number, replica: pending.replica, epoch: pending.epoch)
      guard let found = try source.log.positionRuns(of: lane, pending.placed + 1...pending.last) else {
        throw StoreError.missing(pending.placed + 1, zone)
      }
      runs += found
    }
    _ = try Self.forEachPosition(in: runs.sorted { $0.lowerBound < $1.lowerBound }, body)
  }
}

extension TableStorage {
  var logReader: LogReader<TableStorage> { LogReader(self) }
}
