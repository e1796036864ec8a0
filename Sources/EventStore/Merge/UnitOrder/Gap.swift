import OperationFormat

/// A place to insert at.
struct Gap {
  var node: NodeNumber
  var leaf: Leaf
  /// The piece that it is in or before, and how many units of that piece are in front of it.
  var piece: Int
  var offset: UInt64
  var left: UnitID?
  var right: UnitID?
  /// Of a unit that is put here.
  var level = Level(depth: 0, rightDepth: 0)

  /// Puts units here.
  ///
  /// - Returns: the index of the piece that has them.
  mutating func insert(_ new: Piece, text: ArraySlice<UInt8>) -> Int {
    var index = piece
    if offset > 0 {
      if offset < leaf.pieces[index].count { leaf.cutPiece(index, before: offset) }
      index += 1
    }
    return leaf.insert(new, text: text, at: index)
  }

  /// How many units the leaf can take and, where it cannot take all, one more.
  func unitsToTake(of new: Piece, _ text: ArraySlice<UInt8>, bytesMax: Int) -> UInt64 {
    func room(with count: UInt64) -> Int {
      var (gap, part) = (self, new)
      part.count = count
      _ = gap.insert(part, text: text.prefix(Self.byteCount(of: count, in: text, units: new.count)))
      var writer = ByteWriter()
      gap.leaf.append(to: &writer)
      return bytesMax - writer.count
    }
    // The leaf is as its row has it: mostly there is room, however the piece and those beside it are told.
    if leaf.rowBytes + text.count + Leaf.insertionBytesMax <= bytesMax { return new.count }
    // A scalar takes a byte at least.
    var tooMany = text.isEmpty ? new.count : min(new.count, UInt64(bytesMax))
    if tooMany < bytesMax, room(with: tooMany) >= 0 { return tooMany }
    var few: UInt64 = 0
    // A row grows by little more than the text: what is left of it tells how many more it can take.
    var guess = bytesMax - leaf.rowBytes
    var guesses = text.isEmpty ? 0 : 8
    while tooMany - few > 1 {
      var count = few + (tooMany - few) / 2
      if guesses > 0 {
        count = min(max(UInt64(max(guess, 0)), few + 1), tooMany - 1)
        guesses -= 1
      }
      let room = room(with: count)
      if room >= 0 { few = count } else { tooMany = count }
      guess = Int(count) + room * Int(clamping: new.count) / max(text.count, 1)
    }
    return tooMany
  }

  /// How many bytes the first units of a text take; none for places.
  static func byteCount(of count: UInt64, in text: ArraySlice<UInt8>, units: UInt64) -> Int {
    text.isEmpty ? 0 : utf8ByteCount(of: count, in: text.span.bytes, scalars: units)
  }
}
