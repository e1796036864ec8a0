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
    throw try missing(offset, zone)
  }

  /// Whether the log that the store knows has at a snapshot's offset what the snapshot says.
  func hasLog(of manifest: SnapshotManifest, in zone: ZoneNumber, _ incarnation: IncarnationNumber) throws
    -> Bool
  {
    try row(at: manifest.offset, in: zone, incarnation)?.hash == manifest.hash
      && chain(at: manifest.offset, in: zone, incarnation) == manifest.chain
  }

  private func missing(_ offset: UInt64, _ zone: ZoneNumber) throws -> StoreError {
    StoreError(
      .damaged,
      "the segment at offset \(offset) of zone “\(try zoneNumbers.identity(of: zone))” is missing from the store",
      hint: "run a verification of the store, or try another store that has read the zone")
  }

  /// The log's chain at an offset of an incarnation; nil if it is not known.
  ///
  /// Rows of an earlier program have no chain. Theirs follow from the last row that has one, or from the log's
  /// start.
  ///
  /// - Complexity: O(1); linear in the rows of an earlier program before the offset
  func chain(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> LogChain? {
    if let chain = try row(at: offset, in: zone, incarnation)?.chain { return chain }
    var chain: LogChain?
    try forEachLinkWithoutChain(upTo: offset, in: zone, incarnation, from: &chain) { _, _, _ in }
    return chain
  }

  /// Calls a closure with each row of an earlier program up to an offset that has no chain, in order, and with
  /// the chain there.
  ///
  /// - Parameter chain: gets the chain at the offset; nil if it is not known.
  func forEachLinkWithoutChain(
    upTo offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber, from chain: inout LogChain?,
    _ body: (UInt64, SegmentRow, LogChain) throws -> Void
  ) throws {
    let id = try incarnations.identity(of: incarnation)
    var first = offset
    chain = nil
    while first > 0, let row = try row(at: first, in: zone, incarnation) {
      chain = row.chain
      guard chain == nil, row.isOfFirstVersion else { break }
      first -= 1
    }
    if first == 0 { chain = .start(of: id) }
    guard var before = chain, first < offset else { return }
    for next in first + 1...offset {
      guard let row = try row(at: next, in: zone, incarnation) else {
        chain = nil
        return
      }
      let statement =
        try row.isQuarantined
        ? row.hash
        : SegmentStatement(
          firstVersion: id, replicas.identity(of: row.replica), row.epoch,
          row.first...max(row.first, row.last),
          row.hash
        ).hash
      before = LogChain(statement, at: next, after: before)
      try body(next, row, before)
    }
    chain = before
  }

  /// The chain of a token at an offset of an incarnation; nil if the remote states another chain there, or if the
  /// row does not have it: what follows from the rows of an earlier program is computed when the log continues,
  /// not at every look. Then a remote compares only the hash.
  func tokenChain(
    at offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> LogChain? {
    if offset == 0 { return try .start(of: incarnations.identity(of: incarnation)) }
    let row = try row(at: offset, in: zone, incarnation)
    return row?.rejection == .chain ? nil : row?.chain
  }

  /// What shows in the header of a new segment that its writer had seen the log up to an offset. Where the store does not
  /// know that of an offset at or below the floor, it is the chain at the next entry that it knows: readers do not compare it.
  ///
  /// - Throws: ``StoreError`` `damaged` if the store does not know that.
  func proof(
    of offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> ContentHash {
    if let chain = try chain(at: offset, in: zone, incarnation) { return chain.hash }
    if try offset <= lanes.countedFloor(of: zone, incarnation, before: .max) {
      var cursor = try transaction.openCursor(tables.segments)
      if try cursor.seek(atOrAfter: TableKey.segment(zone, incarnation, offset).span) {
        let next = try cursor.withCheckedEntry { key, row in
          try key.hasPrefix(TableKey.segment(zone, incarnation, 0).span.extracting(..<8).bytes)
            ? SegmentRow(row).chain : nil
        }
        if let next { return next.hash }
      }
    }
    throw try missing(offset, zone)
  }

  /// The first offset of an incarnation, from one on, with an entry that the store knows; nil if there is none.
  func firstOffset(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64
  ) throws -> UInt64? {
    var cursor = try transaction.openCursor(tables.segments)
    guard try cursor.seek(atOrAfter: TableKey.segment(zone, incarnation, offset).span) else { return nil }
    return try cursor.withEntry { key, _ in
      try key.bigEndian32(at: 0) == zone.rawValue && key.bigEndian32(at: 4) == incarnation.rawValue
        ? key.bigEndian64(at: 8) : nil
    }
  }

  /// The last offset of an incarnation, up to one, with an entry that the store knows; 0 if there is none.
  func lastOffset(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, upTo offset: UInt64 = .max
  ) throws -> UInt64 {
    var cursor = try transaction.openCursor(tables.segments)
    guard try cursor.seek(atMost: TableKey.segment(zone, incarnation, offset).span) else { return 0 }
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

  /// The same up to an offset, from the first one on.
  func forEach(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, upTo last: UInt64,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    let start = TableKey.segment(zone, incarnation, 0)
    let prefix = start.span.extracting(..<8).bytes
    try transaction.forEachEntry(in: tables.segments, under: prefix, from: start.span.bytes) { key, row in
      let offset = try key.bigEndian64(at: 8)
      guard offset <= last else { return false }
      try body(offset, try SegmentRow(CheckedRow.content(of: row, under: key)))
      return true
    }
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
    if row.rejection != nil || row.isEmpty { return nil }
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
