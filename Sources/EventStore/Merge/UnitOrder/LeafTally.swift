import OperationFormat

/// How many bytes a leaf's row takes, as pieces are put into it one behind the other.
struct LeafTally {
  /// The bytes of the row with all pieces.
  private(set) var byteCount = Leaf.headerBytes
  private var last: Piece?
  /// How many bytes the row has without the entry of the last piece.
  private var front = 0
  private var series = Series()

  /// The entry of the last piece, as one piece or as a series.
  private struct Series {
    /// Up to the left origin and the depth of the first piece, without the count.
    var headBytes = 0
    var pieces: UInt64 = 0
    var bits = 0
    var extraBytes: UInt64 = 0
    var textBytes = 0
    var numbers: SeriesNumbers?

    var byteCount: Int {
      headBytes + ByteWriter.varintByteCount(pieces - 2) + (bits + 7) / 8
        + (extraBytes > 0 ? ByteWriter.varintByteCount(extraBytes) : 0) + textBytes
    }

    mutating func add(_ piece: Piece) {
      if let word = numbers?.word(to: piece.first.number) {
        bits += word.width
        numbers?.pass(piece, by: word)
      } else {
        numbers = SeriesNumbers(from: piece)
      }
      pieces += 1
      bits += BitWord.gamma(piece.count).width
      extraBytes += piece.extraBytes
      textBytes += piece.text.count
    }
  }

  /// The bytes of the row if another piece came behind the last one.
  func byteCount(with piece: Piece, in leaf: Leaf) -> Int {
    var tally = self
    tally.add(piece, before: nil, in: leaf)
    return tally.byteCount
  }

  /// - Parameters:
  ///   - next: the piece behind it, nil for none.
  ///   - leaf: has the text.
  mutating func add(_ piece: Piece, before next: Piece?, in leaf: Leaf) {
    if let last, piece.isInSeries(after: last) {
      series.add(piece)
      byteCount = front + series.byteCount
    } else {
      let bytes = leaf.byteCount(of: piece, after: last, before: next)
      front = byteCount
      byteCount += bytes
      series = Series()
      series.headBytes = bytes - piece.text.count
      if piece.count > 1, !piece.text.isEmpty {
        series.headBytes -= ByteWriter.varintByteCount(piece.count - 2)
        series.headBytes -= ByteWriter.varintByteCount(piece.extraBytes)
      }
      series.add(piece)
    }
    last = piece
  }
}
