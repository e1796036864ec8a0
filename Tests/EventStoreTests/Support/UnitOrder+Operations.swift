@testable import EventStore

extension UnitOrder {
  /// The sequence as the fold has it at the start of each operation: with its root and its view, and nothing
  /// else in memory.
  func forNextOperation() -> UnitOrder {
    var next = UnitOrder(storage, tree.keys, root: root, isText: isText, limits: tree.limits)
    next.view = view
    return next
  }
}

/// What the tests look at of the tree.
extension UnitOrder {
  var storage: Storage { tree.storage }

  func forEachLeaf(_ body: (NodeNumber, Leaf) throws -> Void) throws { try tree.forEachLeaf(body) }
}
