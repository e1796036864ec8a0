import LMDB
import OperationFormat

// What a store remembers of lanes beside their transactions. All are rows of the table `replicas`:
//
// | key | value | what |
// |---|---|---|
// | 3, zone (4), incarnation (4), replica (4), epoch (4) | offset, varint | the log closed the lane: its first segment that was rejected |
// | 4, zone (4), replica (4), epoch (4) | nothing | this store ships the lane, though it is not its present own one |
// | 5, zone (4), incarnation (4), offset (8) | nothing | a segment that was rejected; its row in `segments` says why |
// | 6, zone (4), 0 (4), 0 (4) | varint ×2 | the zone's log is being read again: `Rereading` |
// | 6, zone (4), replica (4), epoch (4) | nothing | an adopted lane of another store whose places were taken back for that |
// | 7, zone (4), incarnation (4), offset (8) | `SegmentRow` | what was folded there before that |
// | 8, zone (4), replica (4), epoch (4) | varint ×3 | what the log calls a lane by now that the records still call so: `LaneRenaming` |
// | 9, zone (4), replica (4), epoch (4), record number (4), cell (4) | varint | how many of its units there keep their names |
// | 10, zone (4), replica (4), epoch (4) | varint ×3 | the log has another branch of an adopted lane, or not what it had seen: `ContestedLane` |

/// Transactions of one lane that no remote has, as far as the store knows.
package struct PendingLane: Hashable, Sendable {
  package var replica: ReplicaNumber
  package var epoch: UInt32
  /// The last sequence that has a place in the zone's present remote log; 0 if none has.
  package var placed: UInt64
  /// The last sequence that the store has.
  package var last: UInt64

  package var count: UInt64 { last - min(placed, last) }
}

extension TableKey {
  static func closedLane(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ replica: ReplicaNumber, _ epoch: UInt32
  ) -> TableKey {
    rows(.closedLanes, of: zone, incarnation).appending(replica, epoch)
  }

  static func adoptedLane(_ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32) -> TableKey {
    adoptedLanes(zone).appending(replica, epoch)
  }

  static func adoptedLanes(_ zone: ZoneNumber) -> TableKey { rows(.adoptedLanes, of: zone) }

  static func rejectedSegment(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ offset: UInt64
  ) -> TableKey {
    var key = rows(.rejectedSegments, of: zone, incarnation)
    key.append(offset)
    return key
  }

  /// The beginnings of all rows of `replicas` that are a zone's.
  static func lanesOfZone(_ zone: ZoneNumber) -> [TableKey] { LaneRows.allCases.map { rows($0, of: zone) } }

  /// The beginning of a zone's rows of one kind.
  static func rows(_ kind: LaneRows, of zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(kind.rawValue)
    key.append(zone)
    return key
  }

  /// The same of one incarnation of the zone's log.
  static func rows(
    _ kind: LaneRows, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) -> TableKey {
    var key = rows(kind, of: zone)
    key.append(incarnation)
    return key
  }

  func appending(_ replica: ReplicaNumber, _ epoch: UInt32) -> TableKey {
    var key = self
    key.append(replica)
    key.append(epoch)
    return key
  }
}

/// The kinds of rows of `replicas` that are a zone's: the first byte of their keys.
enum LaneRows: UInt8, CaseIterable {
  case lineages = 2
  case closedLanes = 3
  case adoptedLanes = 4
  case rejectedSegments = 5
  /// Of a log that is being read again.
  case heldLanes = 6
  case formerSegments = 7
  /// Until the log was folded again.
  case renamedLanes = 8
  case keptUnits = 9
  case contestedLanes = 10
}

extension Tables {
  /// Where a lane was closed in an incarnation of a zone's log; nil if it is open.
  package func closure(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ transaction: borrowing LMDBTransaction
  ) throws -> UInt64? {
    let key = TableKey.closedLane(zone, incarnation, replica, epoch)
    return try transaction.withCheckedValue(of: key, in: replicas) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("lane.closed")
    }
  }

  /// The last sequence of a lane that has its place before an offset; 0 if none has.
  ///
  /// - Complexity: O(log n), and linear in the runs of the lane that were placed at the offset or after it.
  package func lastPlaced(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    before offset: UInt64, _ transaction: borrowing LMDBTransaction
  ) throws -> UInt64 {
    var last = try lastPlaced(replica, epoch, in: zone, incarnation, transaction)
    while last > 0 {
      let place = try placement(of: replica, epoch, last, in: zone, incarnation, transaction)
      guard let place else { throw StoreError.unplaced(last) }
      if place.offset < offset { return last }
      last = place.first - 1
    }
    return 0
  }

  /// The lanes that this store ships though they are not its present own one: those of a log that was imported, and its
  /// own of an earlier epoch.
  func adoptedLanes(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    try lanes(under: .adoptedLanes(zone), transaction)
  }

  /// Whether the store ships lanes of a zone beside its present own one.
  func hasAdoptedLanes(of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction) throws -> Bool {
    let prefix = TableKey.adoptedLanes(zone)
    var cursor = try transaction.openCursor(replicas)
    guard try cursor.seek(atOrAfter: prefix.span) else { return false }
    return cursor.withEntry { key, _ in key.hasPrefix(prefix.span.bytes) }
  }

  /// The lanes that rows are of whose keys begin with a kind and a zone.
  func lanes(
    under prefix: TableKey, _ transaction: borrowing LMDBTransaction
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    var found: [(replica: ReplicaNumber, epoch: UInt32)] = []
    let bytes = prefix.span.bytes
    var cursor = try transaction.openCursor(replicas)
    var isThere = try cursor.seek(atOrAfter: prefix.span)
    while isThere {
      let lane = try cursor.withEntry { key, _ in
        key.hasPrefix(bytes)
          ? (ReplicaNumber(rawValue: try key.bigEndian32(at: 5)), try key.bigEndian32(at: 9)) : nil
      }
      guard let lane else { break }
      found.append((lane.0, lane.1))
      isThere = try cursor.next()
    }
    return found
  }

  /// Of so many adopted lanes the pending entries are looked up when lanes are counted; those of the others when it is
  /// their turn to be shipped.
  static let checkedLanesMax = 8

  /// The lanes with transactions that no remote has: adopted ones first, then this store's own.
  ///
  /// - Complexity: a few look-ups a lane; entries of the log are read of ``checkedLanesMax`` adopted ones and the own one.
  package func pendingLanes(
    of zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity, _ interned: Interned,
    _ transaction: borrowing LMDBTransaction
  ) throws -> [PendingLane] {
    var lanes = try adoptedLanes(of: zone, transaction)
    if let own = try interned.replicas.number(of: identity.replica, in: replicas, transaction) {
      lanes.append((own, row.ownEpoch(identity)))
    }
    var pending: [PendingLane] = []
    for (index, (replica, epoch)) in lanes.enumerated() {
      let lane = try pendingLane(
        replica, epoch, of: zone, row.token,
        readsEntries: pending.count < Self.checkedLanesMax || index == lanes.count - 1, transaction)
      if lane.count > 0 { pending.append(lane) }
    }
    return pending
  }

  /// What is pending of a lane.
  ///
  /// - Parameter readsEntries: whether the first and the last of it are looked up in the log.
  func pendingLane(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ token: ZoneRow.Token?,
    readsEntries: Bool = true, _ transaction: borrowing LMDBTransaction
  ) throws -> PendingLane {
    let placed = try token.map { try lastPlaced(replica, epoch, in: zone, $0.incarnation, transaction) } ?? 0
    let last = try lastSequence(of: replica, epoch, in: zone, transaction)
    try checkPending(
      of: replica, epoch, in: zone, placed: placed, last: last, readsEntries: readsEntries, transaction)
    return PendingLane(replica: replica, epoch: epoch, placed: placed, last: last)
  }

  /// Whether a lane is this store's to ship: its own, or one that it has adopted.
  func ships(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity,
    _ interned: Interned, _ transaction: borrowing LMDBTransaction
  ) throws -> Bool {
    if epoch == row.ownEpoch(identity),
      try interned.replicas.number(of: identity.replica, in: replicas, transaction) == replica
    {
      return true
    }
    return try transaction.contains(TableKey.adoptedLane(zone, replica, epoch).span, in: replicas)
  }

  /// Calls a closure with the offset and row of each rejected segment of an incarnation, in order, until it returns
  /// false.
  func forEachRejection(
    in zone: ZoneNumber, _ incarnation: IncarnationNumber, _ transaction: borrowing LMDBTransaction,
    _ body: (UInt64, SegmentRow) throws -> Bool
  ) throws {
    let start = TableKey.rejectedSegment(zone, incarnation, 0)
    let prefix = start.span.extracting(..<9).bytes
    var cursor = try transaction.openCursor(replicas)
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let offset = try cursor.withEntry { key, _ in
        try key.hasPrefix(prefix) ? key.bigEndian64(at: 9) : nil
      }
      guard let offset else { return }
      guard let row = try segment(at: offset, in: zone, incarnation, transaction) else {
        throw StoreError(
          .damaged, "the rejected segment at offset \(offset) has no row", hint: "run `replay verify`")
      }
      guard try body(offset, row) else { return }
      isThere = try cursor.next()
    }
  }
}

extension TableStorage {
  /// Remembers that this store ships a lane.
  func adoptLane(_ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber) throws {
    try putChecked(.adoptedLane(zone, replica, epoch), in: tables.replicas) { _ in }
  }

  /// Forgets the adopted lanes of which nothing is pending any more.
  func dropShippedLanes(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    for (replica, epoch) in try tables.adoptedLanes(of: zone, transaction) {
      try dropLaneIfShipped(replica, epoch, of: zone, incarnation)
    }
  }

  /// Forgets a lane, if it is an adopted one of which nothing is pending any more.
  func dropLaneIfShipped(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws {
    let key = TableKey.adoptedLane(zone, replica, epoch)
    guard try transaction.contains(key.span, in: tables.replicas) else { return }
    let last = try lastSequence(of: replica, epoch, in: zone)
    guard try tables.lastPlaced(replica, epoch, in: zone, incarnation, transaction) >= last else { return }
    _ = try transaction.delete(key.span, in: tables.replicas)
    try removeContest(of: Lane(zone: zone, replica: replica, epoch: epoch))
  }

  /// Closes a lane at an offset, unless an earlier one has closed it. What was acknowledged behind the offset has its place
  /// no more.
  ///
  /// - Returns: whether places were taken away.
  @discardableResult
  func closeLane(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber,
    at offset: UInt64
  ) throws -> Bool {
    let known = try tables.closure(of: replica, epoch, in: zone, incarnation, transaction)
    if known.map({ offset < $0 }) ?? true {
      try putChecked(.closedLane(zone, incarnation, replica, epoch), in: tables.replicas) {
        $0.append(varint: offset)
      }
    }
    return try takeBackPlaces(replica, epoch, of: zone, incarnation, from: offset)
  }

  /// Takes away the places of a lane from an offset on.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  func takeBackPlaces(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber,
    from offset: UInt64
  ) throws -> Bool {
    let before = try tables.lastPlaced(replica, epoch, in: zone, incarnation, transaction)
    var last = before
    while last > 0 {
      let place = try tables.placement(of: replica, epoch, last, in: zone, incarnation, transaction)
      guard let place, place.offset >= offset else { break }
      let key = TableKey.placement(zone, incarnation, replica, epoch, last: place.last)
      _ = try transaction.delete(key.span, in: tables.placements)
      last = place.first - 1
    }
    forgetPlacements()
    return last < before
  }

  /// Writes the row of a segment that was rejected.
  func reject(
    _ row: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    try write(row, in: zone, incarnation, at: offset)
    try putChecked(.rejectedSegment(zone, incarnation, offset), in: tables.replicas) { _ in }
  }
}

extension StoreError {
  fileprivate static func unplaced(_ sequence: UInt64) -> StoreError {
    StoreError(
      .damaged, "sequence \(sequence) is placed and has no place", hint: "run `replay verify`")
  }
}
