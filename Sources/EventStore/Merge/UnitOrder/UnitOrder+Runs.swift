import OperationFormat

/// Units told together, as ``UnitOrder/forEachRun(_:)`` gives them.
package struct UnitRun: Hashable, Sendable {
  package var units: UnitRange
  /// The left origin of the first unit; of each other one it is the unit before it. Nil is the start.
  package var left: UnitID?
  /// The right origin of all of them; nil is the end.
  package var right: UnitID?
  package var isVisible: Bool
  /// The element that a move has put at the one place that this is.
  package var element: UnitID?
  /// The UTF-8 of visible units of a text; else empty.
  package var text: [UInt8]

  package init(
    units: UnitRange, left: UnitID?, right: UnitID?, isVisible: Bool, element: UnitID?, text: [UInt8]
  ) {
    self.units = units
    self.left = left
    self.right = right
    self.isVisible = isVisible
    self.element = element
    self.text = text
  }
}

/// Reading all, in the document's order.
extension UnitOrder {
  /// The visible text.
  ///
  /// - Complexity: O(n)
  package func text() throws -> String {
    precondition(isText, "a list has no text")
    var text: [UInt8] = []
    try forEachLeaf { _, leaf in
      for piece in leaf.pieces { text += leaf.bytes[piece.text] }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Gives all units to a closure, hidden ones too, in runs as long as they can be: the same ones in each store that has
  /// the same units, however their rows are cut.
  ///
  /// - Complexity: O(n)
  package func forEachRun(_ body: (UnitRun) throws -> Void) throws {
    var last: (piece: Piece, text: [UInt8])?
    func finish() throws {
      guard let (piece, text) = last else { return }
      try body(
        UnitRun(
          units: UnitRange(first: piece.first, count: piece.count), left: piece.left, right: piece.right,
          isVisible: piece.isVisible, element: piece.element, text: text))
    }
    try forEachLeaf { _, leaf in
      for piece in leaf.pieces {
        if let (before, text) = last, piece.continues(before) {
          last = nil
          var joined = text
          joined += leaf.bytes[piece.text]
          var whole = before
          whole.count &+= piece.count
          last = (whole, joined)
        } else {
          try finish()
          last = (piece, Array(leaf.bytes[piece.text]))
        }
      }
    }
    try finish()
  }

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
    // Rows that name each other in a circle, or one of them twice, would take for ever.
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
