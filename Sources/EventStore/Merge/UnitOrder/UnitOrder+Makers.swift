import OperationFormat

/// Reading which operations made which units.
extension UnitOrder {
  /// The number that the inserter's next unit gets: how many it has inserted.
  func nextNumber(of replica: ReplicaNumber, _ epoch: UInt32) throws -> UInt64 {
    try tree.lastMakerRow(of: Inserter(replica: replica, epoch: epoch))?.end ?? 0
  }

  /// The number behind the last compacted unit of an inserter.
  func compactedEnd(of inserter: Inserter) throws -> UInt64 { try tree.compactedEnd(of: inserter) }

  /// Whether compaction has dropped a unit.
  package func isDropped(_ unit: UnitID) throws -> Bool {
    try unit.number < tree.droppedEnd(of: unit.inserter) && tree.find(unit) == nil
  }

  /// The operation that made a unit; nil if there is no such unit.
  func operation(making unit: UnitID) throws -> HeadID? {
    guard let found = try tree.makerRow(atMost: unit)?.operation(making: unit.number) else { return nil }
    return HeadID(
      replica: unit.replica, epoch: unit.epoch, sequence: found.sequence, index: found.index)
  }

  /// The units that an operation made; nil if it made none.
  ///
  /// - Complexity: O(log n) rows
  func units(madeBy operation: HeadID) throws -> UnitRange? {
    let inserter = Inserter(operation)
    // Numbers ascend with the operations that made them.
    var (low, high) = (0 as UInt64, try tree.lastMakerRow(of: inserter)?.end ?? 0)
    while low < high {
      let middle = low + (high - low) / 2
      guard let made = try tree.makerRow(atMost: UnitID(inserter, middle))?.operation(making: middle) else {
        throw FormatError.damagedRuns("makers", expected: "unit \(middle)", found: "none")
      }
      if (made.sequence, made.index) == (operation.sequence, operation.index) {
        let first = UnitID(inserter, made.units.lowerBound)
        return UnitRange(first: first, count: made.units.upperBound - made.units.lowerBound)
      }
      if (made.sequence, made.index) < (operation.sequence, operation.index) {
        low = made.units.upperBound
      } else {
        high = made.units.lowerBound
      }
    }
    return nil
  }

  /// Which operations made units, ascending; those that do not exist are passed over.
  package func operations(
    making range: UnitRange
  ) throws -> [(units: UnitRange, sequence: UInt64, index: UInt32)] {
    var made: [(units: UnitRange, sequence: UInt64, index: UInt32)] = []
    var unit = range.first
    while unit.number < range.end, let row = try tree.makerRow(atMost: unit), unit.number < row.end {
      // A damaged row could tell of more operations than memory holds.
      guard row.end <= root.made else {
        throw FormatError.damagedRuns("makers", expected: "at most \(root.made) units", found: "\(row.end)")
      }
      while unit.number < range.end, let found = row.operation(making: unit.number) {
        let end = min(found.units.upperBound, range.end)
        made.append((UnitRange(first: unit, count: end - unit.number), found.sequence, found.index))
        unit.number = end
      }
    }
    return made
  }
}
