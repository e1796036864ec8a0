import LMDB
package import OperationFormat

/// What becomes of transactions that a store was to ship for another one, and whose lane the log has closed or contests.
package enum ClosedLaneAnswer: Hashable, Sendable {
  /// The store that wrote them is gone: they become this store's, with their own bases and timestamps.
  case takeOver
  /// The store that wrote them issues them again itself: they go here.
  case letGo
}

extension LocalStore {
  /// Settles what is pending in a zone of lanes that are not this store's own, such as those of a log that it imported,
  /// and that the remote log has closed, or has another branch of: nobody can ship it as it is. ``finishRenewal()`` is to be called afterwards.
  ///
  /// If the store that wrote them issues them again and this one takes them over, they count twice: who decides must
  /// know of it.
  ///
  /// - Returns: how many transactions were taken over, or let go.
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func settleClosedLanes(of zone: ZoneID, _ answer: ClosedLaneAnswer) async throws -> Int {
    try await finishRenewal()
    return try await perform(isRepeatable: true) { try $0.settleClosedLanes(of: zone, answer) }
  }
}

extension WriteBatch {
  fileprivate func settleClosedLanes(of zone: ZoneID, _ answer: ClosedLaneAnswer) throws -> Int {
    let (number, row) = try storage.zone(zone)
    guard let token = row.token else { return 0 }
    try checkNamesAreNew(of: number)
    var count = 0
    for found in try storage.tables.adoptedLanes(of: number, storage.transaction) {
      let lane = try storage.tables.pendingLane(
        found.replica, found.epoch, of: number, token, storage.transaction)
      let closure = try storage.tables.closure(
        of: lane.replica, lane.epoch, in: number, token.incarnation, storage.transaction)
      let contested = try storage.tables.contest(
        of: lane.replica, lane.epoch, in: number, token, storage.transaction)
      guard lane.count > 0, closure != nil || contested != nil else { continue }
      let first = closure != nil ? lane.placed + 1 : max(lane.placed + 1, contested?.first ?? 0)
      count += try settle(lane, from: first, contested?.baseMax ?? .max, number, row, token, answer)
    }
    if count > 0 {
      try storage.removeContests(of: number)
      try storage.removeCut(of: number)
      try storage.dropShippedLanes(of: number, token.incarnation)
      try foldAgain()
    }
    return count
  }

  private func settle(
    _ lane: PendingLane, from first: UInt64, _ baseMax: UInt64, _ zone: ZoneNumber, _ row: ZoneRow,
    _ token: ZoneRow.Token, _ answer: ClosedLaneAnswer
  ) throws -> Int {
    let tables = storage.tables
    let own = try storage.interned.replicas.makeNumber(
      for: identity.replica, in: tables.replicas, storage.transaction)
    let maker = UnitMaker(replica: try storage.replicaID(lane.replica), epoch: lane.epoch)
    let (lost, found) = try renamed(
      try entries(first, of: lane, zone), lane, maker, try storage.zoneRow(zone).state)
    // What this store wrote since may continue the lane, and name its units.
    let present = try tables.pendingLane(own, row.ownEpoch(identity), of: zone, token, storage.transaction)
    var ownEntries = present.placed == 0 ? try entries(1, of: present, zone) : []
    let former = try storage.lineage(of: lane.replica, lane.epoch, in: zone).first.map {
      (replica: $0.replica, epoch: $0.epoch, sequence: $0.through)
    }
    let (before, seen) = try continuing(
      first > 1 ? (lane.replica, lane.epoch, first - 1) : former, row, zone)
    var last = before
    var renaming = found
    let epoch = try nextEpoch(of: own, zone, token.incarnation)
    if answer == .takeOver {
      last = (own, epoch, UInt64(lost.count))
      renaming.new = UnitMaker(replica: identity.replica, epoch: epoch)
      ownEntries = try renamed(ownEntries, [renaming])
    }
    try takeOut(lost.map(\.position), first, of: lane, zone)
    if first == 1 { try storage.removeParent(of: lane.replica, lane.epoch, in: zone) }
    if answer == .takeOver {
      if let before { try storage.setParent(before, of: own, epoch, in: zone) }
      try append(lost, as: own, epoch, before, atLeast: seen) { base in
        guard base.incarnation == token.incarnation else { return base }
        return baseMax == 0 ? nil : (base.incarnation, min(base.offset, baseMax))
      }
      storage.forgetSequences()
      try storage.adoptLane(own, epoch, of: zone)
      try note(
        found, from: first, of: Lane(zone: zone, replica: lane.replica, epoch: lane.epoch),
        as: Lane(zone: zone, replica: own, epoch: epoch))
    }
    guard present.placed == 0 else { return lost.count }
    try takeOut(ownEntries.map(\.position), 1, of: present, zone)
    var parent = try storage.lineage(of: own, present.epoch, in: zone).first.map {
      (replica: $0.replica, epoch: $0.epoch, sequence: $0.through)
    }
    var seenAfter: BaseNumbers?
    if let known = parent, known.replica == lane.replica, known.epoch == lane.epoch,
      known.sequence >= first
    {
      (parent, seenAfter) = try continuing(last, row, zone)
      try storage.removeParent(of: own, present.epoch, in: zone)
      if let parent { try storage.setParent(parent, of: own, present.epoch, in: zone) }
    }
    try append(ownEntries, as: own, present.epoch, parent, atLeast: seenAfter)
    storage.forgetSequences()
    return lost.count
  }
}
