import OperationFormat

/// Dropping hidden units.
extension UnitOrder where Storage: RunStorage {
  /// Writes the visible units again as if one operation had inserted them, each behind the one before it, and drops all
  /// others. The numbers of the next units stay.
  ///
  /// - Parameter keepsVisible: whether any stay.
  /// - Complexity: O(n log n); the visible text is in memory at once
  mutating func compact(keepsVisible: Bool) throws {
    var kept = CompactedUnits()
    if keepsVisible {
      try tree.forEachLeaf { _, leaf in
        for piece in leaf.pieces where piece.isVisible { kept.append(piece, text: leaf.bytes[piece.text]) }
      }
    }
    try rewrite(as: kept)
  }

  /// Replaces all rows. Who made the units must be written. Those that are not kept are dropped.
  mutating func rewrite(as kept: CompactedUnits) throws {
    let made = try inserters().map { ($0, try nextNumber(of: $0.replica, $0.epoch)) }
    var keys: [[UInt8]] = []
    try tree.storage.forEachRun(under: tree.keys.prefix.span) { key, _ in keys.append(key.bytes) }
    for key in keys { try tree.storage.deleteRun(key.span.bytes) }
    tree = UnitTree(
      root: UnitOrderRoot(), storage: tree.storage, keys: tree.keys, isText: isText, limits: tree.limits,
      nodes: NodeCache())
    try tree.build(kept.whole, made)
  }

  /// Whether all that was inserted is compacted, so that the operations that did are no longer told apart.
  func hasOnlyCompactedMakers() throws -> Bool {
    try inserters().allSatisfy { try compactedEnd(of: $0) == nextNumber(of: $0.replica, $0.epoch) }
  }

  /// Whether compaction would change no unit: all are visible and compacted, each behind the one before it.
  func isCompacted() throws -> Bool {
    guard root.visible == root.units, try hasOnlyCompactedMakers() else { return false }
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

/// The units that compaction leaves: all visible, each behind the one before it.
struct CompactedUnits {
  /// A leaf of any length.
  private(set) var whole = Leaf(parent: 0)
  private(set) var count: UInt64 = 0

  /// A piece as it is behind all others.
  func next(_ piece: Piece) -> Piece {
    var piece = piece
    piece.left = whole.pieces.last?.last
    piece.right = nil
    piece.level = Level(depth: count, rightDepth: 0)
    return piece
  }

  mutating func append(_ piece: Piece, text: ArraySlice<UInt8>) {
    _ = whole.insert(next(piece), text: text, at: whole.pieces.count)
    count += piece.count
  }
}
