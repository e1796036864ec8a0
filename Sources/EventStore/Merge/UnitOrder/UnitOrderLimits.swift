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

  /// Bytes of a leaf, or a row of places, that compaction writes, where nothing changes for long: as many as fill a page
  /// of 4,096 bytes, whose header has 16. LMDB gives a row of more than 2,038 bytes pages of its own, so that there is no
  /// room between rows. The first change cuts the row.
  var compactedRowBytesMax: Int { 4 * nodeBytesMax + 80 }

  /// Whether the last row of those that compaction writes takes fewer pages as two: it would have a page of its own, and its
  /// halves share one with other rows. From three quarters of a page on they would take as much.
  func isBetterHalved(_ rowBytes: Int) -> Bool { 2 * nodeBytesMax..<3 * nodeBytesMax ~= rowBytes }

  /// Children of an inner node: as many as fit, however great their counts. Their bytes do not count, so that
  /// nodes are cut at the same units whether a count grew at once or one by one.
  var childrenMax: Int { max(4, (nodeBytesMax - Leaf.headerBytes) / InnerNode.childBytesMax) }

  /// Children of an inner node that compaction writes. The first change below it cuts it in halves.
  var compactedChildrenMax: Int { 2 * childrenMax }

  package init(nodeBytesMax: Int = 1000) { self.nodeBytesMax = nodeBytesMax }
}
