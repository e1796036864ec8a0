import LMDB
import OperationFormat

/// The rows of the entries of remote logs: folded, rejected and quarantined ones.
struct SegmentTable<Source: TableReading>: TableView {
  let source: Source

  func row(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> SegmentRow? {
    try transaction.withCheckedValue(of: TableKey.segment(zone, incarnation, offset), in: tables.segments) {
      try SegmentRow($0)
    }
  }

  /// The hash of the entry at an offset of an incarnation.
  ///
  /// - Throws: ``StoreError`` `damaged` if the store knows no entry there.
  func hash(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> ContentHash {
    if let row = try row(at: offset, in: zone, incarnation) { return row.hash }
    let id = try zoneNumbers.identity(of: zone)
    throw StoreError(
      .damaged, "the segment at offset \(offset) of zone “\(id)” is missing from the store",
      hint: "run a verification of the store, or try another store that has read the zone")
  }

  /// The last offset of an incarnation with an entry that the store knows; 0 if there is none.
  func lastOffset(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> UInt64 {
    var cursor = try transaction.openCursor(tables.segments)
    guard try cursor.seek(atMost: TableKey.segment(zone, incarnation, .max).span) else { return 0 }
    return try cursor.withCheckedEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue && key.bigEndian32(at: 4) == incarnation.rawValue
        ? key.bigEndian64(at: 8) : 0
    }
  }

  /// Whether the store knows any entry of an incarnation of a zone's remote log at or after an offset.
  func hasAny(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64 = 0
  ) throws -> Bool {
    let start = TableKey.segment(zone, incarnation, offset).span
    return try transaction.hasEntry(
      in: tables.segments, under: start.extracting(..<8).bytes, from: start.bytes)
  }

  /// Calls a closure with the offset and row of each entry of an incarnation from an offset on, in order.
  func forEach(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    try forEach(
      from: .segment(zone, incarnation, offset), prefixBytes: 8, in: tables.segments, body)
  }

  /// The same for the segments that were folded before the log was read again.
  func forEachFormer(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    try forEach(
      from: .formerSegment(zone, incarnation, 0), prefixBytes: 9, in: tables.replicas, body)
  }

  /// Calls a closure with the offset and row of each rejected segment of an incarnation, in order, until it
  /// returns false.
  func forEachRejected(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ body: (UInt64, SegmentRow) throws -> Bool
  ) throws {
    let start = TableKey.rejectedSegment(zone, incarnation, 0)
    let prefix = start.span.extracting(..<9).bytes
    var cursor = try transaction.openCursor(tables.replicas)
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let offset = try cursor.withEntry { key, _ in
        try key.hasPrefix(prefix) ? key.bigEndian64(at: 9) : nil
      }
      guard let offset else { return }
      guard let row = try row(at: offset, in: zone, incarnation) else {
        throw StoreError(
          .damaged, "the rejected segment at offset \(offset) has no row", hint: "run `replay verify`")
      }
      guard try body(offset, row) else { return }
      isThere = try cursor.next()
    }
  }

  private func forEach(
    from start: TableKey, prefixBytes: Int, in table: Table,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    let prefix = start.span.extracting(..<prefixBytes).bytes
    try transaction.forEachEntry(in: table, under: prefix, from: start.span.bytes) { key, row in
      let segment = try SegmentRow(CheckedRow.content(of: row, under: key))
      try body(key.bigEndian64(at: prefixBytes), segment)
      return true
    }
  }

  /// What is wrong with a segment's row. A store that lacks one of its transactions would falsely say that it
  /// is in sync.
  ///
  /// - Parameter key: the row's key in `segments`.
  /// - Returns: nil if the store has the segment's transactions and their placement, or need not have them.
  /// - Throws: `FormatError` if the row, or another one that it leads to, cannot be read.
  func problem(ofSegment key: RawSpan, _ bytes: RawSpan) throws -> String? {
    let row = try SegmentRow(CheckedRow.content(of: bytes, under: key))
    // A rejected entry, and one that was quarantined unread, has no sequences that could have a placement.
    if row.rejection != nil || row == .quarantined(row.hash) { return nil }
    let zone = ZoneNumber(rawValue: try key.bigEndian32(at: 0))
    let incarnation = IncarnationNumber(rawValue: try key.bigEndian32(at: 4))
    let offset = try key.bigEndian64(at: 8)
    // An acknowledged segment after the offset that closed its lane is rejected when it is read. Its
    // transactions may have been issued again by then.
    let closure = try lanes.closure(of: row.replica, row.epoch, in: zone, incarnation)
    if let closure, closure < offset { return nil }
    let last = try lanes.lastSequence(of: row.replica, row.epoch, in: zone)
    guard row.first > 0, row.first <= row.last, row.last <= last else {
      return "the segment at offset \(offset) holds the sequences \(row.first) to \(row.last), "
        + "and the log has them up to \(last)"
    }
    if try placements.placement(of: row.replica, row.epoch, row.last, in: zone, incarnation) != nil {
      return nil
    }
    return "the segment at offset \(offset) has no placement for its sequence \(row.last)"
  }

  /// Whether a base is at or past every placement that a zone has.
  func areAllSeen(_ base: BaseNumbers, in zone: ZoneNumber) throws -> Bool {
    var cursor = try transaction.openCursor(tables.segments)
    var end = TableKey()
    end.append(zone.rawValue + 1)
    guard try cursor.seek(before: end.span) else { return true }
    let last = try cursor.withEntry { key, _ in
      (try key.bigEndian32(at: 0), try key.bigEndian32(at: 4), try key.bigEndian64(at: 8))
    }
    guard last.0 == zone.rawValue else { return true }
    guard last.1 == base.incarnation.rawValue, last.2 <= base.offset else { return false }
    guard try cursor.seek(atOrAfter: TableKey.state(StateNumber(rawValue: zone.rawValue)).span) else {
      return true
    }
    return try cursor.withEntry { key, _ in try key.bigEndian32(at: 4) } == base.incarnation.rawValue
  }
}
