import OperationFormat

/// The units of one cell in the document's order: a text, or the places of a list. All units that ever were
/// stay, visible or not, for an insertion may name any of them, until compaction drops those that are hidden.
///
/// An insertion names its left origin. Its right origin is the first unit behind that, hidden ones included,
/// whose operation the inserting transaction has seen; or the end. A left origin that is not here, or that
/// the transaction has not seen, counts as the start. Among concurrent insertions the order is that of
/// FugueMax (Weidner and Kleppmann, "The Art of the Fugue", 2023), which does not mix runs typed at one
/// place, with the replica's identity, epoch and number to break ties: it follows from the insertions,
/// whatever causal order they are folded in.
///
/// What a transaction has seen of an inserter must be what that one inserted up to some number; with an
/// insertion it has seen all that this one had seen; and what it has seen must have been folded.
///
/// It keeps its rows in `storage` and its root in memory: after a change the caller writes ``root``.
package struct UnitOrder<Storage: RunReading> {
  var tree: UnitTree<Storage>
  /// What is known of what the inserting transaction has seen, if that is to be kept for the next insertion.
  var view: UnitOrderView?

  init(
    _ storage: Storage, _ keys: RunKeys, root: UnitOrderRoot, isText: Bool, limits: UnitOrderLimits = .init()
  ) {
    self.init(storage, keys, root: root, isText: isText, limits: limits, nodes: NodeCache())
  }

  init(
    _ storage: Storage, _ keys: RunKeys, root: UnitOrderRoot, isText: Bool, limits: UnitOrderLimits = .init(),
    nodes: NodeCache
  ) {
    tree = UnitTree(
      root: root, storage: storage, keys: keys, isText: isText, limits: limits, nodes: nodes)
  }

  /// Where the rows begin, and what is in them: to be written after changes.
  var root: UnitOrderRoot { tree.root }
  var isText: Bool { tree.isText }

  /// How many units are visible.
  package var count: Int { Int(clamping: root.visible) }

  /// Reads all rows of the cell and says what is wrong with them: nothing in a sound store.
  ///
  /// - Throws: `FormatError` for a row that cannot be read, and where the tree cannot be walked.
  /// - Complexity: O(n log n)
  package func verify() throws -> [String] { try UnitOrderVerification(tree: tree).problems() }
}

extension UnitOrder where Storage: RunStorage {
  /// Shows or hides units: see ``VisibilityChange/setVisible(_:_:_:)``.
  @discardableResult
  mutating func setVisible(
    _ isVisible: Bool, _ range: UnitRange, _ didVisit: (Bool) throws -> Bool = { _ in true }
  ) throws -> UnitID? {
    var change = VisibilityChange(tree)
    defer { tree = change.tree }
    return try change.setVisible(isVisible, range, didVisit)
  }

  /// Hides visible units a leaf at a time: see ``VisibilityChange/hide(from:_:_:)``.
  mutating func hide(
    from first: UnitID? = nil, _ numbers: (Inserter) throws -> Range<UInt64>,
    _ didVisit: (Bool) throws -> Bool
  ) throws -> UnitID? {
    var change = VisibilityChange(tree)
    defer { tree = change.tree }
    return try change.hide(from: first, numbers, didVisit)
  }
}
