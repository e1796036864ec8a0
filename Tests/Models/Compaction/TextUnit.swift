/// A unit of a text.
struct TextUnit: Hashable {
  let name: UnitName
  /// The write that inserted it. Of a compacted one it decides nothing.
  let write: Int
  /// Whether compaction kept it: then it stands at the floor.
  var isCompacted = false
  /// The units between which it was inserted. The left one is nil for the start; the right one is nil for the
  /// end, and for a unit that has another left one.
  var left: UnitName?
  var right: UnitName?
  var isRemoved = false

  /// What says whether a transaction has seen its insertion.
  var head: Head { Head(number: write, writer: name.writer, value: 0, isCompacted: isCompacted) }
}
