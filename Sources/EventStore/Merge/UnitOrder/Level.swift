/// Where a unit stands in the tree of left origins, in which the units that have the same left origin are
/// again a tree, by their right origins. It never changes.
///
/// In the document's order the units behind one that have a greater depth, up to the first that has not, hang
/// from it by their left origins. Before a unit, those of its depth that hang from it by their right origins
/// have a greater right depth. So what hangs from a unit, and what it hangs from, is found by comparing
/// levels.
struct Level: Hashable, Comparable {
  /// How many units there are from its left origin on to the start.
  var depth: UInt64
  /// How many units there are from its right origin on, as long as they have the left origin that it has.
  var rightDepth: UInt64

  static func < (a: Level, b: Level) -> Bool { (a.depth, a.rightDepth) < (b.depth, b.rightDepth) }
}
