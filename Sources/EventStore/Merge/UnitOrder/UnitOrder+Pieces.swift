import OperationFormat

/// Reading all units.
extension UnitOrder {
  /// The lanes that have made units.
  func inserters() throws -> [Inserter] {
    var found: [Inserter] = []
    let first = tree.keys.makers(UnitID(Inserter(replica: .none, epoch: 0), 0))
    let prefix = first.span.extracting(..<(RunKeys.inserterBytes - 8)).bytes
    try tree.storage.forEachRun(under: prefix.span.bytes) { key, _ in
      let inserter = try RunKeys.inserter(of: key)
      if found.last != inserter { found.append(inserter) }
    }
    return found
  }

  /// Calls a closure with all units in the document's order, in pieces as long as possible but for a limit, however the
  /// rows are cut.
  func forEachPiece(unitsMax: UInt64, _ body: (Piece, ArraySlice<UInt8>) throws -> Void) throws {
    var last: (piece: Piece, text: [UInt8])?
    /// Gives full pieces away, or all.
    func give(all: Bool) throws {
      while let (whole, text) = last, all || whole.count >= unitsMax {
        var (piece, rest) = (whole, whole)
        piece.count = min(piece.count, unitsMax)
        let bytes = Gap.byteCount(of: piece.count, in: text[...], units: rest.count)
        try body(piece, text[..<bytes])
        rest.level = rest.level(at: piece.count)
        rest.left = piece.last
        rest.first.number = piece.end
        rest.count -= piece.count
        last = rest.count == 0 ? nil : (rest, Array(text[bytes...]))
      }
    }
    try tree.forEachLeaf { _, leaf in
      for var piece in leaf.pieces {
        let text = leaf.bytes[piece.text]
        piece.text = 0..<0
        if let before = last?.piece, piece.continues(before) {
          last?.piece.count += piece.count
          last?.text += text
        } else {
          try give(all: true)
          last = (piece, Array(text))
        }
        try give(all: false)
      }
    }
    try give(all: true)
  }
}
