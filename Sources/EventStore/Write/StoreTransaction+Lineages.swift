import LMDB
import OperationFormat

/// What this store's own and pending lanes continue, and what they have seen.
extension StoreTransaction {
  /// What this store's next transaction of a lane has seen: what the zone has folded, and what the lane's
  /// transaction before it, or the lane's parent, had seen. Who has seen a transaction has seen all that it
  /// had seen: see ``SegmentRejection/base``.
  func base(
    _ row: ZoneRow, after sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ parent: LaneParent?,
    _ zone: ZoneNumber
  ) throws -> BaseNumbers? {
    let before = sequence > 0 ? (replica: replica, epoch: epoch, sequence: sequence) : parent
    guard let before, before.sequence > 0, let incarnation = row.token?.incarnation,
      try storage.lastSequence(of: before.replica, before.epoch, in: zone) >= before.sequence,
      let seen = try storage.base(of: before.replica, before.epoch, before.sequence, in: zone),
      seen.incarnation == incarnation
    else { return row.base }
    if let base = row.base, base.incarnation == incarnation, base.offset >= seen.offset { return base }
    return seen
  }

  /// The part of a parent that this store has: nobody can get removed transactions from it. If nothing is
  /// left of the parent's lane, the parent of that lane.
  func clipped(_ parent: LaneParent, in zone: ZoneNumber) throws -> LaneParent? {
    var at = parent
    // The bound also ends a cycle of damaged rows.
    for _ in 0...Limits.lineageMax {
      let last = try storage.lastSequence(of: at.replica, at.epoch, in: zone)
      if last > 0 { return (at.replica, at.epoch, min(at.sequence, last)) }
      guard let next = try storage.parent(of: at.replica, at.epoch, in: zone) else { return nil }
      at = next
    }
    return nil
  }

  /// Clips what this store's own lane of a zone continues to what is left in the log, after transactions were
  /// taken out of it. Where the lane's first transaction is in the remote log, so is what that names.
  ///
  /// Other pending lanes cannot be changed: the remote log accepts them as they are, or closes them.
  func clipOwnParent(of zone: ZoneNumber, _ row: ZoneRow) throws {
    let epoch = row.ownEpoch(identity)
    guard let incarnation = row.token?.incarnation,
      let own = try storage.replicaNumber(of: identity.replica),
      let parent = try storage.lanes.parent(of: own, epoch, in: zone),
      try storage.placements.lastPlaced(own, epoch, in: zone, incarnation) == 0
    else { return }
    let left = try clipped(parent, in: zone)
    guard left.map({ $0 != parent }) ?? true else { return }
    if let left {
      try storage.lanes.setParent(left, of: own, epoch, in: zone)
    } else {
      try storage.lanes.removeParent(of: own, epoch, in: zone)
    }
  }

  /// The parent that the first transaction of a new lane of this store names.
  ///
  /// A lineage is bounded: see `Limits.lineageMax`. The lane that would be one more names no parent. Its
  /// transactions have seen what the zone has folded instead, and in it what the remote log has of the lanes
  /// before. Who names a parent has seen all that it had seen, also where the log is another one since.
  ///
  /// - Returns: the parent, and the base that the lane's transactions have at least.
  func continuing(
    _ parent: LaneParent?, _ row: ZoneRow, _ zone: ZoneNumber
  ) throws -> (parent: LaneParent?, base: BaseNumbers?) {
    guard let parent = try parent.flatMap({ try clipped($0, in: zone) }) else { return (nil, nil) }
    let before = try storage.lineage(of: parent.replica, parent.epoch, in: zone).count
    guard before < Limits.lineageMax else { return (nil, row.base) }
    let seen = try storage.base(of: parent.replica, parent.epoch, parent.sequence, in: zone)
    return (parent, seen?.incarnation == row.token?.incarnation ? seen : nil)
  }

  /// Whether a transaction with a base has seen all transactions of its zone, except those of its own lane
  /// and of lanes that it continues.
  func seesAll(_ base: BaseNumbers, in zone: ZoneNumber) throws -> Bool {
    guard try storage.segments.areAllSeen(base, in: zone) else { return false }
    // Transactions of adopted lanes have no placement yet, or get one after the base.
    return try !storage.lanes.hasAdopted(of: zone)
  }
}
