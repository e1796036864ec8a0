import OperationFormat

/// Neighbouring units that one entry can describe: of one inserter, their numbers one after the other,
/// the left origin of each the one before it, all with the same right origin, all visible or all hidden.
struct Piece: Hashable {
  var first: UnitID
  var count: UInt64
  /// The left origin of the first unit; nil for the start.
  var left: UnitID?
  /// The right origin of all; nil for the end.
  var right: UnitID?
  var isVisible: Bool
  /// The element that a move put here, inserted as another unit. Only a piece of one unit has it.
  var element: UnitID?
  /// The range of the text in the bytes of the leaf. Empty for hidden units and for places.
  var text: Range<Int>
  /// Of the first unit. Each other one's depth is one more, and its right depth 0.
  var level: Level

  /// The number after the last unit's.
  var end: UInt64 { first.number &+ count }

  var last: UnitID { UnitID(first.inserter, end &- 1) }

  /// The level of a unit, or of one that is put behind the last.
  func level(at offset: UInt64) -> Level {
    offset == 0 ? level : Level(depth: level.depth &+ offset, rightDepth: 0)
  }

  func contains(_ unit: UnitID) -> Bool {
    unit.replica == first.replica && unit.epoch == first.epoch && unit.number >= first.number
      && unit.number < end
  }

  /// Whether one entry can describe this piece and the one in front of it.
  func continues(_ other: Piece) -> Bool {
    first.number == other.end && first.inserter == other.first.inserter && left == other.last
      && right == other.right && isVisible == other.isVisible && element == nil && other.element == nil
  }
}

/// How many bytes the first `count` scalars of valid UTF-8 take.
///
/// - Complexity: O(1) for ASCII, else O(bytes)
func utf8ByteCount(of count: UInt64, in text: RawSpan, scalars: UInt64) -> Int {
  if scalars == UInt64(text.byteCount) { return Int(count) }
  if count >= scalars { return text.byteCount }
  var left = count
  var offset = 0
  while offset < text.byteCount {
    if text.unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0xc0 != 0x80 {
      if left == 0 { return offset }
      left &-= 1
    }
    offset &+= 1
  }
  return offset
}

/// How many scalars valid UTF-8 has.
func scalarCount(of text: RawSpan) -> UInt64 {
  if isASCII(text) { return UInt64(text.byteCount) }
  var count: UInt64 = 0
  var offset = 0
  while offset < text.byteCount {
    if text.unsafeLoad(fromByteOffset: offset, as: UInt8.self) & 0xc0 != 0x80 { count &+= 1 }
    offset &+= 1
  }
  return count
}
