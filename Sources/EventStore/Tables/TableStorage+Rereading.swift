import LMDB
import OperationFormat

// The rows of a zone whose log is being read again: see `Tables+Lanes.swift`.

/// How far a zone's log is being read again.
struct Rereading {
  /// From which offset on.
  var first: UInt64
  /// The greatest base that a transaction may have from before.
  var seen: UInt64
}

extension TableKey {
  static func heldLane(_ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32) -> TableKey {
    heldLanes(zone).appending(replica, epoch)
  }

  static func heldLanes(_ zone: ZoneNumber) -> TableKey { rows(.heldLanes, of: zone) }

  static func formerSegment(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ offset: UInt64
  ) -> TableKey {
    var key = rows(.formerSegments, of: zone, incarnation)
    key.append(offset)
    return key
  }

  static func rereading(_ zone: ZoneNumber) -> TableKey { heldLane(zone, .none, 0) }
}

extension Tables {
  /// Calls a closure with the offset and row of each segment of an incarnation from an offset on, in order.
  func forEachSegment(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64,
    _ transaction: borrowing LMDBTransaction, _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    try forEachSegment(
      from: .segment(zone, incarnation, offset), prefixBytes: 8, in: segments, transaction, body)
  }

  /// Whether there is a segment of a log at a key or behind it.
  func hasSegment(from start: TableKey, _ transaction: borrowing LMDBTransaction) throws -> Bool {
    let prefix = start.span.extracting(..<8).bytes
    var cursor = try transaction.openCursor(segments)
    return try cursor.seek(atOrAfter: start.span) && cursor.withEntry { key, _ in key.hasPrefix(prefix) }
  }

  /// The same of what was folded before the log was read again.
  func forEachFormerSegment(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, _ transaction: borrowing LMDBTransaction,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    try forEachSegment(
      from: .formerSegment(zone, incarnation, 0), prefixBytes: 9, in: replicas, transaction, body)
  }

  private func forEachSegment(
    from start: TableKey, prefixBytes: Int, in table: Table, _ transaction: borrowing LMDBTransaction,
    _ body: (UInt64, SegmentRow) throws -> Void
  ) throws {
    let prefix = start.span.extracting(..<prefixBytes).bytes
    var cursor = try transaction.openCursor(table)
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let found = try cursor.withCheckedEntry { key, row in
        try key.hasPrefix(prefix) ? (key.bigEndian64(at: prefixBytes), SegmentRow(row)) : nil
      }
      guard let found else { return }
      try body(found.0, found.1)
      isThere = try cursor.next()
    }
  }
}

extension TableStorage {
  func setRereading(_ rereading: Rereading, of zone: ZoneNumber) throws {
    try putChecked(.rereading(zone), in: tables.replicas) {
      $0.append(varint: rereading.first)
      $0.append(varint: rereading.seen)
    }
  }

  func holdLane(_ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber) throws {
    try putChecked(.heldLane(zone, replica, epoch), in: tables.replicas) { _ in }
  }

  /// Takes away all rows of a zone's rereading.
  func removeRereading(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    var former: [UInt64] = []
    try tables.forEachFormerSegment(in: zone, incarnation, transaction) { offset, _ in former.append(offset) }
    for offset in former {
      let key = TableKey.formerSegment(zone, incarnation, offset)
      _ = try transaction.delete(key.span, in: tables.replicas)
    }
    for (replica, epoch) in try tables.lanes(under: .heldLanes(zone), transaction) {
      let key = TableKey.heldLane(zone, replica, epoch)
      _ = try transaction.delete(key.span, in: tables.replicas)
    }
  }

  /// Takes away the rows of an incarnation's segments from an offset on, and what says that some were rejected.
  ///
  /// - Returns: the lanes of which something lay there, in the order of their first segments there.
  func takeBackSegments(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64
  ) throws -> [Lane] {
    var lanes: [Lane] = []
    var known: Set<Lane> = []
    var rows: [(offset: UInt64, row: SegmentRow)] = []
    try tables.forEachSegment(in: zone, incarnation, from: offset, transaction) { offset, row in
      rows.append((offset, row))
      guard row.rejection == nil, !row.isQuarantined else { return }
      let lane = Lane(zone: zone, replica: row.replica, epoch: row.epoch)
      if known.insert(lane).inserted { lanes.append(lane) }
    }
    for (offset, row) in rows {
      let former = TableKey.formerSegment(zone, incarnation, offset)
      if row.rejection == nil, !row.isQuarantined,
        try !transaction.contains(former.span, in: tables.replicas)
      {
        try putChecked(former, in: tables.replicas) { row.append(to: &$0) }
      }
      let key = TableKey.segment(zone, incarnation, offset)
      _ = try transaction.delete(key.span, in: tables.segments)
      let rejected = TableKey.rejectedSegment(zone, incarnation, offset)
      _ = try transaction.delete(rejected.span, in: tables.replicas)
    }
    forgetPlacements()
    return lanes
  }

  /// Opens the lanes again that an incarnation's log has closed at an offset or behind it.
  func takeBackClosures(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64
  ) throws {
    let prefix = TableKey.rows(.closedLanes, of: zone, incarnation)
    let bytes = prefix.span.bytes
    var closed: [TableKey] = []
    var cursor = try transaction.openCursor(tables.replicas)
    var isThere = try cursor.seek(atOrAfter: prefix.span)
    while isThere {
      let goesOn = try cursor.withCheckedEntry { key, row in
        guard key.hasPrefix(bytes) else { return false }
        var reader = ByteReader(row)
        if try reader.readVarint("lane.closed") >= offset {
          closed.append(
            .closedLane(
              zone, incarnation, ReplicaNumber(rawValue: try key.bigEndian32(at: 9)),
              try key.bigEndian32(at: 13)))
        }
        return true
      }
      guard goesOn else { break }
      isThere = try cursor.next()
    }
    for key in closed { _ = try transaction.delete(key.span, in: tables.replicas) }
  }

  /// Takes away what a lane continues, whose first transaction was taken out.
  func removeParent(of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber) throws {
    let key = TableKey.lineage(zone, replica, epoch)
    if try transaction.delete(key.span, in: tables.replicas) { forgetLineages() }
  }
}
