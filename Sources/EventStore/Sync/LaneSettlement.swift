import LMDB
import OperationFormat

/// What becomes of transactions that a store was to ship for another one, and whose lane the log has closed
/// or contests.
package enum ClosedLaneAnswer: Hashable, Sendable {
  /// The store that wrote them is gone: they become this store's, with their own bases and timestamps.
  case takeOver
  /// The store that wrote them issues them again itself: they are removed here.
  case letGo
}

/// Settles lanes of other stores that this store was to ship, and that the log does not take.
struct LaneSettlement {
  /// What is settled in one commit: lanes of others that the log does not take, and what continues them.
  private struct Settlement {
    let zone: ZoneNumber
    let row: ZoneRow
    let token: ZoneRow.Token
    let answer: ClosedLaneAnswer
    let own: ReplicaNumber
    var moved: [LaneRewrite.Moved] = []
    var renamings = UnitRenamings()
    /// This store's own lanes that come behind what was settled, under their own names.
    var rewritten: Set<Lane> = []
    var count = 0
  }

  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  var laneRewrite: LaneRewrite { LaneRewrite(store) }

  init(_ store: StoreTransaction) { self.store = store }

  /// Settles what is pending of lanes of others, such as those of a log that the store imported, and that the
  /// remote log has closed, or has another branch of. Lanes that continue it are settled in the same commit.
  ///
  /// If the store that wrote them issues them again and this one takes them over, they count twice: the user
  /// who decides must know of it.
  ///
  /// - Parameter onlyFormers: whether only lanes are settled that this store wrote under a former identity.
  /// - Returns: how many transactions were taken over, or let go.
  func settleClosedLanes(
    of zone: ZoneID, _ answer: ClosedLaneAnswer, onlyFormers: Bool = false
  ) throws -> Int {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token else { return 0 }
    var refused = try storage.lanes.refusedLanes(of: number, token, but: identity)
    if onlyFormers { refused = try storage.lanes.formerLanes(of: refused, in: number) }
    guard !refused.isEmpty else { return 0 }
    try store.checkNamesAreNew(of: number)
    let own = try storage.replicas.makeNumber(for: identity.replica)
    let ownLanes = try laneRewrite.ownLanes(of: number, row, token)
    var settlement = Settlement(zone: number, row: row, token: token, answer: answer, own: own)
    for found in refused { try settle(found.lane, found.refusal, &settlement) }
    for lane in ownLanes { try rewrite(lane, &settlement) }
    for found in refused {
      try storage.lanes.removeContest(
        of: Lane(zone: number, replica: found.lane.replica, epoch: found.lane.epoch))
    }
    try storage.zones.removeCut(of: number)
    try storage.lanes.dropShipped(of: number, token.incarnation)
    try Rebuild(store).refold(number)
    return settlement.count
  }

  /// Removes the part of a lane that the log does not take from the store's log. If it is taken over, it is
  /// appended at the end, as a lane of this store.
  private func settle(
    _ lane: PendingLane, _ refusal: LaneRefusal, _ settlement: inout Settlement
  ) throws {
    let (zone, token, first) = (settlement.zone, settlement.token, refusal.first)
    let old = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
    let maker = UnitMaker(replica: try storage.replicaID(lane.replica), epoch: lane.epoch)
    let former = try storage.parent(of: old.replica, old.epoch, in: zone)
    let before: LaneParent? =
      first > 1
      ? (lane.replica, lane.epoch, first - 1)
      : former.flatMap { LaneRewrite.parent($0, after: settlement.moved) }
    let (continued, seen) = try store.continuing(before, settlement.row, zone)
    let (lost, found) = try laneRewrite.renamed(
      try laneRewrite.entries(first, of: lane, zone), lane, maker, settlement.row.state,
      after: settlement.renamings)
    if settlement.answer == .letGo { for one in lost { try store.uncountAssets(at: one.position, in: zone) } }
    try laneRewrite.takeOut(lost.map(\.position), first, of: lane, zone)
    if first == 1 { try storage.lanes.removeParent(of: lane.replica, lane.epoch, in: zone) }
    settlement.count += lost.count
    var moved = LaneRewrite.Moved(old: old, first: first, before: before)
    if settlement.answer == .takeOver {
      let (own, last) = (settlement.own, settlement.moved.last?.new?.epoch)
      let epoch = try laneRewrite.nextEpoch(of: own, zone, token.incarnation, after: last)
      let new = Lane(zone: zone, replica: own, epoch: epoch)
      if let continued { try storage.lanes.setParent(continued, of: own, new.epoch, in: zone) }
      try laneRewrite.append(lost, as: own, new.epoch, continued, atLeast: seen) { base in
        guard base.incarnation == token.incarnation else { return base }
        return refusal.baseMax == 0 ? nil : (base.incarnation, min(base.offset, refusal.baseMax))
      }
      storage.forgetSequences()
      try storage.lanes.adopt(own, new.epoch, of: zone)
      try laneRewrite.noteReissue(of: old, from: first, lost.count, refusal.branch(in: token), as: new)
      try laneRewrite.note(found, from: first, of: old, as: new)
      var renaming = found
      renaming.new = UnitMaker(replica: identity.replica, epoch: new.epoch)
      settlement.renamings.add(renaming)
      moved.new = new
    }
    settlement.moved.append(moved)
  }

  /// Appends one of this store's lanes again, behind what was settled and under the same name, if it
  /// continues that or names units of it. Of such a lane the log has nothing.
  private func rewrite(_ lane: PendingLane, _ settlement: inout Settlement) throws {
    let zone = settlement.zone
    let name = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
    guard lane.placed == 0 else { return }
    let former = try storage.parent(of: name.replica, name.epoch, in: zone)
    var parent = former.flatMap { LaneRewrite.parent($0, after: settlement.moved) }
    let isMoved = former.map { former in parent.map { $0 != former } ?? true } ?? false
    let isBehind =
      former.map {
        settlement.rewritten.contains(Lane(zone: zone, replica: $0.replica, epoch: $0.epoch))
      } ?? false
    let lost = try laneRewrite.entries(1, of: lane, zone)
    let renamed = try laneRewrite.renamed(lost, settlement.renamings)
    guard isMoved || isBehind || zip(lost, renamed).contains(where: { $0.body != $1.body }) else { return }
    try laneRewrite.takeOut(lost.map(\.position), 1, of: lane, zone, comeAgain: true)
    var seen: BaseNumbers?
    if isMoved || isBehind {
      (parent, seen) = try store.continuing(parent, settlement.row, zone)
      try storage.lanes.removeParent(of: lane.replica, lane.epoch, in: zone)
      if let parent { try storage.lanes.setParent(parent, of: lane.replica, lane.epoch, in: zone) }
    }
    try laneRewrite.append(renamed, as: lane.replica, lane.epoch, parent, atLeast: seen)
    storage.forgetSequences()
    settlement.rewritten.insert(name)
  }

  /// Remembers that the log has another branch of a lane that this store imported and is to ship.
  ///
  /// - Returns: what to tell the user; nil if the store ships no such lane.
  static func contestLane(
    of zone: ZoneID, by segment: RemoteSegment, _ core: StoreCore
  ) async throws -> StoreError? {
    let known = Shared<StoreError?>(nil)
    let contested = try await core.performIfChanged {
      try LaneSettlement($0).contestLane(of: zone, by: segment, known)
    }
    return contested ?? known.value
  }

  /// - Parameter known: gets what to tell the user where that was known before.
  /// - Returns: that where it is new.
  private func contestLane(
    of zone: ZoneID, by segment: RemoteSegment, _ known: Shared<StoreError?>
  ) throws -> StoreError? {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token else { return nil }
    let writer = try SegmentRules(storage).lane(of: segment)
    let key = TableKey.adoptedLane(number, writer.number, writer.epoch)
    guard try storage.transaction.contains(key.span, in: storage.tables.replicas) else { return nil }
    let lane = try storage.lanes.pendingLane(writer.number, writer.epoch, of: number, token)
    guard let first = try laneRewrite.firstDifferent(from: lane, writer.id, number, in: segment) else {
      return nil
    }
    let contested = ContestedLane(first: first, offset: segment.offset, baseMax: .max)
    let error = StoreError.contested(lane, contested, zone)
    let before = try storage.lanes.contest(of: writer.number, writer.epoch, in: number, token)
    guard before != contested else {
      known.value = error
      return nil
    }
    try storage.lanes.setContest(Lane(zone: number, replica: writer.number, epoch: writer.epoch), contested)
    return error
  }
}

/// The part of a pending lane that the log does not take.
struct RefusedLane {
  var lane: PendingLane
  var refusal: LaneRefusal
  /// Of the first transaction of that part.
  var position: Position
}

extension LaneTable {
  /// The adopted lanes of others that the log does not take as they are, in the order of the first
  /// transactions of that: a lane comes after what it continues.
  func refusedLanes(
    of zone: ZoneNumber, _ token: ZoneRow.Token, but identity: StoreIdentity
  ) throws -> [RefusedLane] {
    let own = try replicas.number(of: identity.replica)
    var found: [RefusedLane] = []
    for adopted in try adopted(of: zone) where adopted.replica != own {
      let lane = try pendingLane(adopted.replica, adopted.epoch, of: zone, token)
      guard lane.count > 0,
        let refusal = try refusal(of: lane, in: zone, token),
        let position = try log.position(of: lane.replica, lane.epoch, refusal.first, in: zone)
      else { continue }
      found.append(RefusedLane(lane: lane, refusal: refusal, position: position))
    }
    return found.sorted { $0.position < $1.position }
  }

  /// Those of refused lanes that this store wrote under a former identity, and of which the log has another branch; and
  /// what continues them. What the log rejects, or what had seen something that is not there, the store that has the
  /// former identity may issue again itself: the user decides.
  func formerLanes(of refused: [RefusedLane], in zone: ZoneNumber) throws -> [RefusedLane] {
    let formers = Set(try meta.formers())
    var taken: [RefusedLane] = []
    if formers.isEmpty { return taken }
    for found in refused {
      let lane = found.lane
      switch found.refusal.reason {
      case .contested(let contested) where !contested.isByBase:
        if formers.contains(try replicas.identity(of: lane.replica)) { taken.append(found) }
      case .parent:
        let continues = try lineage(of: lane.replica, lane.epoch, in: zone).contains { parent in
          taken.contains {
            $0.lane.replica == parent.replica && $0.lane.epoch == parent.epoch
              && $0.refusal.first <= parent.sequence
          }
        }
        if continues { taken.append(found) }
      default: break
      }
    }
    return taken
  }
}
