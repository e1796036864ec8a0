import LMDB
import OperationFormat

/// Makes a store another replica: one that is a copy of another store, or was put back from a backup.
///
/// Nothing is written under the old identity any more. What was pending under it stays so, with its identity and bytes:
/// this store ships it, as the other one does, and both ship the same. In each zone the new lane continues the old one,
/// or what that continued if nothing was written in it: so it has seen all of it.
struct NewIdentity {
  let storage: TableStorage
  let old: StoreIdentity
  let new: StoreIdentity

  /// To be called with the directory locked: another process may be about to do the same.
  ///
  /// - Throws: ``StoreError`` `full`, `damaged`, `system`.
  static func take(
    after old: StoreIdentity, in environment: Environment, _ tables: Tables,
    _ configuration: StoreConfiguration
  ) throws -> StoreIdentity {
    let storage = TableStorage(tables: tables)
    storage.begin(try environment.beginWrite())
    var bits = random128(configuration.makeRandom)
    // Bits that a replica of this store has are not random: the next ones are as good.
    while try storage.replicas.number(of: ReplicaID(rawValue: bits)) != nil || bits == old.replica.rawValue {
      bits &+= 1
    }
    let taking = NewIdentity(
      storage: storage, old: old, new: StoreIdentity(replica: ReplicaID(rawValue: bits), epoch: 0))
    for (zone, row) in try storage.zones.rows() where !row.status.isGone {
      try taking.continueLane(of: zone, row)
    }
    try storage.meta.setIdentity(taking.new, after: try taking.hasWritten() ? old.replica : nil)
    try storage.meta.countOtherCommit()
    try storage.commit()
    return taking.new
  }

  /// Whether anything is of the old identity.
  private func hasWritten() throws -> Bool {
    guard let former = try storage.replicas.number(of: old.replica) else { return false }
    return try storage.zones.rows().contains { zone, _ in
      try storage.lanes.countedLanes(of: zone).contains { $0.replica == former }
    }
  }

  private func continueLane(of zone: ZoneNumber, _ known: ZoneRow) throws {
    guard let former = try storage.replicas.number(of: old.replica) else { return }
    let epoch = known.ownEpoch(old)
    let lane = try storage.lanes.pendingLane(former, epoch, of: zone, known.token, readsEntries: false)
    var parent: LaneParent? = (former, epoch, lane.last)
    if lane.last == 0 {
      parent = try storage.lanes.parent(of: former, epoch, in: zone)
      try storage.lanes.removeParent(of: former, epoch, in: zone)
    } else if lane.count > 0 {
      try storage.lanes.adopt(former, epoch, of: zone)
    }
    // A lineage is bounded: the lane after so many has seen what the zone has folded, and names no parent.
    if let parent,
      try storage.lanes.lineage(of: parent.replica, parent.epoch, in: zone).count < Limits.lineageMax
    {
      let own = try storage.replicas.makeNumber(for: new.replica)
      try storage.lanes.setParent(parent, of: own, new.epoch, in: zone)
    }
    var row = known
    row.renewals = 0
    storage.setZoneRow(row, zone)
  }
}
