import OperationFormat

/// The units of one cell in the document's order: a text, or the places of a list. All units that ever were stay,
/// visible or not, for an insertion may name any of them.
///
/// An insertion names its left origin. Its right origin is the first unit behind that, hidden ones included, whose
/// operation the inserting transaction has seen; or the end. A left origin that is not here, or that the transaction has
/// not seen, counts as the start. Among concurrent insertions the order is that of FugueMax (Weidner and Kleppmann, "The
/// Art of the Fugue", 2023), which does not mix runs typed at one place, with the replica's identity, epoch and
/// number to break ties: it follows from the insertions, whatever causal order they are folded in.
///
/// What a transaction has seen of an inserter must be what that one inserted up to some number; with an insertion it has seen
/// all that this one had seen; and what it has seen must have been folded.
///
/// It keeps its rows in `storage` and its root in memory: whoever changes it writes ``root`` afterwards.
package struct UnitOrder<Storage: RunReading> {
  /// Where the rows begin, and what is in them: to be written after changes.
  package internal(set) var root: UnitOrderRoot
  let storage: Storage
  let keys: RunKeys
  let isText: Bool
  let limits: UnitOrderLimits
  /// What is known of what the inserting transaction has seen, if that is to be kept for the next insertion.
  package var view: UnitOrderView?
  let nodes: NodeCache

  package init(
    _ storage: Storage, _ keys: RunKeys, root: UnitOrderRoot, isText: Bool, limits: UnitOrderLimits = .init()
  ) {
    self.init(storage, keys, root: root, isText: isText, limits: limits, nodes: NodeCache())
  }

  init(
    _ storage: Storage, _ keys: RunKeys, root: UnitOrderRoot, isText: Bool, limits: UnitOrderLimits = .init(),
    nodes: NodeCache
  ) {
    self.nodes = nodes
    self.storage = storage
    self.keys = keys
    self.root = root
    self.isText = isText
    self.limits = limits
  }

  /// How many units are visible.
  package var count: Int { Int(clamping: root.visible) }

  // MARK: Nodes

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

  /// The nearest leaf before or behind one that is wanted, by what the nodes above tell of it and of those that it is
  /// below; nil if there is none.
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

  /// A leaf in which a unit lies, and which of its pieces has it; nil if there is no such unit.
  func find(_ unit: UnitID) throws -> (node: NodeNumber, leaf: Leaf, piece: Int)? {
    guard let row = try makerRow(atMost: unit), unit.number < row.end else { return nil }
    guard let node = try leafNumber(of: unit) else {
      throw FormatError.damagedRuns("places", expected: "the leaf of a unit", found: "none")
    }
    let leaf = try leaf(node)
    guard let piece = leaf.pieces.firstIndex(where: { $0.contains(unit) }) else {
      throw FormatError.damagedRuns("places", expected: "a unit in leaf \(node)", found: "others")
    }
    return (node, leaf, piece)
  }

  /// How many units lie before a leaf: all of them, and the visible ones.
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
}
