/// Makes a failing schedule smaller, as long as it still fails: it leaves out steps and operations, and makes
/// what remains simpler.
struct FoldShrinker {
  private(set) var schedule: FoldSchedule
  private(set) var mismatch: FoldMismatch
  private let run: (FoldSchedule) -> FoldMismatch?

  init(_ schedule: FoldSchedule, _ mismatch: FoldMismatch, run: @escaping (FoldSchedule) -> FoldMismatch?) {
    self.schedule = schedule
    self.mismatch = mismatch
    self.run = run
  }

  /// Shrinks until nothing more can be taken away.
  mutating func shrink() {
    var isSmaller = true
    while isSmaller {
      isSmaller = removeSteps()
      isSmaller = removeOperations() || isSmaller
      isSmaller = simplify() || isSmaller
    }
  }

  /// Leaves out runs of steps, long ones first, then single ones.
  private mutating func removeSteps() -> Bool {
    var isSmaller = false
    var length = max(1, schedule.steps.count / 2)
    while true {
      var start = 0
      while start < schedule.steps.count {
        var candidate = schedule
        candidate.steps.removeSubrange(start..<min(start + length, candidate.steps.count))
        if accept(candidate) { isSmaller = true } else { start += length }
      }
      if length == 1 { return isSmaller }
      length /= 2
    }
  }

  private mutating func removeOperations() -> Bool {
    var isSmaller = false
    for step in schedule.steps.indices.reversed() {
      guard case .write(let replica, let wall, var operations) = schedule.steps[step] else { continue }
      for index in operations.indices.reversed() where operations.count > 1 {
        let removed = operations.remove(at: index)
        if replace(step, by: .write(replica: replica, wallMilliseconds: wall, operations: operations)) {
          isSmaller = true
        } else {
          operations.insert(removed, at: index)
        }
      }
    }
    return isSmaller
  }

  private mutating func simplify() -> Bool {
    var isSmaller = false
    for step in schedule.steps.indices {
      for simpler in Self.simpler(schedule.steps[step]) where replace(step, by: simpler) { isSmaller = true }
    }
    for change in Self.smallerWorlds {
      var candidate = schedule
      change(&candidate)
      if candidate != schedule && accept(candidate) { isSmaller = true }
    }
    return isSmaller
  }

  private static let smallerWorlds: [@Sendable (inout FoldSchedule) -> Void] = [
    { $0.replicas = max(1, $0.replicas - 1) },
    { $0.records = max(1, $0.records - 1) },
    { $0.fields = max(1, $0.fields - 1) },
  ]

  /// Simpler steps than one. Each is less in one respect, so simplifying ends.
  private static func simpler(_ step: FoldStep) -> [FoldStep] {
    switch step {
    case .write(let replica, let wall, let operations):
      return operations.indices.flatMap { index in
        simpler(operations[index]).map {
          var changed = operations
          changed[index] = $0
          return .write(replica: replica, wallMilliseconds: wall, operations: changed)
        }
      }
    case .ship(let replica, let count, let received, let again):
      var steps: [FoldStep] = []
      if again {
        steps.append(.ship(replica: replica, count: count, receivedMilliseconds: received, again: false))
      }
      if received != nil {
        steps.append(.ship(replica: replica, count: count, receivedMilliseconds: nil, again: again))
      }
      return steps
    case .copy(let from, let to, .some): return [.copy(from: from, to: to, identity: nil)]
    case .renew(let replica, .some): return [.renew(replica: replica, identity: nil)]
    case .nameFloor(let replica, let wall, let below) where below > 0:
      return [.nameFloor(replica: replica, wallMilliseconds: wall, below: below - 1)]
    case .compact(let replica, let records) where records > 1:
      return [.compact(replica: replica, records: 1)]
    default: return []
    }
  }

  private static func simpler(_ operation: FoldOperation) -> [FoldOperation] {
    var simpler: [FoldOperation] = []
    if operation.value.rawValue > 1 {
      var changed = operation
      changed.value = FoldValue(rawValue: 1)
      simpler.append(changed)
    }
    for path in [\FoldOperation.record, \.field, \.type, \.element] where operation[keyPath: path] > 0 {
      var changed = operation
      changed[keyPath: path] = 0
      simpler.append(changed)
    }
    return simpler
  }

  // MARK: Helpers

  private mutating func replace(_ step: Int, by simpler: FoldStep) -> Bool {
    var candidate = schedule
    candidate.steps[step] = simpler
    return accept(candidate)
  }

  /// Keeps a schedule if it fails.
  private mutating func accept(_ candidate: FoldSchedule) -> Bool {
    guard let found = run(candidate) else { return false }
    schedule = candidate
    mismatch = found
    return true
  }
}
