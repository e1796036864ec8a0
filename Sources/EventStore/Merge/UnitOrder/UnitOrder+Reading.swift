import OperationFormat

/// Reading by index among the visible units. Indexes out of bounds are the caller's bugs.
extension UnitOrder {
  /// The visible unit at an index, and the element that a move has put there.
  ///
  /// - Complexity: O(log n) rows
  func unit(at index: Int) throws -> (unit: UnitID, element: UnitID?) {
    precondition(index >= 0 && index < count, "index \(index) of \(count) units")
    let place = try descend(to: UInt64(index))
    let piece = place.leaf.pieces[place.piece]
    return (UnitID(piece.first.inserter, piece.first.number + place.offset), piece.element)
  }

  /// The index of a unit among the visible ones; nil if it is hidden or not here.
  ///
  /// - Complexity: O(log n) rows
  func index(ofVisible unit: UnitID) throws -> Int? {
    guard let found = try tree.find(unit) else { return nil }
    let piece = found.leaf.pieces[found.piece]
    guard piece.isVisible else { return nil }
    var index = try tree.count(before: found.node, parent: found.leaf.parent).visible
    for piece in found.leaf.pieces[..<found.piece] where piece.isVisible { index &+= piece.count }
    index &+= unit.number - piece.first.number
    return Int(clamping: index)
  }

  /// The visible units in a range of indexes, in the document's order, those told together whose numbers
  /// follow each other.
  ///
  /// - Complexity: O(log n) rows and those of the range
  package func units(_ range: Range<Int>) throws -> [UnitRange] {
    var units: [UnitRange] = []
    try forEachPiece(in: range) { _, piece in
      if let last = units.last, last.first.inserter == piece.first.inserter, last.end == piece.first.number {
        units[units.count - 1].count += piece.count
      } else {
        units.append(UnitRange(first: piece.first, count: piece.count))
      }
    }
    return units
  }

  /// Gives the elements of a list whose places are seen in a range of indexes to a closure, in their order.
  ///
  /// - Complexity: O(log n) rows and those of the range
  package func forEachElement(in range: Range<Int>, _ body: (UnitID) throws -> Void) throws {
    try forEachPiece(in: range) { _, piece in
      if let element = piece.element { return try body(element) }
      for number in piece.first.number..<piece.end { try body(UnitID(piece.first.inserter, number)) }
    }
  }

  /// The visible text in a range of indexes.
  ///
  /// - Complexity: O(log n) rows and those of the range
  func text(in range: Range<Int>) throws -> String {
    precondition(isText, "a list has no text")
    var text: [UInt8] = []
    try forEachPiece(in: range) { leaf, piece in text += leaf.bytes[piece.text] }
    return String(decoding: text, as: UTF8.self)
  }

  /// The unit behind which to insert, so that what is inserted comes before a visible index: the visible unit
  /// in front of it, or, where `hasSeen` denies that one, the nearest unit to its left that it does not; nil
  /// for the start.
  ///
  /// - Complexity: O(log n) rows, and those of the units passed over
  package func leftOrigin(ofVisible index: Int, hasSeen: (HeadID) throws -> Bool) throws -> UnitID? {
    precondition(index >= 0 && index <= count, "index \(index) of \(count) units")
    guard index > 0 else { return nil }
    let (node, leaf, piece, offset) = try descend(to: UInt64(index - 1))
    var search = GapSearch(tree, UnitOrderView())
    return try search.lastSeen(upTo: Spot(node: node, leaf: leaf, piece: piece, offset: offset), hasSeen)
  }

  /// The place of a visible unit.
  private func descend(
    to index: UInt64
  ) throws -> (node: NodeNumber, leaf: Leaf, piece: Int, offset: UInt64) {
    var index = index
    var node = root.node
    for _ in 1..<max(1, root.height) {
      let inner = try tree.inner(node)
      guard let child = inner.children.first(where: { UnitTree<Storage>.skip($0.visible, &index) }) else {
        throw UnitTree<Storage>.tooFew(node)
      }
      node = child.node
    }
    let leaf = try tree.leaf(node)
    for (number, piece) in leaf.pieces.enumerated() where piece.isVisible {
      if UnitTree<Storage>.skip(piece.count, &index) { return (node, leaf, number, index) }
    }
    throw UnitTree<Storage>.tooFew(node)
  }

  /// Calls a closure with the visible pieces of a range of indexes; the first and the last are cut to it.
  private func forEachPiece(in range: Range<Int>, _ body: (Leaf, Piece) throws -> Void) throws {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "\(range) of \(count) units")
    if range.isEmpty { return }
    var left = UInt64(range.count)
    var (node, leaf, index, offset) = try descend(to: UInt64(range.lowerBound))
    var passed: UInt64 = 0
    while true {
      while index < leaf.pieces.count {
        if leaf.pieces[index].isVisible {
          var at = index
          if offset > 0 {
            leaf.cutPiece(index, before: offset)
            at += 1
          }
          if leaf.pieces[at].count > left { leaf.cutPiece(at, before: left) }
          try body(leaf, leaf.pieces[at])
          left -= leaf.pieces[at].count
          if left == 0 { return }
          index = at
        }
        index += 1
        offset = 0
      }
      passed &+= leaf.units
      guard let next = try tree.neighbour(of: node, parent: leaf.parent, isBehind: true), passed <= root.units
      else {
        throw UnitTree<Storage>.tooFew(node)
      }
      (node, leaf, index) = (next, try tree.leaf(next), 0)
    }
  }
}
