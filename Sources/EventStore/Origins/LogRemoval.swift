import LMDB

/// What one step may still take out of the log: so that its transaction stays small.
struct RemovalBudget {
  var rows = 10_000
  /// Of the log.
  var bytes = LogReplay.stepBytesMax

  var isSpent: Bool { rows <= 0 || bytes <= 0 }
}

extension LogTable where Source == TableStorage {
  /// The first of some positions, as many as may be taken out now: those of whole rows.
  func firstRemoved(
    of positions: ClosedRange<Position>, _ budget: inout RemovalBudget
  ) throws -> ClosedRange<Position> {
    var last = positions.lowerBound
    var cursor = try transaction.openCursor(tables.log)
    var isThere = try cursor.seek(atMost: TableKey.log(last).span)
    while isThere {
      let (row, byteCount) = try cursor.withEntry { key, row in (try LogRow(row, under: key), row.byteCount) }
      guard row.positions.lowerBound <= positions.upperBound else { break }
      budget.bytes -= byteCount
      last = max(last, min(row.positions.upperBound, positions.upperBound))
      guard last < positions.upperBound, !budget.isSpent else { break }
      budget.rows -= 1
      isThere = try cursor.next()
    }
    budget.rows -= 1
    // If the rows are lost, so are all of the positions.
    return positions.lowerBound...(isThere ? last : positions.upperBound)
  }
}
