import OperationFormat

/// Showing and hiding units. It works on a copy of the tree, whose root the order takes back.
struct VisibilityChange<Storage: RunStorage> {
  private(set) var tree: UnitTree<Storage>

  init(_ tree: UnitTree<Storage>) { self.tree = tree }

  /// Shows or hides units. A text's are only ever hidden, and their text is gone then. Units that do not
  /// exist are passed over.
  ///
  /// - Parameter didVisit: called after each leaf with whether it changed; returns whether to continue.
  /// - Returns: the unit from which on the rest is; nil if all was visited.
  /// - Complexity: O(log n) rows for each leaf that has units of the range, unless all units of the leaf
  ///   are hidden and stay so; linear in the runs of numbers that are in one leaf
  @discardableResult
  mutating func setVisible(
    _ isVisible: Bool, _ range: UnitRange, _ didVisit: (Bool) throws -> Bool = { _ in true }
  ) throws -> UnitID? {
    precondition(!(tree.isText && isVisible), "what was hidden of a text is gone")
    let inserter = range.first.inserter
    var number = range.first.number
    let end = min(range.end, try tree.lastMakerRow(of: inserter)?.end ?? 0)
    let droppedEnd = try tree.droppedEnd(of: inserter)
    // The last node above leaves that was read: mostly the next leaf is below it too.
    var above: InnerNode?
    // The row of places that was read last, as long as no leaf changes.
    var places: PlaceRow?
    // Leaves in which all units from here on are done. Numbers that follow each other may be in leaves all
    // over the tree.
    var done: Set<NodeNumber> = []
    while number < end, isVisible || tree.root.visible > 0 {
      guard var place = try place(of: UnitID(inserter, number), &places) else {
        throw FormatError.damagedRuns("places", expected: "the leaf of a unit", found: "none")
      }
      let mayBeDropped = number < droppedEnd
      if mayBeDropped, place.end == nil, let row = places {
        place.end = try tree.end(of: number, in: row, of: inserter, atMost: end)
      }
      if place.leaf == PlaceRow.dropped { done.insert(place.leaf) }
      if let next = place.end {
        if !done.contains(place.leaf), !isVisible, try !hasVisible(place.leaf, &above) {
          done.insert(place.leaf)
        }
        if done.contains(place.leaf) {
          number = next
          guard try didVisit(false) else { break }
          continue
        }
      }
      var leaf = try tree.leaf(place.leaf)
      var found: [Range<UInt64>] = []
      var changed: Int?
      var index = 0
      while index < leaf.pieces.count {
        let piece = leaf.pieces[index]
        if piece.first.inserter == inserter, piece.end > number, piece.first.number < end {
          found.append(piece.first.number..<piece.end)
          if let count = leaf.setVisible(isVisible, number..<end, inPiece: index) {
            index += count - 1
            changed = index
          }
        }
        index += 1
      }
      done.insert(place.leaf)
      if let changed {
        // Of a neighbour that was joined to it not all may be done.
        if let joined = try writeChanged(&leaf, place.leaf, changed) { done.remove(joined) }
        (above, places) = (nil, nil)
      }
      let next = Self.end(of: found, from: number)
      guard next > number || mayBeDropped else {
        throw FormatError.damagedRuns("places", expected: "a unit in leaf \(place.leaf)", found: "others")
      }
      // Those of the entry that are not there were dropped.
      number = mayBeDropped ? max(next, place.end ?? next) : next
      guard try didVisit(changed != nil) else { break }
    }
    return number < end && (isVisible || tree.root.visible > 0) ? UnitID(inserter, number) : nil
  }

  /// Hides visible units a leaf at a time, in the document's order: of each inserter some numbers.
  ///
  /// - Parameters:
  ///   - first: a unit from which on; nil for the start.
  ///   - numbers: returns those of an inserter.
  ///   - didVisit: called after each leaf with whether it changed; returns whether to continue.
  /// - Returns: the visible unit from which on the rest is; nil if all was visited.
  /// - Complexity: O(log n) rows for each leaf that has visible units
  mutating func hide(
    from first: UnitID? = nil, _ numbers: (Inserter) throws -> Range<UInt64>,
    _ didVisit: (Bool) throws -> Bool
  ) throws -> UnitID? {
    guard tree.root.visible > 0, var place = try first.map(visit) ?? firstVisible() else { return nil }
    // Each leaf that comes was there at the beginning.
    var visited: NodeNumber = 0
    while visited < tree.root.lastNode {
      visited += 1
      let behind = try tree.neighbour(of: place.node, parent: place.leaf.parent, isBehind: true) {
        $0.visible > 0
      }
      let next = try behind.map { node in
        guard let piece = try tree.leaf(node).pieces.first(where: \.isVisible) else {
          throw UnitTree<Storage>.tooFew(node)
        }
        return piece.first
      }
      let changed = try place.leaf.hide(from: place.piece, numbers)
      if let changed { _ = try writeChanged(&place.leaf, place.node, changed) }
      guard try didVisit(changed != nil), let behind, let next else { return next }
      // Leaves may have been joined.
      place = try changed == nil ? (behind, tree.leaf(behind), 0) : visit(next)
    }
    throw UnitTree<Storage>.tooFew(place.node)
  }

  private func visit(_ unit: UnitID) throws -> (node: NodeNumber, leaf: Leaf, piece: Int) {
    guard let found = try tree.find(unit) else {
      throw FormatError.damagedRuns("makers", expected: "unit \(unit.number)", found: "none")
    }
    return found
  }

  private func firstVisible() throws -> (node: NodeNumber, leaf: Leaf, piece: Int)? {
    guard tree.root.height > 0 else { return nil }
    let node = try tree.endLeaf(below: tree.root.node, levels: tree.root.height - 1, isLast: false) {
      $0.visible > 0
    }
    return (node, try tree.leaf(node), 0)
  }

  /// Whether a leaf has visible units, as the node above tells it.
  private func hasVisible(_ leaf: NodeNumber, _ above: inout InnerNode?) throws -> Bool {
    if tree.root.height < 2 { return true }
    if let child = above?.children.first(where: { $0.node == leaf }) { return child.visible > 0 }
    let key = tree.keys.node(leaf)
    let parent =
      try tree.nodes.leaf(leaf)?.parent
      ?? tree.storage.withRun(key.span) { row in try row.bigEndian32(at: 1) }
    guard let parent else {
      throw FormatError.damagedRuns("node", expected: "a leaf \(leaf)", found: "no row")
    }
    let inner = try tree.inner(parent)
    above = inner
    return inner.children[try inner.index(of: leaf)].visible > 0
  }

  /// The leaf of a unit, and the first number after it that its row names again. Reads the row only if the
  /// last one read does not have it.
  private func place(of unit: UnitID, _ row: inout PlaceRow?) throws -> (leaf: NodeNumber, end: UInt64?)? {
    if let row, row.first <= unit.number, let end = row.end(of: unit.number) {
      return (row.leaf(of: unit.number), end)
    }
    row = try tree.placeRow(atMost: unit)
    return row.map { ($0.leaf(of: unit.number), $0.end(of: unit.number)) }
  }

  /// Writes a leaf in which units were shown or hidden, as few pieces as it can be told in.
  ///
  /// - Returns: the leaf that has its units and a neighbour's, if the two were joined.
  private mutating func writeChanged(
    _ leaf: inout Leaf, _ node: NodeNumber, _ changed: Int
  ) throws -> NodeNumber? {
    var changed = changed
    var index = leaf.pieces.count - 2
    while index >= 0 {
      if leaf.joinPiece(index), index < changed { changed -= 1 }
      index -= 1
    }
    return try tree.write(leaf, node, changed: changed) ? tree.join(node) : nil
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

extension Leaf {
  /// Hides the visible units from a piece on, of each inserter some numbers.
  ///
  /// - Returns: the last piece that changed, nil if none did.
  fileprivate mutating func hide(
    from first: Int, _ numbers: (Inserter) throws -> Range<UInt64>
  ) rethrows -> Int? {
    var changed: Int?
    var index = first
    while index < pieces.count {
      let piece = pieces[index]
      if piece.isVisible {
        let numbers = try numbers(piece.first.inserter)
        if let count = setVisible(false, numbers, inPiece: index) {
          index += count - 1
          changed = index
        }
      }
      index += 1
    }
    return changed
  }
}
