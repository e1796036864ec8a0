/// What an app may write: it deletes and changes what it sees, and creates what it does not see.
extension CompactionModel {
  func operations(of replica: Int, in world: CompactionWorld) -> [ContentOperation] {
    let choices = bounds.writes[bounds.writes.count - world.basic.writesLeft]
    return choices.flatMap { choice -> [ContentOperation] in
      guard let change = choice else { return floors(of: replica, in: world) }
      return world.stores[replica].state.records.enumerated().compactMap { index, record in
        operation(change, index, record, number: world.basic.transactions.count)
      }
    }
  }

  /// - Parameter number: the write's: it decides where a text grows.
  private func operation(
    _ change: ContentOperation.Change, _ index: Int, _ record: RecordState, number: Int
  ) -> ContentOperation? {
    let isThere = ShownRecord(record, rule).isThere[0]
    let units = record.visibleUnits
    switch change {
    case .make: return isThere ? nil : .change(.make, record: index, unit: nil)
    case .grow:
      return isThere ? .change(.grow, record: index, unit: number % 2 == 0 ? units.last : units.first) : nil
    case .shrink: return isThere ? .change(.shrink, record: index, unit: units.first) : nil
    case .delete: return isThere ? .change(.delete, record: index, unit: nil) : nil
    case .revive:
      return !isThere && record.isCreated ? .change(.revive, record: index, unit: nil) : nil
    }
  }

  private func floors(of replica: Int, in world: CompactionWorld) -> [ContentOperation] {
    let read = world.basic.replicas[replica].read
    var most = tree.offset(of: read)
    if bounds.floors == .any {
      most += 1
    } else if rule.flaw != .ignoresLanes {
      var lanes: [Int: Int] = [:]
      for arrival in checker.arrivals(in: read) where arrival.writer != replica {
        lanes[arrival.writer] = arrival.base
      }
      most = min(most, lanes.values.min() ?? most)
    }
    let least = world.stores[replica].state.floor + 1
    return most < least ? [] : (least...most).map { .compact(floor: $0) }
  }

  func writing(_ operation: ContentOperation, by replica: Int, in world: CompactionWorld) -> CompactionWorld {
    var next = world
    next.basic = model.writing(.content(operation), by: replica, in: world.basic)
    let entry = next.basic.replicas[replica].queue.last!
    foldPending([entry], into: &next.stores[replica])
    if rule.flaw == .compactsAtOnce, case .compact(let floor) = operation {
      rule.compact(&next.stores[replica].state, to: floor)
    }
    return next
  }
}
