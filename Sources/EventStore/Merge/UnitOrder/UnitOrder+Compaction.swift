import OperationFormat

/// Dropping hidden units.
extension UnitOrder where Storage: RunStorage {
  /// Writes the visible units again as if one operation had inserted them, each behind the one before it, and drops all
  /// others. The numbers of the next units stay.
  ///
  /// - Parameter keepsVisible: whether any stay.
  /// - Complexity: O(n log n) rows; the visible text is in memory at once
  mutating func compact(keepsVisible: Bool) throws {
    var kept: [(piece: Piece, text: [UInt8])] = []
    var depth: UInt64 = 0
    if keepsVisible {
      try tree.forEachLeaf { _, leaf in
        for var piece in leaf.pieces where piece.isVisible {
          let text = leaf.bytes[piece.text]
          piece.left = kept.last?.piece.last
          (piece.right, piece.text) = (nil, 0..<0)
          piece.level = Level(depth: depth, rightDepth: 0)
          depth += piece.count
          if let last = kept.indices.last, piece.continues(kept[last].piece) {
            kept[last].piece.count += piece.count
            kept[last].text += text
          } else {
            kept.append((piece, Array(text)))
          }
        }
      }
    }
    let ends = try inserters().map { ($0, try nextNumber(of: $0.replica, $0.epoch)) }
    var keys: [[UInt8]] = []
    try tree.storage.forEachRun(under: tree.keys.prefix.span) { key, _ in keys.append(key.bytes) }
    for key in keys { try tree.storage.deleteRun(key.span.bytes) }
    tree = UnitTree(
      root: UnitOrderRoot(), storage: tree.storage, keys: tree.keys, isText: isText, limits: tree.limits,
      nodes: NodeCache())
    for (inserter, end) in ends where end > 0 {
      try tree.addMakers(MakerRow.Entry(sequence: 0, index: 0, unitsEach: end, operations: 1), of: inserter)
      try tree.dropAll(of: inserter)
      tree.root.dropped += end
    }
    for (piece, text) in kept { try append(piece, text: text) }
    tree.root.dropped -= depth
  }
}
