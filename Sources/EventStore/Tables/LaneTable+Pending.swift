import LMDB
import OperationFormat

/// A lane with transactions that no remote has, as far as the store knows.
struct PendingLane: Hashable, Sendable {
  var replica: ReplicaNumber
  var epoch: UInt32
  /// The last sequence with a placement in the zone's current remote log; 0 if none has one.
  var placed: UInt64
  /// The last sequence that the store has.
  var last: UInt64

  var count: UInt64 { last - min(placed, last) }
}

extension LaneTable {
  /// Counting lanes reads the pending entries of at most so many adopted lanes; those of the others are read
  /// when they are shipped.
  static var checkedLanesMax: Int { 8 }

  /// The lanes with transactions that no remote has: adopted ones first, then this store's own.
  ///
  /// - Complexity: a few lookups for each lane; reads log entries of ``checkedLanesMax`` adopted lanes and of
  ///   the own one.
  func pendingLanes(
    of zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity
  ) throws -> [PendingLane] {
    var lanes = try adopted(of: zone)
    if let own = try replicas.number(of: identity.replica) {
      lanes.append((own, row.ownEpoch(identity)))
    }
    var pending: [PendingLane] = []
    for (index, (replica, epoch)) in lanes.enumerated() {
      let lane = try pendingLane(
        replica, epoch, of: zone, row.token,
        readsEntries: pending.count < Self.checkedLanesMax || index == lanes.count - 1)
      if lane.count > 0 { pending.append(lane) }
    }
    return pending
  }

  /// The pending part of a lane.
  ///
  /// - Parameter readsEntries: whether to read its first and last entry in the log, as a check.
  func pendingLane(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ token: ZoneRow.Token?,
    readsEntries: Bool = true
  ) throws -> PendingLane {
    let placed = try token.map { try placements.lastPlaced(replica, epoch, in: zone, $0.incarnation) } ?? 0
    let last = try lastSequence(of: replica, epoch, in: zone)
    try checkPending(
      of: replica, epoch, in: zone, placed: placed, last: last, readsEntries: readsEntries)
    return PendingLane(replica: replica, epoch: epoch, placed: placed, last: last)
  }

  /// How many transactions of a zone this store has to ship: its own, and those of adopted lanes.
  func pendingCount(
    in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity
  ) throws -> UInt64 {
    try pendingLanes(of: zone, row, identity).reduce(0) { $0 + $1.count }
  }

  /// Checks that what the store keeps of its unsent work is consistent, so that damage never reads as
  /// “nothing to send”: the last placed sequence is not after the last one, and the first and last pending
  /// entry are in the log where `sequences` says. The entries between are read when they are cut.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads at most two entries, and none if nothing is pending.
  func checkPending(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, placed: UInt64, last: UInt64,
    readsEntries: Bool = true
  ) throws {
    guard placed <= last else {
      throw StoreError.unmatched(
        "sequence \(placed) is in the remote log, and the last one here is \(last)")
    }
    guard placed < last, readsEntries else { return }
    for sequence in Set([placed + 1, last]) {
      guard let position = try log.position(of: replica, epoch, sequence, in: zone) else {
        throw StoreError.unmatched("sequence \(sequence) of \(last), which was not sent, has no position")
      }
      guard case .entry(let found) = try log.find(position, { header, _ in header }), found.zone == zone,
        found.replica == replica, found.epoch == epoch,
        found.sequence == sequence
      else {
        throw StoreError.unmatched("sequence \(sequence), which was not sent, is not at position \(position)")
      }
    }
  }

  /// Whether this store ships a lane: its own, or an adopted one.
  func ships(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity
  ) throws -> Bool {
    if epoch == row.ownEpoch(identity),
      try replicas.number(of: identity.replica) == replica
    {
      return true
    }
    return try transaction.contains(TableKey.adoptedLane(zone, replica, epoch).span, in: tables.replicas)
  }
}

extension StoreError {
  static func unmatched(_ what: String) -> StoreError {
    StoreError(.damaged, "the store's sync state does not fit its log: \(what)", hint: damageHint)
  }
}
