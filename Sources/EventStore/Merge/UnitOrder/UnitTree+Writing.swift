import OperationFormat

/// Writing nodes: a leaf that is too long is split, then the nodes above get its parts, up to the root.
extension UnitTree where Storage: RunStorage {
  mutating func makeNode() throws -> NodeNumber {
    guard root.lastNode < .max else {
      throw FormatError(
        .limitExceeded, at: 0, in: "runs.node", expected: "a node number", found: "none that is left")
    }
    root.lastNode += 1
    return root.lastNode
  }

  /// Makes the number of a new top node.
  private mutating func raise(above node: NodeNumber) throws -> NodeNumber {
    guard node == root.node, root.height < UnitOrderLimits.heightMax else {
      throw FormatError.damagedRuns("node", expected: "the top node \(root.node)", found: "node \(node)")
    }
    root.node = try makeNode()
    root.height += 1
    return root.node
  }

  /// Writes a changed leaf and what it changes above.
  ///
  /// - Parameter piece: the last piece that changed.
  /// - Returns: whether it is so small that a neighbour could take it.
  @discardableResult
  mutating func write(_ leaf: Leaf, _ node: NodeNumber, changed piece: Int) throws -> Bool {
    var writer = ByteWriter()
    leaf.append(to: &writer)
    if writer.count <= limits.nodeBytesMax {
      try writeRow(writer, of: node)
      // Text of removed pieces stays in memory; if it is too much, the row is read again.
      if leaf.bytes.count <= 4 * limits.nodeBytesMax {
        var leaf = leaf
        leaf.rowBytes = writer.count
        nodes.keep(leaf, node)
      }
      try settle(node, below: leaf.parent, height: 1, as: [leaf.asChild(node)])
      return leaf.parent != 0 && writer.count < limits.nodeBytesMax / 4
    }
    let isTop = leaf.parent == 0
    let parent = isTop ? try raise(above: node) : leaf.parent
    var children: [InnerNode.Child] = []
    for var part in leaf.cut(changed: piece, bytesMax: limits.nodeBytesMax) {
      part.parent = parent
      let number = children.isEmpty ? node : try makeNode()
      writer.removeAll()
      part.append(to: &writer)
      try writeRow(writer, of: number)
      if number != node { try place(part.pieces, in: number) }
      children.append(part.asChild(number))
    }
    if isTop {
      let top = InnerNode(parent: 0, children: children)
      try write(top, parent, height: root.height, changed: children.count - 1)
    } else {
      try settle(node, below: parent, height: 1, as: children)
    }
    return false
  }

  /// Sets the leaf of pieces. Those whose numbers follow each other are set together.
  private mutating func place(_ pieces: [Piece], in leaf: NodeNumber) throws {
    let sorted = pieces.sorted {
      ($0.first.replica, $0.first.epoch, $0.first.number) < (
        $1.first.replica, $1.first.epoch, $1.first.number
      )
    }
    var index = 0
    while index < sorted.count {
      let inserter = sorted[index].first.inserter
      let start = sorted[index].first.number
      var end = sorted[index].end
      index += 1
      while index < sorted.count, sorted[index].first == UnitID(inserter, end) {
        end = sorted[index].end
        index += 1
      }
      try place(start..<end, of: inserter, in: leaf)
    }
  }

  /// Puts what a node has become into the node above, or into the root.
  private mutating func settle(
    _ node: NodeNumber, below parent: NodeNumber, height: UInt32, as children: [InnerNode.Child]
  ) throws {
    if parent == 0 {
      guard node == root.node, height == root.height, children.count == 1 else {
        throw FormatError.damagedRuns("node", expected: "the top node \(root.node)", found: "node \(node)")
      }
      root.units = children[0].units
      root.visible = children[0].visible
      return
    }
    guard height < root.height else {
      throw FormatError.damagedRuns(
        "node", expected: "a height of \(root.height)", found: "more above \(node)")
    }
    var above = try inner(parent)
    let index = try above.index(of: node)
    above.children.replaceSubrange(index...index, with: children)
    try write(above, parent, height: height + 1, changed: index + children.count - 1)
  }

  /// Writes a changed inner node and what it changes above.
  private mutating func write(
    _ inner: InnerNode, _ node: NodeNumber, height: UInt32, changed: Int
  ) throws {
    var writer = ByteWriter()
    inner.append(to: &writer)
    if inner.children.count <= limits.childrenMax {
      try writeRow(writer, of: node)
      nodes.keep(inner, node)
      return try settle(node, below: inner.parent, height: height, as: [inner.asChild(node)])
    }
    let isTop = inner.parent == 0
    let parent = isTop ? try raise(above: node) : inner.parent
    var children: [InnerNode.Child] = []
    for group in inner.cut(changed: changed, childrenMax: limits.childrenMax) {
      let number = children.isEmpty ? node : try makeNode()
      if number != node {
        for child in group { try setParent(of: child.node, to: number) }
      }
      let part = InnerNode(parent: parent, children: group)
      writer.removeAll()
      part.append(to: &writer)
      try writeRow(writer, of: number)
      children.append(part.asChild(number))
    }
    if isTop {
      let top = InnerNode(parent: 0, children: children)
      try write(top, parent, height: root.height, changed: children.count - 1)
    } else {
      try settle(node, below: parent, height: height, as: children)
    }
  }

  func writeRow(_ writer: borrowing ByteWriter, of node: NodeNumber) throws {
    let key = keys.node(node)
    nodes.forget(node)
    try storage.writeRun(writer.span, key.span)
  }

  private func deleteRow(of node: NodeNumber) throws {
    let key = keys.node(node)
    nodes.forget(node)
    try storage.deleteRun(key.span)
  }

  private mutating func setParent(of node: NodeNumber, to parent: NodeNumber) throws {
    let key = keys.node(node)
    guard var row = try storage.withRun(key.span, { row in row.bytes }), row.count > Leaf.headerBytes else {
      throw FormatError.damagedRuns("node", expected: "a node \(node)", found: "no row")
    }
    withUnsafeBytes(of: parent.bigEndian) { row.replaceSubrange(1..<Leaf.headerBytes, with: $0) }
    nodes.forget(node)
    try storage.writeRun(row.span.bytes, key.span)
  }

  // MARK: Joining

  /// Lets a neighbour take a small leaf, or the leaf its neighbour, where both fit well into one.
  ///
  /// - Returns: that one; nil if none does.
  mutating func join(_ node: NodeNumber) throws -> NodeNumber? {
    let parent = try leaf(node).parent
    guard parent != 0 else { return nil }
    var above = try inner(parent)
    let index = try above.index(of: node)
    for index in [index, index - 1] where index >= 0 && index + 1 < above.children.count {
      let (child, next) = (above.children[index], above.children[index + 1])
      var joined = try leaf(child.node)
      let right = try leaf(next.node)
      joined.append(right)
      var writer = ByteWriter()
      joined.append(to: &writer)
      guard writer.count <= limits.nodeBytesMax * 3 / 4 else { continue }
      try writeRow(writer, of: child.node)
      try place(right.pieces, in: child.node)
      try deleteRow(of: next.node)
      above.join(index)
      try writeJoined(above, parent, height: 2)
      return child.node
    }
    return nil
  }

  /// Writes an inner node that has lost a child, and lets a neighbour take it where it is small.
  private mutating func writeJoined(_ inner: InnerNode, _ node: NodeNumber, height: UInt32) throws {
    if inner.parent == 0, inner.children.count == 1, node == root.node, height == root.height {
      root.node = inner.children[0].node
      root.height -= 1
      try deleteRow(of: node)
      return try setParent(of: root.node, to: 0)
    }
    try write(inner, node, height: height, changed: inner.children.count - 1)
    guard inner.parent != 0, inner.children.count < limits.childrenMax / 4 else { return }
    var above = try self.inner(inner.parent)
    let index = try above.index(of: node)
    for index in [index, index - 1] where index >= 0 && index + 1 < above.children.count {
      let (child, next) = (above.children[index], above.children[index + 1])
      var joined = try self.inner(child.node)
      let right = try self.inner(next.node)
      joined.children += right.children
      guard joined.children.count <= limits.childrenMax * 3 / 4 else { continue }
      for moved in right.children { try setParent(of: moved.node, to: child.node) }
      var writer = ByteWriter()
      joined.append(to: &writer)
      try writeRow(writer, of: child.node)
      try deleteRow(of: next.node)
      above.join(index)
      return try writeJoined(above, inner.parent, height: height + 1)
    }
  }
}

extension InnerNode {
  /// Lets a child stand for the next one too.
  fileprivate mutating func join(_ index: Int) {
    children[index].units &+= children[index + 1].units
    children[index].visible &+= children[index + 1].visible
    children[index].level = min(children[index].level, children[index + 1].level)
    children.remove(at: index + 1)
  }

  /// Cuts the children into parts that fit: full ones where the last child changed, as when a text is typed
  /// forward, else halves.
  fileprivate func cut(changed: Int, childrenMax: Int) -> [[Child]] {
    var size = childrenMax
    if changed + 1 < children.count, children.count <= 2 * childrenMax { size = children.count / 2 }
    var parts = [Array(children[..<size])]
    var rest = children[size...]
    while !rest.isEmpty {
      parts.append(Array(rest.prefix(childrenMax)))
      rest = rest.dropFirst(childrenMax)
    }
    return parts
  }
}
