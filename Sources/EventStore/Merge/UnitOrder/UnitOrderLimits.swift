/// Limits of a unit order.
package struct UnitOrderLimits: Hashable, Sendable {
  /// Units of a cell, hidden ones included: so that no sum of numbers read from rows overflows.
  static let unitsMax: UInt64 = 1 << 40
  /// Levels of the tree. With two children a node, the fewest, a tree of all units would have 41.
  static let heightMax: UInt32 = 48
  /// Bytes of a row of places or makers.
  static let packedBytesMax = 512

  /// Bytes of a node's row. A change parses a leaf and writes it: with twice as many it took 1.3 to 1.4 times
  /// as long.
  package var nodeBytesMax = 1000

  /// Children of an inner node: as many as fit, however great their counts. Their bytes do not count, so that
  /// nodes are cut at the same units whether a count grew at once or one by one.
  var childrenMax: Int { max(4, (nodeBytesMax - Leaf.headerBytes) / InnerNode.childBytesMax) }

  package init(nodeBytesMax: Int = 1000) { self.nodeBytesMax = nodeBytesMax }
}
