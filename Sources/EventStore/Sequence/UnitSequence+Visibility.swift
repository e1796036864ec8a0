import OperationFormat

extension UnitSequence where Storage: RunStorage {
  /// Shows or hides units. A text's are only ever hidden, and their text is gone then. Units that do not exist are passed
  /// over.
  ///
  /// - Complexity: O(log n) rows for each leaf that the units lie in.
  package mutating func setVisible(_ isVisible: Bool, _ range: UnitRange) throws {
    precondition(!(isText && isVisible), "what was hidden of a text is gone")
    let inserter = range.first.inserter
    var number = range.first.number
    let end = min(range.end, try lastMakerRow(of: inserter)?.end ?? 0)
    while number < end {
      guard let node = try leafNumber(of: UnitID(inserter, number)) else {
        throw FormatError.damagedRuns("places", expected: "the leaf of a unit", found: "none")
      }
      var leaf = try leaf(node)
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
      if let changed { try writeChanged(&leaf, node, changed) }
      let next = Self.end(of: done, from: number)
      guard next > number else {
        throw FormatError.damagedRuns("places", expected: "a unit in leaf \(node)", found: "others")
      }
      number = next
    }
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
