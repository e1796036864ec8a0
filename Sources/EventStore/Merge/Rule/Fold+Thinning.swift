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
    var seen: [ApartHeadIDs] = []
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
        var looked = 0
        let rows = try storage.someRows(
          under: prefix, from: from, before: end, atOnce: bound.rowsAtOnce
        ) { key, row in
          let heads = try ApartRow(row).heads.map(\.head.id)
          looked += heads.count
          let found = try heads.filter { try step.removes(.seen(at: index), $0) }
          return found.isEmpty ? nil : ApartHeadIDs(key: ElementKey(bytes: key.bytes), heads: found)
        }
        seen += rows.found
        next = rows.next
        try bound.count(looked: 1 + looked)
        // Few go with the cell's one edit.
        guard seen.count >= bound.rowsAtOnce || bound.isSpent, let rest = next ?? end else { continue }
        try replaceHeads(of: path, removing: .apart(seen), adding: nil)
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
