import LMDB
import OperationFormat

/// Takes the entries out of the log that the snapshots have which zones begin with, in steps.
struct RetiredEntries {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }

  init(_ store: StoreTransaction) { self.store = store }

  /// Takes all of them out.
  static func removeAll(_ core: StoreCore) async throws {
    while try await core.performIfChanged({ try RetiredEntries($0).step() ? true : nil }) ?? false {}
  }

  /// Takes some out.
  ///
  /// - Returns: whether there were any.
  func step() throws -> Bool {
    var budget = RemovalBudget()
    var hasRemoved = false
    for (zone, _) in try storage.zones.origins() where !budget.isSpent {
      let namesAssets = try storage.assets.hasAny(in: zone, .named)
      for lane in try storage.lanes.retiredLanes(of: zone) where !budget.isSpent {
        if try remove(lane, namesAssets, &budget) { hasRemoved = true }
      }
    }
    return hasRemoved
  }

  private func remove(_ lane: Lane, _ namesAssets: Bool, _ budget: inout RemovalBudget) throws -> Bool {
    let last = try storage.lanes.retired(lane)
    var runs: [ClosedRange<Position>] = []
    while !budget.isSpent, let run = try storage.log.firstRun(of: lane, in: 0...last)?.part(before: last + 1)
    {
      let positions = try storage.log.firstRemoved(of: run.positions, &budget)
      let count = positions.upperBound.rawValue - positions.lowerBound.rawValue
      if namesAssets {
        for position in positions.lowerBound.rawValue...positions.upperBound.rawValue {
          try store.uncountAssets(at: Position(rawValue: position), in: lane.zone)
        }
      }
      try storage.log.removeSequences(run.first...run.first + count, of: lane)
      runs.append(positions)
    }
    // The records are what they were.
    try storage.log.remove(runs, isRewrite: false)
    return !runs.isEmpty
  }
}

extension LaneTable {
  /// The lanes of a zone of which the log does not have the first transactions.
  func retiredLanes(of zone: ZoneNumber) throws -> [Lane] {
    try names(under: .rows(.retiredLanes, of: zone)).map {
      Lane(zone: zone, replica: $0.replica, epoch: $0.epoch)
    }
  }
}
