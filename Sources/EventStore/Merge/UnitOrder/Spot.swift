/// A unit and its place in the tree.
struct Spot {
  var node: NodeNumber
  var leaf: Leaf
  var piece: Int
  /// How many units of the piece are before it.
  var offset: UInt64

  var unit: UnitID {
    let first = leaf.pieces[piece].first
    return UnitID(first.inserter, first.number &+ offset)
  }

  var left: UnitID? {
    offset == 0 ? leaf.pieces[piece].left : UnitID(unit.inserter, unit.number &- 1)
  }

  var right: UnitID? { leaf.pieces[piece].right }

  var level: Level { leaf.pieces[piece].level(at: offset) }

  /// The gap in front of it.
  var gap: Gap { Gap(node: node, leaf: leaf, piece: piece, offset: offset) }
}
