import LMDB
import OperationFormat

/// The rows of lanes: their last sequences, their parents, and which of them this store ships.
struct LaneTable<Source: TableReading>: TableView {
  let source: Source

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if none.
  func lastSequence(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> UInt64 {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    return max(try log.lastSequenceRun(of: lane)?.last ?? 0, try retired(lane))
  }

  /// The parent of a lane; nil if it has none.
  func parent(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> LaneParent? {
    try transaction.withCheckedValue(of: TableKey.lineage(zone, replica, epoch), in: tables.replicas) { row in
      var reader = ByteReader(row)
      return (
        replica: ReplicaNumber(rawValue: try reader.readUInt32Varint("parent")),
        epoch: try reader.readUInt32Varint("parent.epoch"), sequence: try reader.readVarint("row")
      )
    }
  }

  /// The lanes that a lane continues, nearest first, each with the last sequence that the lane holds of it.
  /// At most `Limits.lineageMax`.
  func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> [LaneParent] {
    var lineage: [LaneParent] = []
    var at = (replica: replica, epoch: epoch)
    // The bound also ends a cycle of damaged rows.
    while lineage.count < Limits.lineageMax,
      let parent = try parent(of: at.replica, at.epoch, in: zone)
    {
      lineage.append(parent)
      at = (parent.replica, parent.epoch)
    }
    return lineage
  }

  /// The offset at which an incarnation of a zone's log closed a lane; nil if the lane is open.
  func closure(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> UInt64? {
    let key = TableKey.closedLane(zone, incarnation, replica, epoch)
    return try transaction.withCheckedValue(of: key, in: tables.replicas) { row in
      var reader = ByteReader(row)
      return try reader.readVarint("lane.closed")
    }
  }

  /// The lanes that this store ships besides its current own one: those of an imported log, and its own of
  /// earlier epochs.
  func adopted(of zone: ZoneNumber) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    try names(under: .adoptedLanes(zone))
  }

  /// Whether the store ships lanes of a zone besides its current own one.
  func hasAdopted(of zone: ZoneNumber) throws -> Bool {
    try transaction.hasEntry(in: tables.replicas, under: TableKey.adoptedLanes(zone).span.bytes)
  }

  /// The lanes named by the rows whose keys begin with a prefix: a kind and a zone.
  func names(under prefix: TableKey) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    var found: [(replica: ReplicaNumber, epoch: UInt32)] = []
    try transaction.forEachEntry(in: tables.replicas, under: prefix.span.bytes) { key, _ in
      found.append((ReplicaNumber(rawValue: try key.bigEndian32(at: 5)), try key.bigEndian32(at: 9)))
      return true
    }
    return found
  }

  /// How far a zone's log is being read again; nil if it is not.
  func rereading(of zone: ZoneNumber) throws -> Rereading? {
    try transaction.withCheckedValue(of: .rereading(zone), in: tables.replicas) { row in
      var reader = ByteReader(row)
      let first = try reader.readVarint("rereading")
      // An earlier version wrote only the first offset.
      let seen = reader.remaining > 0 ? try reader.readVarint("rereading") : .max
      return Rereading(first: first, seen: seen, isParted: reader.remaining > 0)
    }
  }

  /// The adopted lanes of other stores that lost placements by a rereading.
  func held(of zone: ZoneNumber) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    try names(under: .heldLanes(zone)).filter { $0.replica != .none }
  }

  /// Those of them that an incarnation's log has closed.
  func closedHeld(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    try held(of: zone).filter { try closure(of: $0.replica, $0.epoch, in: zone, incarnation) != nil }
  }

  /// Why a lane cannot be shipped as it is; nil if it can.
  func contest(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ token: ZoneRow.Token
  ) throws -> ContestedLane? {
    let key = TableKey.contestedLane(zone, replica, epoch)
    let found = try transaction.withCheckedValue(of: key, in: tables.replicas) { row in
      var reader = ByteReader(row)
      return ContestedLane(
        first: try reader.readVarint("contested.first"), offset: try reader.readVarint("contested.offset"),
        baseMax: try reader.readVarint("contested.base"))
    }
    return found.flatMap { $0.offset > token.offset ? $0 : nil }
  }

  /// The lanes of a zone: how many transactions of each the log has, and the last sequence that the log or the snapshot has
  /// that the zone begins with.
  func countedLanes(
    of zone: ZoneNumber
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32, count: UInt64, last: UInt64)] {
    var lanes: [(replica: ReplicaNumber, epoch: UInt32, count: UInt64, last: UInt64)] = []
    var cursor = try transaction.openCursor(tables.sequences)
    let start = TableKey.state(StateNumber(rawValue: zone.rawValue))
    var isThere = try cursor.seek(atOrAfter: start.span)
    while isThere {
      let found = try cursor.withEntry { key, _ in
        (
          try key.bigEndian32(at: 0), try key.bigEndian32(at: 4), try key.bigEndian32(at: 8),
          try key.bigEndian64(at: 12)
        )
      }
      guard found.0 == zone.rawValue else { break }
      let replica = ReplicaNumber(rawValue: found.1)
      let last = try lastSequence(of: replica, found.2, in: zone)
      // Sequences are gapless from the first that the log still has.
      let (count, overflows) = (last &- found.3).addingReportingOverflow(1)
      lanes.append((replica, found.2, overflows ? .max : count, last))
      let next = TableKey.sequence(zone, replica, found.2, .max)
      isThere = try cursor.seek(to: next.span) ? cursor.next() : cursor.seek(atOrAfter: next.span)
    }
    for lane in try retiredLanes(of: zone)
    where !lanes.contains(where: { $0.replica == lane.replica && $0.epoch == lane.epoch }) {
      lanes.append((lane.replica, lane.epoch, 0, try retired(lane)))
    }
    return lanes
  }
}
