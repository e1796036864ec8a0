import OperationFormat

/// Tells the stamps and indices of heads, in the order of the cells.
struct HeadOrderInRow {
  /// That of the head before.
  private(set) var stamp = 0
  private var expected: UInt32
  private let existence: UInt32
  /// How many stamps the heads had so far.
  private(set) var stamps = 1

  /// - Parameter cells: those of the row, before the first.
  init(_ row: PackedRow, _ cells: PackedCells) {
    self.init(existence: row.isExistenceInFull ? nil : row.index, cellCount: cells.count())
  }

  init() { self.init(existence: nil, cellCount: 0) }

  /// - Parameter existence: the index of the existence's operation; nil if it is in full.
  init(existence: UInt32?, cellCount: Int) {
    self.existence = existence ?? 0
    expected = existence.map { UInt32(clamping: Int($0) + 1 - cellCount) } ?? 0
  }

  /// The stamp and the index of the next cell that has one head.
  ///
  /// - Parameter reader: is where the cell tells them.
  @inline(__always)
  mutating func next(_ marker: UInt8, _ reader: inout PlainReader) -> (stamp: Int, index: UInt32) {
    if marker & (PackedCells.Mark.stamp | PackedCells.Mark.index) != 0 { read(marker, &reader) }
    let index = expected
    expected = index &+ 1
    return (stamp, index)
  }

  private mutating func read(_ marker: UInt8, _ reader: inout PlainReader) {
    switch marker & PackedCells.Mark.stamp {
    case PackedCells.Mark.stampFollows: (stamp, expected) = (note(reader.varint()), 0)
    case PackedCells.Mark.newStamp: (stamp, expected) = (note(UInt64(stamps)), 0)
    case PackedCells.Mark.firstStamp: (stamp, expected) = (0, existence)
    default: break
    }
    if marker & PackedCells.Mark.index != 0 { expected = reader.number() }
  }

  /// The number of a head's stamp.
  mutating func note(_ number: UInt64) -> Int {
    let stamp = Int(clamping: number)
    if stamp >= stamps, stamp < Stamp.countMax { stamps = stamp + 1 }
    return stamp
  }

  // MARK: Writing

  /// What a cell with one head says of it: the bits of its first byte, and whether the stamp or the index
  /// follows.
  @inline(__always)
  mutating func mark(_ number: Int, _ index: UInt32) -> UInt8 {
    var mark: UInt8 = 0
    if number != stamp {
      if number == stamps {
        (mark, expected) = (PackedCells.Mark.newStamp, 0)
        stamps += 1
      } else if number == 0 {
        (mark, expected) = (PackedCells.Mark.firstStamp, existence)
      } else {
        (mark, expected) = (PackedCells.Mark.stampFollows, 0)
      }
      stamp = number
    }
    if index != expected { mark |= PackedCells.Mark.index }
    expected = index &+ 1
    return mark
  }
}
