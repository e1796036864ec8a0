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

/// The kinds of rows of `replicas` that are a zone's: the first byte of their keys.
enum LaneRowKind: UInt8, CaseIterable {
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
  static func lanesOfZone(_ zone: ZoneNumber) -> [TableKey] {
    LaneRowKind.allCases.map { rows($0, of: zone) }
  }

  /// The beginning of a zone's rows of one kind.
  static func rows(_ kind: LaneRowKind, of zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(kind.rawValue)
    key.append(zone)
    return key
  }

  /// The same of one incarnation of the zone's log.
  static func rows(
    _ kind: LaneRowKind, of zone: ZoneNumber, _ incarnation: IncarnationNumber
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
