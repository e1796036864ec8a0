import LMDB
import OperationFormat

extension LaneTable where Source == TableStorage {
  func setParent(
    _ parent: LaneParent, of replica: ReplicaNumber,
    _ epoch: UInt32, in zone: ZoneNumber
  ) throws {
    try source.putChecked(.lineage(zone, replica, epoch), in: tables.replicas) { writer in
      writer.append(varint: UInt64(parent.replica.rawValue))
      writer.append(varint: UInt64(parent.epoch))
      writer.append(varint: parent.sequence)
    }
    source.forgetLineages()
  }

  /// Removes a lane's parent, after its first transaction was removed from the log.
  func removeParent(of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber) throws {
    let key = TableKey.lineage(zone, replica, epoch)
    if try transaction.delete(key.span, in: tables.replicas) { source.forgetLineages() }
  }

  /// Notes that this store ships a lane.
  func adopt(_ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber) throws {
    try source.putChecked(.adoptedLane(zone, replica, epoch), in: tables.replicas) { _ in }
  }

  /// Drops the adopted lanes with nothing pending.
  func dropShipped(of zone: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    for (replica, epoch) in try adopted(of: zone) {
      try dropIfShipped(replica, epoch, of: zone, incarnation)
    }
  }

  /// Drops a lane if it is an adopted one with nothing pending.
  func dropIfShipped(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws {
    let key = TableKey.adoptedLane(zone, replica, epoch)
    guard try transaction.contains(key.span, in: tables.replicas) else { return }
    let last = try source.lastSequence(of: replica, epoch, in: zone)
    guard try placements.lastPlaced(replica, epoch, in: zone, incarnation) >= last else { return }
    _ = try transaction.delete(key.span, in: tables.replicas)
    _ = try transaction.delete(TableKey.heldLane(zone, replica, epoch).span, in: tables.replicas)
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    try removeContest(of: lane)
    try source.formerTimes.forget(lane)
  }

  /// Closes a lane at an offset, unless it is closed at an earlier one. Its placements from the offset on are
  /// removed.
  ///
  /// - Returns: whether there were any.
  @discardableResult
  func close(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber,
    at offset: UInt64
  ) throws -> Bool {
    let known = try closure(of: replica, epoch, in: zone, incarnation)
    if known.map({ offset < $0 }) ?? true {
      try source.putChecked(.closedLane(zone, incarnation, replica, epoch), in: tables.replicas) {
        $0.append(varint: offset)
      }
    }
    return try placements.takeBack(replica, epoch, of: zone, incarnation, from: offset)
  }

  /// Opens the lanes again that an incarnation's log closed at or after an offset.
  func takeBackClosures(of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64) throws {
    let prefix = TableKey.rows(.closedLanes, of: zone, incarnation)
    var closed: [TableKey] = []
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, row in
      var reader = ByteReader(try CheckedRow.content(of: row, under: key))
      if try reader.readVarint("lane.closed") >= offset {
        let replica = ReplicaNumber(rawValue: try key.bigEndian32(at: 9))
        closed.append(.closedLane(zone, incarnation, replica, try key.bigEndian32(at: 13)))
      }
      return true
    }
    for key in closed { _ = try transaction.delete(key.span, in: tables.replicas) }
  }

  func setContest(_ lane: Lane, _ contested: ContestedLane) throws {
    try source.putChecked(.contestedLane(lane.zone, lane.replica, lane.epoch), in: tables.replicas) {
      $0.append(varint: contested.first)
      $0.append(varint: contested.offset)
      $0.append(varint: contested.baseMax)
    }
  }

  /// Forgets which lanes of a zone have another branch in the log. Lanes that had seen what the log does not
  /// have stay contested: their bases have not changed.
  func removeBranches(of zone: ZoneNumber, _ token: ZoneRow.Token) throws {
    for (replica, epoch) in try names(under: .rows(.contestedLanes, of: zone)) {
      let contested = try contest(of: replica, epoch, in: zone, token)
      if contested?.isByBase == true { continue }
      try removeContest(of: Lane(zone: zone, replica: replica, epoch: epoch))
    }
  }

  func removeContest(of lane: Lane) throws {
    let key = TableKey.contestedLane(lane.zone, lane.replica, lane.epoch)
    _ = try transaction.delete(key.span, in: tables.replicas)
  }

  /// Removes all rows of one kind that belong to a zone.
  func removeRows(_ kind: LaneRowKind, of zone: ZoneNumber) throws {
    let prefix = TableKey.rows(kind, of: zone)
    let bytes = prefix.span.bytes
    var cursor = try transaction.openCursor(tables.replicas)
    while try cursor.seek(atOrAfter: prefix.span), cursor.withEntry({ key, _ in key.hasPrefix(bytes) }) {
      try cursor.deleteCurrent()
    }
  }
}
