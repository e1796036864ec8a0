import OperationFormat

extension Leaf {
  /// Both *several units* and *element*.
  static let seriesFlags: UInt8 = 0xc0

  /// Appends the row.
  func append(to writer: inout ByteWriter) {
    writer.append(Self.tag)
    writer.append(bigEndian: parent)
    var index = 0
    while index < pieces.count {
      var end = index + 1
      while end < pieces.count, pieces[end].isInSeries(after: pieces[end - 1]) { end += 1 }
      append(
        pieces[index..<end], after: index > 0 ? pieces[index - 1] : nil,
        before: end < pieces.count ? pieces[end] : nil, to: &writer)
      index = end
    }
  }

  /// Appends a piece, or a series of them, between its neighbours in the row, nil where it has none.
  private func append(
    _ entry: some RandomAccessCollection<Piece>, after previous: Piece?, before next: Piece?,
    to writer: inout ByteWriter
  ) {
    guard let piece = entry.first else { return }
    let isSeries = entry.count > 1
    var flags: UInt8 = 0
    let isNewInserter = previous?.first.inserter != piece.first.inserter
    if let left = piece.left {
      let isBefore = left.inserter == piece.first.inserter && left.number &+ 1 == piece.first.number
      flags |= isBefore ? 2 : left == previous?.last ? 1 : 3
    }
    if let right = piece.right {
      flags |= (right == previous?.right ? 1 : right == next?.first ? 2 : 3) << 2
    }
    if isNewInserter { flags |= 0x10 }
    if isSeries {
      flags |= Self.seriesFlags
      if entry.contains(where: { $0.extraBytes > 0 }) { flags |= 0x20 }
    } else {
      if !piece.isVisible { flags |= 0x20 }
      if piece.count > 1 { flags |= 0x40 }
      if piece.element != nil { flags |= 0x80 }
    }
    writer.append(flags)
    if isNewInserter {
      writer.append(varint: UInt64(piece.first.replica.rawValue))
      writer.append(varint: UInt64(piece.first.epoch))
      writer.append(varint: piece.first.number)
    } else {
      writer.append(zigzag: Int64(bitPattern: piece.first.number &- (previous?.end ?? 0)))
    }
    if isSeries {
      writer.append(varint: UInt64(entry.count) - 2)
    } else if piece.count > 1 {
      writer.append(varint: piece.count - 2)
    }
    if let left = piece.left, flags & 3 == 3 { writer.append(left, from: piece.first) }
    if let right = piece.right, flags >> 2 & 3 == 3 { writer.append(right, from: piece.first) }
    if flags & 3 > 1 {
      writer.append(zigzag: Int64(bitPattern: piece.level.depth &- (previous?.level.depth ?? 0)))
    }
    let rightKind = flags >> 2 & 3
    if rightKind == 3 || (rightKind == 1 && flags & 3 != 1 && piece.left != previous?.left) {
      writer.append(varint: piece.level.rightDepth)
    }
    if let element = piece.element { writer.append(element, from: piece.first) }
    if isSeries {
      appendNumbers(of: entry, to: &writer)
      if flags & 0x20 != 0 { writer.append(varint: entry.reduce(0) { $0 + $1.extraBytes }) }
    } else if piece.count > 1, !piece.text.isEmpty {
      writer.append(varint: piece.extraBytes)
    }
    for piece in entry where !piece.text.isEmpty { withText(of: piece) { writer.append($0) } }
  }

  /// How many bytes a piece takes between two others, if it is in no series.
  func byteCount(of piece: Piece, after previous: Piece?, before next: Piece?) -> Int {
    var writer = ByteWriter()
    append(CollectionOfOne(piece), after: previous, before: next, to: &writer)
    return writer.count
  }

  private func appendNumbers(of series: some Collection<Piece>, to writer: inout ByteWriter) {
    var bits = BitWriter()
    var numbers: SeriesNumbers?
    for piece in series {
      if let word = numbers?.word(to: piece.first.number) {
        bits.append(word, to: &writer)
        numbers?.pass(piece, by: word)
      } else {
        numbers = SeriesNumbers(from: piece)
      }
      bits.append(.gamma(piece.count), to: &writer)
    }
    bits.finish(&writer)
  }
}

extension ByteWriter {
  fileprivate mutating func append(_ unit: UnitID, from first: UnitID) {
    if unit.inserter == first.inserter {
      let distance = Int64(bitPattern: unit.number &- first.number)
      append(varint: zigzagBits(distance) << 1)
    } else {
      append(varint: UInt64(unit.replica.rawValue) << 1 | 1)
      append(varint: UInt64(unit.epoch))
      append(varint: unit.number)
    }
  }
}
