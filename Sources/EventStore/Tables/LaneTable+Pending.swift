import LMDB
import OperationFormat

/// Transactions of one lane that no remote has, as far as the store knows.
package struct PendingLane: Hashable, Sendable {
  package var replica: ReplicaNumber
  package var epoch: UInt32
  /// The last sequence that has a place in the zone's present remote log; 0 if none has.
  package var placed: UInt64
  /// The last sequence that the store has.
  package var last: UInt64

  package var count: UInt64 { last - min(placed, last) }
}

extension LaneTable {
  /// Of so many adopted lanes the pending entries are looked up when lanes are counted; those of the others when it is
  /// their turn to be shipped.
  static var checkedLanesMax: Int { 8 }

  /// The lanes with transactions that no remote has: adopted ones first, then this store's own.
  ///
  /// - Complexity: a few look-ups a lane; entries of the log are read of ``checkedLanesMax`` adopted ones and the own one.
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

  /// What is pending of a lane.
  ///
  /// - Parameter readsEntries: whether the first and the last of it are looked up in the log.
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

  /// How many transactions of a zone this store is still to ship: its own, and those of lanes that it has adopted.
  func pendingCount(
    in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity
  ) throws -> UInt64 {
    try pendingLanes(of: zone, row, identity).reduce(0) { $0 + $1.count }
  }

  /// Compares the last sequence of an own lane, the last that is placed in a remote log, and the log: what was placed
  /// was written, and of what is pending the first and the last lie in the log where `sequences` says. What lies between
  /// is read when it is cut.
  ///
  /// - Throws: ``StoreError`` `damaged`.
  /// - Complexity: reads two entries at most, and none where nothing is pending, or they are not to be read.
  func checkPending(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, placed: UInt64, last: UInt64,
    readsEntries: Bool = true
  ) throws {
    guard placed <= last else {
      throw StoreError.unmatched(
        "sequence \(placed) lies in the remote log, and the last one here is \(last)")
    }
    guard placed < last, readsEntries else { return }
    for sequence in Set([placed + 1, last]) {
      guard let position = try log.position(of: replica, epoch, sequence, in: zone) else {
        throw StoreError.unmatched("sequence \(sequence) of \(last), which was not sent, has no position")
      }
      let found = try transaction.withValue(of: TableKey.log(position).span, in: tables.log) { row in
        try LogEntryCodec.read(row, at: position).header
      }
      guard let found, found.zone == zone, found.replica == replica, found.epoch == epoch,
        found.sequence == sequence
      else {
        throw StoreError.unmatched("sequence \(sequence), which was not sent, is not at position \(position)")
      }
    }
  }

  /// Whether a lane is this store's to ship: its own, or one that it has adopted.
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
