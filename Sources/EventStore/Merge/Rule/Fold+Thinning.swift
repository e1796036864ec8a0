import OperationFormat

/// Taking away many heads of a cell in many commits.
extension Fold {
  /// Takes away, some at a time, heads of a cell that are stored apart and that an operation has seen, where
  /// there are many and the operation can be paused: one edit of the cell would take them all.
  @inline(__always)
  mutating func thin(_ path: CellPath, at index: UInt32) throws {
    if bound.rule == .pauses { try thinMany(path, at: index) }
  }

  @inline(never)
  private mutating func thinMany(_ path: CellPath, at index: UInt32) throws {
    if path.cell == .existence, plainExistence() != nil { return }
    let cell = try loaded.address(of: path)
    let prefix = cell.heads
    guard var first = bound.firstKey(under: prefix) else { return }
    // It says nothing of what follows.
    bound.next = nil
    let count = try apartCount(of: path)
    guard count >= bound.rowsAtOnce else { return }
    var apart = try ApartHeads(of: cell, count: count, storage, bound)
    let runs = try step.seenRuns(at: index, of: &apart)?.sorted(by: <)
    var seen: [HeadID] = []
    for place in 0..<(runs?.count ?? 1) {
      let end: ElementKey?
      if let runs {
        let keys = cell.keys(of: runs[place])
        guard first < keys.upperBound else { continue }
        (first, end) = (max(first, keys.lowerBound), keys.upperBound)
      } else {
        end = nil
      }
      var next: ElementKey? = first
      while let from = next {
        let rows = try storage.someRows(
          under: prefix, from: from, before: end, atOnce: bound.rowsAtOnce
        ) { _, row in
          let heads = try ApartRow(row).heads.map(\.head.id)
          return try heads.filter { try step.removes(.seen(at: index), $0) }
        }
        seen += rows.found.joined()
        next = rows.next
        try bound.count(looked: 1 + rows.looked)
        // Few go with the cell's one edit.
        guard seen.count >= bound.rowsAtOnce || bound.isSpent, let rest = next ?? end else { continue }
        for head in seen { try replaceHeads(of: path, removing: .head(head), adding: nil) }
        seen.removeAll(keepingCapacity: true)
        try bound.pauseIfSpent(at: rest)
      }
      if let end { first = end }
    }
  }

  /// How many heads of a cell are stored apart.
  private mutating func apartCount(of path: CellPath) throws -> Int {
    try withCell(path) { _, heads, _ in heads.total - heads.count } ?? 0
  }
}
