import OperationFormat

/// How a series of pieces tells what numbers its units have. Its pieces are of one inserter and follow each other in the
/// document; what one of them typed was mostly typed soon after what stands in front of it.
///
/// A series in a leaf's row:
///
/// | bytes | what |
/// |---|---|
/// | 1 | flags, as of a piece: left origin (2), 0 (2), new inserter, some scalar takes several bytes, 1, 1 |
/// | varint ×2 | replica, epoch; only for a new inserter |
/// | varint | number of the first unit, as of a piece |
/// | varint | count of pieces − 2 |
/// | unit | the left origin of the first unit, if 3 |
/// | zigzag | depth of the first unit, as of a piece |
/// | … | bits, the highest of a byte first: the count of units of each piece, in front of all but the first the distance to its number; zeros up to a byte |
/// | varint | bytes of text − count of units; if some scalar takes several bytes |
/// | … | the UTF-8 of all pieces |
///
/// A count, from 1, is an Elias gamma code. A distance leads from the number behind the piece before to the first one of
/// the next piece. Of the codes that can tell it, it is the first of the shortest ones:
///
/// | bits | what |
/// |---|---|
/// | 1 | one number is left out |
/// | 00, … | more are: their count − 1, Elias gamma |
/// | 01, 6, … | a jump: how many bits follow, then the zigzag of the number less the one that the last jump left, or less that of the series' first unit |
///
/// A jump leaves the number behind the piece before: who types in the middle of a text makes two jumps, and the second
/// one leads back to where the first one was.
struct SeriesNumbers {
  /// The number behind the last piece.
  private var end: UInt64
  /// What the next jump is told from.
  private var base: UInt64

  /// - Parameter first: the first piece, with its units.
  init(from first: Piece) { (end, base) = (first.end, first.first.number) }

  /// How the distance to a number is told.
  func word(to number: UInt64) -> BitWord {
    if number == end &+ 1 { return BitWord(number: 1, width: 1) }
    let difference = zigzagBits(Int64(bitPattern: number &- base))
    let jump = Self.jump(difference, width: 64 - difference.leadingZeroBitCount)
    guard number > end else { return jump }
    var gap = BitWord.gamma(number - end - 1)
    gap.width += 2
    return gap.width <= jump.width ? gap : jump
  }

  /// - Parameter width: how many bits the difference has.
  private static func jump(_ difference: UInt64, width: Int) -> BitWord {
    BitWord(number: (1 << 6 | UInt64(width)) << UInt64(width) | difference, width: 8 + width)
  }

  /// Continues behind a piece to which the distance was told.
  mutating func pass(_ piece: Piece, by word: BitWord) {
    if word.isJump { base = end }
    end = piece.end
  }

  /// Reads a distance, and returns the number that it leads to.
  func read(
    _ bits: inout BitReader, _ reader: inout ByteReader
  ) throws(FormatError) -> (number: UInt64, word: BitWord) {
    let start = reader.position
    var number = end &+ 1
    var word = BitWord(number: 1, width: 1)
    if try bits.read(1, &reader) == 0 {
      if try bits.read(1, &reader) == 0 {
        word = BitWord.gamma(try bits.readGamma(&reader))
        word.width += 2
        number &+= word.number
      } else {
        let width = Int(try bits.read(6, &reader))
        let difference = try bits.read(width, &reader)
        word = Self.jump(difference, width: width)
        number = base &+ UInt64(bitPattern: unzigzag(difference))
      }
    }
    guard self.word(to: number) == word else {
      throw reader.fail(
        .invalid, at: start, "runs.piece.distance", expected: "the shortest code", found: "another")
    }
    return (number, word)
  }
}

extension BitWord {
  /// Of a distance: whether it begins with 01.
  fileprivate var isJump: Bool { width > 1 && number >> UInt64(width - 2) == 1 }
}

extension Piece {
  /// Whether one series can have this piece and the one in front of it.
  func isInSeries(after other: Piece) -> Bool {
    first.inserter == other.first.inserter && left == other.last && right == nil && other.right == nil
      && !text.isEmpty && !other.text.isEmpty
  }

  /// How many bytes its text has beyond one a scalar.
  var extraBytes: UInt64 { UInt64(text.count) &- count }
}
