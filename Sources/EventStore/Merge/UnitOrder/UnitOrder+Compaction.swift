import OperationFormat

/// Dropping hidden units.
extension UnitOrder where Storage: RunStorage {
  /// Writes the visible units again as if one operation had inserted them, each behind the one before it, and drops all
  /// others. The numbers of the next units stay.
  ///
  /// - Parameter keepsVisible: whether any stay.
  /// - Complexity: O(n log n); the visible text is in memory at once
  mutating func compact(keepsVisible: Bool) throws {
    var kept = Leaf(parent: 0)
    var depth: UInt64 = 0
    if keepsVisible {
      try tree.forEachLeaf { _, leaf in
        for var piece in leaf.pieces where piece.isVisible {
          piece.left = kept.pieces.last?.last
          piece.right = nil
          piece.level = Level(depth: depth, rightDepth: 0)
          depth += piece.count
          _ = kept.insert(piece, text: leaf.bytes[piece.text], at: kept.pieces.count)
        }
      }
    }
    let made = try inserters().map { ($0, try nextNumber(of: $0.replica, $0.epoch)) }
    var keys: [[UInt8]] = []
    try tree.storage.forEachRun(under: tree.keys.prefix.span) { key, _ in keys.append(key.bytes) }
    for key in keys { try tree.storage.deleteRun(key.span.bytes) }
    tree = UnitTree(
      root: UnitOrderRoot(), storage: tree.storage, keys: tree.keys, isText: isText, limits: tree.limits,
      nodes: NodeCache())
    try tree.build(kept, made)
  }

  /// Whether compaction would change no unit: all are visible and compacted, each behind the one before it.
  func isCompacted() throws -> Bool {
    guard root.visible == root.units else { return false }
    for inserter in try inserters()
    where try compactedEnd(of: inserter) != nextNumber(of: inserter.replica, inserter.epoch) {
      return false
    }
    var last: UnitID?
    var isCompacted = true
    try tree.forEachLeaf { _, leaf in
      for piece in leaf.pieces {
        if piece.left != last || piece.right != nil { isCompacted = false }
        last = piece.last
      }
    }
    return isCompacted
  }
}
