import OperationFormat

/// Going from one unit to another in the document's order, by levels.
extension UnitOrder {
  func spot(of unit: UnitID) throws -> Spot? {
    try find(unit).map { found in
      let first = found.leaf.pieces[found.piece].first.number
      return Spot(node: found.node, leaf: found.leaf, piece: found.piece, offset: unit.number - first)
    }
  }

  /// The unit right behind one, nil for the start; nil at the end.
  func spot(behind spot: Spot?) throws -> Spot? {
    guard var spot else {
      let node = try endLeaf(below: root.node, levels: root.height - 1, isLast: false)
      return Spot(node: node, leaf: try leaf(node), piece: 0, offset: 0)
    }
    if spot.offset + 1 < spot.leaf.pieces[spot.piece].count {
      spot.offset += 1
      return spot
    }
    if spot.piece + 1 < spot.leaf.pieces.count {
      spot.piece += 1
      spot.offset = 0
      return spot
    }
    return try neighbour(of: spot.node, parent: spot.leaf.parent, isBehind: true).map {
      Spot(node: $0, leaf: try leaf($0), piece: 0, offset: 0)
    }
  }

  /// The unit that so many others lie before.
  func spot(at rank: UInt64) throws -> Spot {
    var rank = rank
    var node = root.node
    for _ in 1..<max(1, root.height) {
      let inner = try inner(node)
      guard let child = inner.children.first(where: { Self.skip($0.units, &rank) }) else {
        throw Self.tooFew(node)
      }
      node = child.node
    }
    let leaf = try leaf(node)
    guard let piece = leaf.pieces.firstIndex(where: { Self.skip($0.count, &rank) }) else {
      throw Self.tooFew(node)
    }
    return Spot(node: node, leaf: leaf, piece: piece, offset: rank)
  }

  /// The first unit behind all that hangs from one by left origins.
  func end(of spot: Spot) throws -> Spot? {
    try next(
      from: spot.node, spot.leaf, spot.piece + 1, atMost: Level(depth: spot.level.depth, rightDepth: .max))
  }

  /// The first unit from one on whose level is at most another.
  ///
  /// - Complexity: O(log n) rows
  func next(_ spot: Spot, atMost level: Level) throws -> Spot? {
    if spot.level <= level { return spot }
    return try next(from: spot.node, spot.leaf, spot.piece + 1, atMost: level)
  }

  private func next(
    from node: NodeNumber, _ leaf: Leaf, _ piece: Int, atMost level: Level
  ) throws -> Spot? {
    // The first unit of a piece has the least level.
    if let piece = leaf.pieces[piece...].firstIndex(where: { $0.level <= level }) {
      return Spot(node: node, leaf: leaf, piece: piece, offset: 0)
    }
    let found = try neighbour(of: node, parent: leaf.parent, isBehind: true) { $0.level <= level }
    guard let found else { return nil }
    let next = try self.leaf(found)
    guard let piece = next.pieces.firstIndex(where: { $0.level <= level }) else {
      throw Self.wrongLevel(found)
    }
    return Spot(node: found, leaf: next, piece: piece, offset: 0)
  }

  /// The last unit before one whose level is at most another. The one must be the first of its piece, or not be wanted itself.
  ///
  /// - Complexity: O(log n) rows
  func last(before spot: Spot, atMost level: Level) throws -> Spot? {
    if spot.offset > 0 {
      let piece = spot.leaf.pieces[spot.piece]
      if piece.level <= level {
        var spot = spot
        spot.offset = min(spot.offset - 1, level.depth &- piece.level.depth)
        return spot
      }
    }
    func lastUnit(_ node: NodeNumber, _ leaf: Leaf, _ end: Int) -> Spot? {
      leaf.pieces[..<end].lastIndex { $0.level <= level }.map { index in
        let piece = leaf.pieces[index]
        let offset = min(piece.count - 1, level.depth &- piece.level.depth)
        return Spot(node: node, leaf: leaf, piece: index, offset: offset)
      }
    }
    if let found = lastUnit(spot.node, spot.leaf, spot.piece) { return found }
    let node = try neighbour(of: spot.node, parent: spot.leaf.parent, isBehind: false) { $0.level <= level }
    guard let node else { return nil }
    let leaf = try leaf(node)
    guard let found = lastUnit(node, leaf, leaf.pieces.count) else { throw Self.wrongLevel(node) }
    return found
  }

  private static func wrongLevel(_ node: NodeNumber) -> FormatError {
    .damagedRuns("node", expected: "a level as its parent says", found: "a greater one in \(node)")
  }
}
