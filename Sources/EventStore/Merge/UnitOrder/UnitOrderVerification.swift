import OperationFormat

/// Checks that the rows of a cell fit each other.
struct UnitOrderVerification<Storage: RunReading> {
  let tree: UnitTree<Storage>

  /// Reads all rows of the cell and says what is wrong with them: nothing in a sound store.
  ///
  /// - Throws: `FormatError` for a row that cannot be read, and where the tree cannot be walked.
  /// - Complexity: O(n log n)
  func problems() throws -> [String] {
    var check = UnitOrderCheck()
    var nodes: Set<NodeNumber> = []
    try tree.forEachLeaf { node, leaf in
      nodes.insert(node)
      check.add(leaf, node)
    }
    check.sortPieces()
    try tree.storage.forEachRun(under: tree.keys.prefix.span) { key, row in
      let kind = key.byteCount > 12 ? key.unsafeLoad(fromByteOffset: 12, as: UInt8.self) : 0
      switch (kind, key.byteCount) {
      case (RunKeys.nodeKind, RunKeys.nodeKeyBytes):
        let node = try key.bigEndian32(at: 13)
        let isLeaf = row.byteCount > 0 && row.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == Leaf.tag
        // An inner node was checked on the way to its leaves, unless no way leads there.
        if isLeaf ? !nodes.contains(node) : try !leads(to: node) {
          check.problems.append("node \(node) is not in the tree")
        }
        if node > tree.root.lastNode { check.problems.append("node \(node) was never given out") }
      case (RunKeys.placeKind, RunKeys.numberKeyBytes):
        let places = try PlaceRow(row, first: try RunKeys.number(of: key))
        check.places[try RunKeys.inserter(of: key), default: []] += places.entries
      case (RunKeys.makerKind, RunKeys.numberKeyBytes):
        let makers = try MakerRow(row, first: try RunKeys.number(of: key))
        check.add(makers, of: try RunKeys.inserter(of: key))
      default: check.problems.append("a row of kind \(kind) has a key of \(key.byteCount) bytes")
      }
    }
    check.finish()
    if check.dropped != tree.root.dropped {
      check.problems.append("\(check.dropped) units were dropped, not \(tree.root.dropped)")
    }
    return check.problems
  }

  /// Whether an inner node is below the root.
  private func leads(to node: NodeNumber) throws -> Bool {
    var node = node
    for _ in 0..<UnitOrderLimits.heightMax {
      if node == tree.root.node { return true }
      let parent = try tree.inner(node).parent
      guard parent != 0, try tree.inner(parent).children.contains(where: { $0.node == node }) else {
        return false
      }
      node = parent
    }
    return false
  }
}
