import OperationFormat

/// The tree that the units of one cell are kept in: leaves in the document's order, the nodes above them, and
/// the rows that tell in which leaf a unit is and which operation made it.
///
/// It keeps its rows in `storage` and its root in memory.
struct UnitTree<Storage: RunReading> {
  /// Where the rows begin, and what is in them: to be written after changes.
  var root: UnitOrderRoot
  let storage: Storage
  let keys: RunKeys
  let isText: Bool
  let limits: UnitOrderLimits
  let nodes: NodeCache

  func leaf(_ node: NodeNumber) throws -> Leaf {
    if let known = nodes.leaf(node) { return known }
    let key = keys.node(node)
    let isText = isText
    let leaf = try storage.withRun(key.span) { row in try Leaf(row, isText: isText) }
    guard let leaf else {
      throw FormatError.damagedRuns("node", expected: "a leaf \(node)", found: "no row")
    }
    nodes.keep(leaf, node)
    return leaf
  }

  func inner(_ node: NodeNumber) throws -> InnerNode {
    if let known = nodes.inner(node) { return known }
    let key = keys.node(node)
    guard let inner = try storage.withRun(key.span, { row in try InnerNode(row) }) else {
      throw FormatError.damagedRuns("node", expected: "an inner node \(node)", found: "no row")
    }
    nodes.keep(inner, node)
    return inner
  }

  /// The nearest leaf before or behind one that is wanted, by what the nodes above tell of it and of those
  /// that it is below; nil if there is none.
  func neighbour(
    of node: NodeNumber, parent: NodeNumber, isBehind: Bool,
    where isWanted: (InnerNode.Child) -> Bool = { _ in true }
  ) throws -> NodeNumber? {
    var (node, parent) = (node, parent)
    var levels: UInt32 = 0
    while parent != 0 {
      levels += 1
      guard levels < root.height else {
        throw FormatError.damagedRuns(
          "node", expected: "a height of \(root.height)", found: "more above \(node)")
      }
      let inner = try inner(parent)
      let index = try inner.index(of: node)
      let others = isBehind ? inner.children[(index + 1)...] : inner.children[..<index]
      if let found = isBehind ? others.first(where: isWanted) : others.last(where: isWanted) {
        return try endLeaf(below: found.node, levels: levels - 1, isLast: !isBehind, where: isWanted)
      }
      (node, parent) = (parent, inner.parent)
    }
    return nil
  }

  /// The first or last leaf some levels below a node that is wanted.
  func endLeaf(
    below node: NodeNumber, levels: UInt32, isLast: Bool,
    where isWanted: (InnerNode.Child) -> Bool = { _ in true }
  ) throws -> NodeNumber {
    var node = node
    for _ in 0..<levels {
      let inner = try inner(node)
      let found = isLast ? inner.children.last(where: isWanted) : inner.children.first(where: isWanted)
      guard let found else {
        throw FormatError.damagedRuns(
          "node", expected: "a child as the node above says", found: "none below \(node)")
      }
      node = found.node
    }
    return node
  }

  /// The leaf that has a unit, and which of its pieces has it; nil if there is no such unit, or it was dropped.
  func find(_ unit: UnitID) throws -> (node: NodeNumber, leaf: Leaf, piece: Int)? {
    guard let row = try makerRow(atMost: unit), unit.number < row.end else { return nil }
    guard let node = try leafNumber(of: unit) else {
      throw FormatError.damagedRuns("places", expected: "the leaf of a unit", found: "none")
    }
    if node == PlaceRow.dropped { return nil }
    let leaf = try leaf(node)
    if let piece = leaf.pieces.firstIndex(where: { $0.contains(unit) }) { return (node, leaf, piece) }
    guard try unit.number < droppedEnd(of: unit.inserter), leaf.last(before: unit) != nil else {
      throw FormatError.damagedRuns("places", expected: "a unit in leaf \(node)", found: "others")
    }
    return nil
  }

  /// How many units are before a leaf: all of them, and the visible ones.
  func count(before node: NodeNumber, parent: NodeNumber) throws -> (units: UInt64, visible: UInt64) {
    var (node, parent) = (node, parent)
    var (units, visible) = (0 as UInt64, 0 as UInt64)
    var levels: UInt32 = 0
    while parent != 0 {
      levels += 1
      guard levels < root.height else {
        throw FormatError.damagedRuns(
          "node", expected: "a height of \(root.height)", found: "more above \(node)")
      }
      let inner = try inner(parent)
      for child in inner.children[..<(try inner.index(of: node))] {
        units &+= child.units
        visible &+= child.visible
      }
      (node, parent) = (parent, inner.parent)
    }
    return (units, visible)
  }

  /// Whether an index is less than `count`; if not, subtracts `count` from it.
  static func skip(_ count: UInt64, _ index: inout UInt64) -> Bool {
    if index < count { return true }
    index -= count
    return false
  }

  static func tooFew(_ node: NodeNumber) -> FormatError {
    .damagedRuns("node", expected: "as many visible units as its parent says", found: "fewer in \(node)")
  }
}

/// Reading all leaves.
extension UnitTree {
  /// Gives the leaves in the document's order to a closure.
  ///
  /// - Throws: `FormatError` `damaged` where nodes do not fit each other; what the closure throws.
  func forEachLeaf(_ body: (NodeNumber, Leaf) throws -> Void) throws {
    guard root.height > 0 else { return }
    var visited: Set<NodeNumber> = []
    let level = try level(below: root.node, height: root.height)
    let top = InnerNode.Child(node: root.node, units: root.units, visible: root.visible, level: level)
    try visit(top, below: 0, height: root.height, &visited, body)
  }

  private func level(below node: NodeNumber, height: UInt32) throws -> Level {
    try height == 1 ? leaf(node).level : inner(node).level
  }

  private func visit(
    _ child: InnerNode.Child, below parent: NodeNumber, height: UInt32, _ visited: inout Set<NodeNumber>,
    _ body: (NodeNumber, Leaf) throws -> Void
  ) throws {
    // Rows that name each other in a circle, or one of them twice, would never end.
    guard visited.insert(child.node).inserted else {
      throw FormatError.damagedRuns("node", expected: "node \(child.node) in one place", found: "two")
    }
    func check(_ above: NodeNumber, _ found: InnerNode.Child) throws {
      guard above == parent, found == child else {
        throw FormatError.damagedRuns(
          "node", expected: "\(child.units) units, \(child.visible) visible, below node \(parent)",
          found: "\(found.units), \(found.visible), below \(above), in node \(child.node), or another level")
      }
    }
    if height == 1 {
      let leaf = try leaf(child.node)
      try check(leaf.parent, leaf.asChild(child.node))
      return try body(child.node, leaf)
    }
    let inner = try inner(child.node)
    try check(inner.parent, inner.asChild(child.node))
    for next in inner.children {
      try visit(next, below: child.node, height: height - 1, &visited, body)
    }
  }
}
