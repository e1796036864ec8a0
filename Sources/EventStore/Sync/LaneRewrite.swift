import LMDB
import OperationFormat

/// Issues transactions again, as those of new lanes, where the log does not take them as they are.
struct LaneRewrite {
  /// The part of one of this store's lanes that the log does not take: all from a sequence on.
  struct LaneCut {
    var lane: PendingLane
    var first: UInt64
    /// Where the log has another branch of it; nil where it takes no more.
    var branch: BaseNumbers?
  }

  /// A part of a lane that is now another lane, or was let go.
  struct Moved {
    var old: Lane
    var first: UInt64
    /// Nil if it was let go.
    var new: Lane?
    /// What it continued.
    var before: LaneParent?
  }

  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  init(_ store: StoreTransaction) { self.store = store }

  /// Issues again, under a new epoch, what the log does not take of one of this store's own lanes.
  ///
  /// The log takes no more of a lane where it has rejected a segment of it, or has another branch of it: the
  /// store was copied, restored from a backup, or somebody else wrote under its identity. Transactions that
  /// both branches have keep their identity.
  ///
  /// - Returns: how many transactions were issued again; nil if no lane is closed or contested.
  func renewLane(of zone: ZoneID, contestedBy segment: RemoteSegment?) throws -> Int? {
    let (number, known) = try storage.zones.visible(zone)
    guard let token = known.token else { return nil }
    for lane in try ownLanes(of: number, known, token) {
      guard let cut = try cut(of: lane, number, token.incarnation, segment) else { continue }
      return try issueAgain([cut], of: number)
    }
    return nil
  }

  /// The part of an own lane that the log cannot take; nil if it can take all.
  private func cut(
    of lane: PendingLane, _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ segment: RemoteSegment?
  ) throws -> LaneCut? {
    if try storage.lanes.closure(of: lane.replica, lane.epoch, in: zone, incarnation) != nil {
      return LaneCut(lane: lane, first: lane.placed + 1)
    }
    if try storage.lanes.namesClippedParent(lane.replica, lane.epoch, in: zone, incarnation) {
      return LaneCut(lane: lane, first: 1)
    }
    let id = StoreIdentity(replica: identity.replica, epoch: lane.epoch)
    guard let segment, let first = try firstDifferent(from: lane, id, zone, in: segment) else { return nil }
    return LaneCut(lane: lane, first: first, branch: (incarnation, segment.offset))
  }

  /// This store's lanes of a zone that have pending transactions, each after the one that it continues. The
  /// present lane comes last, also if nothing of it is pending.
  func ownLanes(of zone: ZoneNumber, _ row: ZoneRow, _ token: ZoneRow.Token) throws -> [PendingLane] {
    let own = try storage.replicas.makeNumber(for: identity.replica)
    let earlier = try storage.lanes.adopted(of: zone).filter { $0.replica == own }
    return try (earlier + [(own, row.ownEpoch(identity))]).map {
      try storage.lanes.pendingLane($0.replica, $0.epoch, of: zone, token)
    }
  }

  /// Removes parts of this store's lanes from the log, and appends them as lanes of new epochs: with their
  /// own bases and timestamps, so that their meaning stays the same. ``LocalStore/finishRenewal()`` is to be
  /// called afterwards.
  ///
  /// A lane that continues a removed part is issued again too, since its first transaction names that part.
  ///
  /// - Parameter cuts: in the order of ``ownLanes(of:_:_:)``.
  /// - Returns: how many transactions were issued again.
  func issueAgain(_ cuts: [LaneCut], of zone: ZoneNumber) throws -> Int {
    try store.checkNamesAreNew(of: zone)
    var row = try storage.zoneRow(zone)
    guard let token = row.token else { return 0 }
    var moved: [Moved] = []
    var renamings = UnitRenamings()
    var count = 0
    for lane in try ownLanes(of: zone, row, token) {
      let old = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
      let former = try storage.parent(of: lane.replica, lane.epoch, in: zone)
      let parent = former.flatMap { Self.parent($0, after: moved) }
      let continues = lane.placed == 0 && parent?.epoch != former?.epoch
      let cut = cuts.first { $0.lane.epoch == lane.epoch }
      guard let first = continues ? 1 : cut?.first else { continue }
      let new = Lane(
        zone: zone, replica: lane.replica, epoch: try nextEpoch(of: lane.replica, zone, token.incarnation))
      let (lost, found) = try renamed(
        try entries(first, of: lane, zone), lane,
        UnitMaker(replica: identity.replica, epoch: lane.epoch), row.state, after: renamings)
      try takeOut(lost.map(\.position), first, of: lane, zone)
      try moveOn(old, lane, first, isPresent: lane.epoch == row.ownEpoch(identity), new, &row)
      let (continued, seen) = try store.continuing(
        first > 1 ? (lane.replica, lane.epoch, first - 1) : parent, row, zone)
      if let continued { try storage.lanes.setParent(continued, of: new.replica, new.epoch, in: zone) }
      try append(lost, as: new.replica, new.epoch, continued, atLeast: seen)
      moved.append(Moved(old: old, first: first, new: new))
      guard !lost.isEmpty else { continue }
      try noteReissue(of: old, from: first, lost.count, cut?.branch, as: new)
      try note(found, from: first, of: old, as: new)
      var renaming = found
      renaming.new = UnitMaker(replica: identity.replica, epoch: new.epoch)
      renamings.add(renaming)
      count += lost.count
    }
    if count > 0 { try Rebuild(store).refold(zone) }
    return count
  }

  /// Makes this store ship a new lane instead of an old one, after what is left of the old one.
  private func moveOn(
    _ old: Lane, _ lane: PendingLane, _ first: UInt64, isPresent: Bool, _ new: Lane, _ row: inout ZoneRow
  ) throws {
    if first == 1 { try storage.lanes.removeParent(of: old.replica, old.epoch, in: old.zone) }
    // What both branches have stays pending under the old epoch, and is shipped first.
    if lane.placed < first - 1 {
      try storage.lanes.adopt(old.replica, old.epoch, of: old.zone)
    } else {
      let key = TableKey.adoptedLane(old.zone, old.replica, old.epoch)
      _ = try storage.transaction.delete(key.span, in: storage.tables.replicas)
    }
    if isPresent {
      row.renewals = new.epoch &- identity.epoch
      storage.setZoneRow(row, old.zone)
    } else {
      try storage.lanes.adopt(new.replica, new.epoch, of: old.zone)
    }
    try storage.zones.removeCut(of: old.zone)
  }

  /// What a lane continues, after parts of lanes have become others or were let go.
  static func parent(_ parent: LaneParent, after moved: [Moved]) -> LaneParent? {
    for move in moved
    where move.old.replica == parent.replica && move.old.epoch == parent.epoch
      && parent.sequence >= move.first
    {
      guard let new = move.new else { return move.before }
      return (new.replica, new.epoch, parent.sequence - (move.first - 1))
    }
    return parent
  }
}
