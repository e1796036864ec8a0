import OperationFormat

/// Showing and hiding units.
extension UnitSequence where Storage: RunStorage {
  /// Shows or hides units. A text's are only ever hidden, and their text is gone then. Units that do not exist are passed
  /// over.
  ///
  /// - Complexity: O(log n) rows for each leaf that units of the range lie in, unless all units of the leaf are hidden and stay so.
  package mutating func setVisible(_ isVisible: Bool, _ range: UnitRange) throws {
    precondition(!(isText && isVisible), "what was hidden of a text is gone")
    let inserter = range.first.inserter
    var number = range.first.number
    let end = min(range.end, try lastMakerRow(of: inserter)?.end ?? 0)
    // The last node above leaves that was looked at: mostly the next leaf is below it too.
    var above: InnerNode?
    while number < end, isVisible || root.visible > 0 {
      guard let place = try place(of: UnitID(inserter, number)) else {
        throw FormatError.damagedRuns("places", expected: "the leaf of a unit", found: "none")
      }
      if !isVisible, let next = place.end, try !hasVisible(place.leaf, &above) {
        number = next
        continue
      }
      var leaf = try leaf(place.leaf)
      var done: [Range<UInt64>] = []
      var changed: Int?
      var index = 0
      while index < leaf.pieces.count {
        let piece = leaf.pieces[index]
        if piece.first.inserter == inserter, piece.end > number, piece.first.number < end {
          done.append(piece.first.number..<piece.end)
          if let count = leaf.setVisible(isVisible, number..<end, inPiece: index) {
            index += count - 1
            changed = index
          }
        }
        index += 1
      }
      if let changed {
        try writeChanged(&leaf, place.leaf, changed)
        above = nil
      }
      let next = Self.end(of: done, from: number)
      guard next > number else {
        throw FormatError.damagedRuns("places", expected: "a unit in leaf \(place.leaf)", found: "others")
      }
      number = next
    }
  }

  /// Whether a leaf has visible units, as the node above tells it.
  private func hasVisible(_ leaf: NodeNumber, _ above: inout InnerNode?) throws -> Bool {
    if root.height < 2 { return true }
    if let child = above?.children.first(where: { $0.node == leaf }) { return child.visible > 0 }
    let key = keys.node(leaf)
    let parent =
      try nodes.leaf(leaf)?.parent ?? storage.withRun(key.span) { row in try row.bigEndian32(at: 1) }
    guard let parent else {
      throw FormatError.damagedRuns("node", expected: "a leaf \(leaf)", found: "no row")
    }
    let inner = try inner(parent)
    above = inner
    return inner.children[try inner.index(of: leaf)].visible > 0
  }

  /// Writes a leaf in which units were shown or hidden, as few pieces as it can be told in.
  private mutating func writeChanged(_ leaf: inout Leaf, _ node: NodeNumber, _ changed: Int) throws {
    var changed = changed
    var index = leaf.pieces.count - 2
    while index >= 0 {
      if leaf.joinPiece(index), index < changed { changed -= 1 }
      index -= 1
    }
    if try write(leaf, node, changed: changed) { try join(node) }
  }

  /// The end of the ranges that follow each other from a number on.
  private static func end(of ranges: [Range<UInt64>], from number: UInt64) -> UInt64 {
    var number = number
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.contains(number) {
      number = range.upperBound
    }
    return number
  }
}

extension UnitSequence {
  /// Gives the visible units to a closure, those together that are told together, in the document's order.
  ///
  /// - Complexity: O(log n) rows for each leaf that has visible units
  package func forEachVisible(_ body: (UnitRange) throws -> Void) throws {
    try forEachLeaf(visibleAlone: true) { _, leaf in
      for piece in leaf.pieces where piece.isVisible {
        try body(UnitRange(first: piece.first, count: piece.count))
      }
    }
  }
}
