/// The log and the replicas as they sync, and the replicas' stores.
struct CompactionWorld: Hashable {
  var basic: World
  var stores: [Store]
  /// What stands for the log's beginning, if that was removed.
  var snapshot: Snapshot?
  var joinsLeft: Int
  var trimsLeft: Int

  func hash(into hasher: inout Hasher) {
    hasher.combine(basic)
    hasher.combine(snapshot?.log)
    hasher.combine(joinsLeft)
    hasher.combine(trimsLeft)
  }

  init(_ bounds: CompactionBounds) {
    basic = World(bounds.syncing)
    let empty = Snapshot(log: LogTree.root, state: ZoneState(records: bounds.records))
    stores = Array(repeating: Store(empty), count: bounds.replicas)
    joinsLeft = bounds.joins
    trimsLeft = bounds.trims
  }
}
