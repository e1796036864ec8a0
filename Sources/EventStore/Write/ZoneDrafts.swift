import OperationFormat

/// The transactions in the making of one write: one for each zone that it touched. The next write uses the
/// objects again.
struct ZoneDrafts {
  /// Those of this write, then unused ones.
  private var all: [ZoneDraft] = []
  private var count = 0
  /// The draft whose context the fold has.
  var focused: ZoneDraft?

  /// Those of this write, in the order of their zones' first use.
  var used: ArraySlice<ZoneDraft> { all[..<count] }

  func draft(of zone: ZoneNumber) -> ZoneDraft? {
    for draft in used where draft.zone == zone { return draft }
    return nil
  }

  /// The first draft of the write before, if its zone is this one and nothing that it read has changed.
  mutating func reuseFirst(for zone: ZoneID, _ version: Int) -> ZoneDraft? {
    guard count == 0, let first = all.first, first.target.version == version, first.isOf(zone) else {
      return nil
    }
    count = 1
    return first
  }

  mutating func add(_ zone: ZoneID, _ target: ZoneDraft.Target) -> ZoneDraft {
    if count == all.count { all.append(ZoneDraft()) }
    let draft = all[count]
    draft.begin(zone, target)
    count += 1
    return draft
  }

  /// Removes what the write has done in a zone that it deletes.
  func remove(of zone: ZoneNumber) {
    for draft in used where draft.zone == zone { draft.removeAll() }
  }

  mutating func removeAll() {
    for draft in used { draft.removeOperations() }
    count = 0
    focused = nil
  }
}

extension ZoneDraft.Target {
  /// What this store's next transaction in a zone follows.
  init(of zone: ZoneNumber, _ row: ZoneRow, in store: StoreTransaction) throws {
    let storage = store.storage
    let replica = try storage.replicas.makeNumber(for: store.identity.replica)
    let epoch = row.ownEpoch(store.identity)
    let sequence = try storage.lastSequence(of: replica, epoch, in: zone) + 1
    var context = CausalContext(
      zone: zone, replica: replica, epoch: epoch, sequence: sequence, base: row.base)
    context.lineage = try storage.lineage(of: replica, epoch, in: zone)
    let parent = context.lineage.first
    context.base = try store.base(row, after: sequence - 1, of: replica, epoch, parent, zone)
    if let base = context.base { context.seesAllPlaced = try store.seesAll(base, in: zone) }
    let renamings = try storage.lanes.renamings(of: zone)
    self.init(
      zone: zone, state: row.state, lane: Lane(zone: zone, replica: replica, epoch: epoch),
      sequence: sequence, renamings: renamings,
      // The first transaction of a lane that continues another one names it.
      parent: sequence == 1 ? parent : nil,
      context: renamings.isEmpty ? context : renamings.inOldNames(context), version: storage.zonesVersion)
  }
}
