import LMDB
import OperationFormat

/// Reads entries of the log back into transactions.
struct LogReader<Source: TableReading> {
  let source: Source

  init(_ source: Source) { self.source = source }

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
      for found in try positions(of: number, after: position).sorted() {
        guard try body(found) else { return }
      }
      return
    }
    guard position.rawValue < .max else { return }
    var isGone: [ZoneNumber: Bool] = [:]
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere = try cursor.seek(atOrAfter: TableKey.log(position.next).span)
    while isThere {
      let (found, zone) = try cursor.withEntry { key, row in
        let found = Position(rawValue: try key.bigEndian64(at: 0))
        return (found, try shownZone(row, at: found))
      }
      isThere = try cursor.next()
      guard let zone else { continue }
      if isGone[zone] == nil {
        isGone[zone] = try source.zoneRowIfThere(zone)?.status.isGone ?? false
      }
      if isGone[zone] == true { continue }
      guard try body(found) else { return }
    }
  }

  /// The position of the last entry before another, or of the whole log; nil if there is none.
  func lastPosition(before position: Position?) throws -> Position? {
    var cursor = try source.transaction.openCursor(source.tables.log)
    var isThere =
      if let position { try cursor.seek(before: TableKey.log(position).span) } else { try cursor.last() }
    while isThere {
      let (found, zone) = try cursor.withEntry { key, row in
        let found = Position(rawValue: try key.bigEndian64(at: 0))
        return (found, try shownZone(row, at: found))
      }
      if let zone, try !(source.zoneRowIfThere(zone)?.status.isGone ?? false) { return found }
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
      throw StoreError.damagedEntry(at: position, error)
    }
  }

  /// The positions of a zone's transactions, from `sequences`, by replica.
  private func positions(of zone: ZoneNumber, after position: Position) throws -> [Position] {
    var positions: [Position] = []
    var cursor = try source.transaction.openCursor(source.tables.sequences)
    // A replica's positions grow with its sequences: going back from the last one reads only what is needed.
    for lane in try source.lanes.countedLanes(of: zone) {
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
  func pending(in zone: ZoneID, _ identity: StoreIdentity) throws -> [Position] {
    let (number, row) = try source.zones.visible(zone)
    var positions: [Position] = []
    for lane in try source.lanes.pendingLanes(of: number, row, identity) {
      for sequence in lane.placed + 1...lane.last {
        let position = try source.log.position(of: lane.replica, lane.epoch, sequence, in: number)
        guard let position else { throw StoreError.missing(sequence, zone) }
        positions.append(position)
      }
    }
    return positions.sorted()
  }
}

extension TableStorage {
  var logReader: LogReader<TableStorage> { LogReader(self) }
}
