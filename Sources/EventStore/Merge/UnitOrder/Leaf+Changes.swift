import OperationFormat

/// Cutting and joining pieces and leaves.
extension Leaf {
  /// Cuts a piece before one of its units, which must not be the first.
  mutating func cutPiece(_ index: Int, before offset: UInt64) {
    var piece = pieces[index]
    var rest = piece
    piece.count = offset
    rest.first.number &+= offset
    rest.count &-= offset
    rest.left = piece.last
    rest.level = piece.level(at: offset)
    if !piece.text.isEmpty {
      let bytes = withText(of: rest) { utf8ByteCount(of: offset, in: $0, scalars: rest.count &+ offset) }
      piece.text = rest.text.lowerBound..<rest.text.lowerBound + bytes
      rest.text = piece.text.upperBound..<rest.text.upperBound
    }
    pieces[index] = piece
    pieces.insert(rest, at: index + 1)
  }

  /// Inserts a piece with its text, and joins it with the one before where that is possible.
  ///
  /// - Returns: the index of the piece that has the units.
  mutating func insert(_ piece: Piece, text: ArraySlice<UInt8>, at index: Int) -> Int {
    var piece = piece
    let start = bytes.count
    bytes += text
    piece.text = start..<bytes.count
    pieces.insert(piece, at: index)
    return index > 0 && joinPiece(index - 1) ? index - 1 : index
  }

  /// Joins a piece with the next one where that is possible.
  @discardableResult
  mutating func joinPiece(_ index: Int) -> Bool {
    guard pieces[index + 1].continues(pieces[index]) else { return false }
    var piece = pieces[index]
    let next = pieces.remove(at: index + 1)
    piece.count &+= next.count
    if piece.text.upperBound == next.text.lowerBound {
      piece.text = piece.text.lowerBound..<next.text.upperBound
    } else if !next.text.isEmpty {
      if piece.text.upperBound != bytes.count {
        let start = bytes.count
        bytes += bytes[piece.text]
        piece.text = start..<bytes.count
      }
      bytes += bytes[next.text]
      piece.text = piece.text.lowerBound..<bytes.count
    }
    pieces[index] = piece
    return true
  }

  /// Appends the pieces of the next leaf.
  mutating func append(_ next: Leaf) {
    let offset = bytes.count
    let boundary = pieces.count - 1
    bytes += next.bytes
    for var piece in next.pieces {
      piece.text = piece.text.lowerBound + offset..<piece.text.upperBound + offset
      pieces.append(piece)
    }
    joinPiece(boundary)
  }

  /// Shows or hides those units of a piece that are in `numbers`.
  ///
  /// - Returns: how many pieces there are now instead of it; nil if nothing changed.
  mutating func setVisible(_ isVisible: Bool, _ numbers: Range<UInt64>, inPiece index: Int) -> Int? {
    let piece = pieces[index]
    let (start, end) = (max(numbers.lowerBound, piece.first.number), min(numbers.upperBound, piece.end))
    guard piece.isVisible != isVisible, start < end else { return nil }
    var (index, count) = (index, 1)
    if start > piece.first.number {
      cutPiece(index, before: start - piece.first.number)
      (index, count) = (index + 1, count + 1)
    }
    if end < piece.end {
      cutPiece(index, before: end - start)
      count += 1
    }
    pieces[index].isVisible = isVisible
    // A text's units are only ever hidden, and what was hidden is gone.
    pieces[index].text = 0..<0
    return count
  }

  // MARK: Cutting leaves

  /// Cuts a leaf that is too long into leaves that are not.
  ///
  /// Where the last piece changed, as when a text is typed forward, the first leaf is left full, else it ends
  /// behind what was changed, so that the next insertion continues there, or in the middle.
  ///
  /// - Parameter piece: the last piece that changed.
  func cut(changed: Int, bytesMax: Int) -> [Leaf] {
    var target = bytesMax
    var tally = LeafTally()
    if changed + 1 < pieces.count {
      var end = 0
      for index in pieces.indices {
        tally.add(pieces[index], before: index + 1 < pieces.count ? pieces[index + 1] : nil, in: self)
        if index == changed { end = tally.byteCount }
      }
      let half = tally.byteCount / 2
      if tally.byteCount <= 2 * bytesMax {
        target = end >= half && end + 16 <= bytesMax ? end + 16 : half
      }
      tally = LeafTally()
    }
    var part = Leaf(parent: parent)
    part.bytes = bytes
    var parts: [Leaf] = []
    var index = 0
    var piece = pieces[0]
    func finish() {
      parts.append(part)
      part.pieces.removeAll()
      tally = LeafTally()
      target = bytesMax
    }
    while true {
      let byteCount = tally.byteCount(with: piece, in: self)
      if byteCount > target {
        let room = target - tally.byteCount
        if let (front, rest) = part.fill(room, with: piece, byteCount: byteCount - tally.byteCount) {
          part.pieces.append(front)
          piece = rest
          finish()
          continue
        }
        if !part.pieces.isEmpty {
          finish()
          continue
        }
      }
      let next = index + 1 < pieces.count ? pieces[index + 1] : nil
      tally.add(piece, before: next, in: self)
      part.pieces.append(piece)
      index += 1
      guard let next else { break }
      piece = next
    }
    parts.append(part)
    return parts
  }

  /// Fewer bytes of text than these are not cut off to fill a leaf.
  private static let filledBytesMin = 16

  /// Cuts a piece of text so that its front takes at most some bytes; nil if it is none or that is not worth
  /// it.
  private func fill(_ room: Int, with piece: Piece, byteCount: Int) -> (front: Piece, rest: Piece)? {
    let isFirst = pieces.isEmpty
    var textBytes = min(room - (byteCount - piece.text.count), piece.text.count - 1)
    guard piece.count > 1, !piece.text.isEmpty, textBytes >= Self.filledBytesMin || isFirst else {
      return nil
    }
    textBytes = max(textBytes, 1)
    func isInScalar(_ offset: Int) -> Bool {
      offset < piece.text.count && bytes[piece.text.lowerBound + offset] & 0xc0 == 0x80
    }
    while isInScalar(textBytes) { textBytes -= 1 }
    if textBytes == 0 {
      // The first scalar goes in whole, however little room there is.
      textBytes = 1
      while isInScalar(textBytes) { textBytes += 1 }
    }
    var (front, rest) = (piece, piece)
    front.text = piece.text.lowerBound..<piece.text.lowerBound + textBytes
    rest.text = front.text.upperBound..<piece.text.upperBound
    guard !rest.text.isEmpty else { return nil }
    front.count = scalarCount(of: bytes.span.bytes.extracting(front.text))
    rest.first.number &+= front.count
    rest.count &-= front.count
    rest.left = front.last
    rest.level = front.level(at: front.count)
    return (front, rest)
  }
}
