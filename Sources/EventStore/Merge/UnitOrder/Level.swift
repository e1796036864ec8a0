/// Where a unit is in the tree of origins. It never changes.
///
/// Each unit is below its left origin. Units with the same left origin form a tree of their own, by right
/// origin. In the document's order, the units below one by left origin follow it directly: all with a greater
/// depth, up to the first without. The units below one by right origin stand before it, have its depth and a
/// greater right depth. So comparing levels finds what is below a unit and what it is below.
struct Level: Hashable, Comparable {
  /// How many units there are from its left origin on to the start.
  var depth: UInt64
  /// How many units there are from its right origin on, as long as they have the left origin that it has.
  var rightDepth: UInt64

  static func < (a: Level, b: Level) -> Bool { (a.depth, a.rightDepth) < (b.depth, b.rightDepth) }
}
