import LMDB
import OperationFormat

// The rows of a zone whose log is being read again: see `LaneKeys.swift`.

/// How far a zone's log is being read again.
struct Rereading {
  /// The first offset that is read again.
  var first: UInt64
  /// The greatest base that an earlier transaction may have.
  var seen: UInt64
  /// Whether the log has lost what was there, and has something else in its place: then what it lacks is offered again.
  var isParted = false
}

extension TableKey {
  static func heldLane(_ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32) -> TableKey {
    heldLanes(zone).appending(replica, epoch)
  }

  static func heldLanes(_ zone: ZoneNumber) -> TableKey { rows(.heldLanes, of: zone) }

  static func formerSegment(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ offset: UInt64
  ) -> TableKey {
    rows(.formerSegments, of: zone, incarnation).appending(offset)
  }

  static func rereading(_ zone: ZoneNumber) -> TableKey { heldLane(zone, .none, 0) }
}

extension LaneTable where Source == TableStorage {
  func setRereading(_ rereading: Rereading, of zone: ZoneNumber) throws {
    try source.putChecked(.rereading(zone), in: tables.replicas) {
      $0.append(varint: rereading.first)
      $0.append(varint: rereading.seen)
      if rereading.isParted { $0.append(varint: 1) }
    }
  }

  func hold(_ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber) throws {
    try source.putChecked(.heldLane(zone, replica, epoch), in: tables.replicas) { _ in }
  }

  /// Removes the rows of a zone's rereading.
  ///
  /// - Parameter keepsHeld: whether it stays known which lanes of others lost placements, until they are shipped.
  func removeRereading(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, keepsHeld: Bool
  ) throws {
    var former: [UInt64] = []
    try segments.forEachFormer(in: zone, incarnation) { offset, _ in former.append(offset) }
    for offset in former {
      let key = TableKey.formerSegment(zone, incarnation, offset)
      _ = try transaction.delete(key.span, in: tables.replicas)
    }
    if !keepsHeld { return try removeRows(.heldLanes, of: zone) }
    _ = try transaction.delete(TableKey.rereading(zone).span, in: tables.replicas)
  }
}
