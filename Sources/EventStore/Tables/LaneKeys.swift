import OperationFormat

// What a store keeps of lanes besides their transactions. All are rows of the table `replicas`; *lane* stands
// for zone (4), replica (4), epoch (4):
//
// | key | value | what |
// |---|---|---|
// | 2, lane | varint ×3 | the lane's parent: `LaneTable.parent` |
// | 3, zone (4), incarnation (4), replica (4), epoch (4) | varint | the offset that closed the lane |
// | 4, lane | nothing | this store ships the lane, which is not its current own lane |
// | 5, zone (4), incarnation (4), offset (8) | nothing | a rejected segment; its row in `segments` says why |
// | 6, zone (4), 0 (4), 0 (4) | varint ×2, 1 | the zone's log is being read again: `Rereading`; the last if it parted |
// | 6, lane | nothing | an adopted lane of another store that lost placements by the rereading; if the log parted, until it is shipped |
// | 7, zone (4), incarnation (4), offset (8) | `SegmentRow` | what was folded there before the rereading |
// | 8, lane | varint ×3 | the lane has another name in the log: `LaneRenaming` |
// | 9, lane, record number (4), cell (4) | varint | how many units of the lane there keep their names |
// | 10, lane | varint ×3 | an adopted lane that cannot be shipped as it is: `ContestedLane` |
// | 11, lane | varint ×2 | up to which sequence the log does not have the lane any more, and that one's timestamp |
// | 12, lane, sequence (8) | varint ×2 | from there on, the base of what the log does not have any more |
// | 13, lane, last sequence (8) | varint ×3 | from a first sequence on, up to where they have seen a log: `BaseLimits` |
// | 14, lane, sequence (8) | varint | the floor that the transaction names: `LogFloors` |
// | 15, lane | `ReissuedLane` | what the lane was before this store issued it again |
// | 16, lane, last sequence (8) | varint ×2 | from a first sequence on, when they were received: `FormerReceiveTimes` |
// | 17, zone (4), incarnation (4), offset (8) | varint | the floor that counts from the entry there on |
// | 18, zone (4) | content hash (32) | of the zone's origin, while the store knows entries that it does not name: `FoldedEntries` |

/// The kinds of rows of `replicas` that belong to a zone: the first byte of their keys.
enum LaneRowKind: UInt8, CaseIterable {
  case lineages = 2
  case closedLanes = 3
  case adoptedLanes = 4
  case rejectedSegments = 5
  /// Kept while a log is read again.
  case heldLanes = 6
  case formerSegments = 7
  /// Kept until the log was folded again.
  case renamedLanes = 8
  case keptUnits = 9
  case contestedLanes = 10
  case retiredLanes = 11
  case retiredBases = 12
  case baseLimits = 13
  case floors = 14
  case reissuedLanes = 15
  case formerTimes = 16
  case countedFloors = 17
  /// Kept until the work is done.
  case foldedEntries = 18
  case neededSnapshots = 19
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
    rows(.rejectedSegments, of: zone, incarnation).appending(offset)
  }

  /// The key prefixes of all rows of `replicas` that belong to a zone.
  static func lanesOfZone(_ zone: ZoneNumber) -> [TableKey] {
    LaneRowKind.allCases.map { rows($0, of: zone) }
  }

  /// The key prefix of a zone's rows of one kind.
  static func rows(_ kind: LaneRowKind, of zone: ZoneNumber) -> TableKey {
    var key = TableKey()
    key.append(kind.rawValue)
    key.append(zone)
    return key
  }

  /// The same for one incarnation of the zone's log.
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

  func appending(_ offset: UInt64) -> TableKey {
    var key = self
    key.append(offset)
    return key
  }
}

extension Lane {
  /// The lane in the key of a row of `replicas` of a zone.
  init(from key: RawSpan, in zone: ZoneNumber) throws {
    self.init(
      zone: zone, replica: ReplicaNumber(rawValue: try key.bigEndian32(at: 5)),
      epoch: try key.bigEndian32(at: 9))
  }
}
