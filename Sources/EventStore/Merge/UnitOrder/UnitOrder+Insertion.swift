import OperationFormat

/// Inserting units.
extension UnitOrder where Storage: RunStorage {
  /// Inserts the scalars of a text behind a unit.
  ///
  /// An operation that has made the inserter's last units gets more of them if `left` is the last one: then
  /// all is as if it had brought them at once.
  ///
  /// - Parameters:
  ///   - text: UTF-8, not empty.
  ///   - left: the left origin, nil for the start.
  ///   - hasSeen: whether the operation's transaction has seen another operation.
  /// - Returns: the first unit; the others have the numbers that follow.
  /// - Complexity: O(log n) rows for each writer that inserted at that place what the transaction has not
  ///   seen; O(log n) rows in all where ``view`` knows what comes behind `left`.
  mutating func insert(
    text: RawSpan, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(isText, "a list has places")
    guard !text.isEmpty, isUTF8(text) else {
      throw FormatError(
        .invalidUTF8, at: 0, in: "insertion.text", expected: "UTF-8 of at least one byte",
        found: "other bytes")
    }
    return try insert(
      scalarCount(of: text), text: text.bytes, element: nil, by: operation, after: left, hasSeen: hasSeen)
  }

  /// Inserts places into a list behind a unit; else as ``insert(text:by:after:hasSeen:)``.
  mutating func insert(
    places count: UInt64, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(!isText, "a text has scalars")
    return try insert(count, text: [], element: nil, by: operation, after: left, hasSeen: hasSeen)
  }

  /// Inserts one place into a list for an element that was inserted as another unit; else as
  /// ``insert(text:by:after:hasSeen:)``.
  mutating func insert(
    placeOf element: UnitID, by operation: HeadID, after left: UnitID?, hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    precondition(!isText, "a text has scalars")
    guard element.number < UnitOrderLimits.unitsMax else { throw Self.tooMany("unit \(element.number)") }
    return try insert(1, text: [], element: element, by: operation, after: left, hasSeen: hasSeen)
  }

  private static func tooMany(_ found: String) -> FormatError {
    FormatError(
      .limitExceeded, at: 0, in: "insertion", expected: "1 to \(UnitOrderLimits.unitsMax) units in all",
      found: found)
  }

  private mutating func insert(
    _ count: UInt64, text: [UInt8], element: UnitID?, by operation: HeadID, after left: UnitID?,
    hasSeen: (HeadID) throws -> Bool
  ) throws -> UnitID {
    let inserter = Inserter(operation)
    let makers = try tree.lastMakerRow(of: inserter)
    let first = UnitID(inserter, makers?.end ?? 0)
    guard count > 0, count <= UnitOrderLimits.unitsMax, root.made <= UnitOrderLimits.unitsMax - count,
      first.number <= UnitOrderLimits.unitsMax - count
    else { throw Self.tooMany("\(root.made) and \(count) more") }

    // It is taken out, so that nothing of it is copied.
    let isKept = view != nil
    var search = GapSearch(tree, view.take() ?? UnitOrderView())
    defer { if isKept { view = search.view } }
    search.view.begin(first, from: inserter)
    var gap: Gap
    let isExtension: Bool
    if let left, left.inserter == inserter, left.number &+ 1 == first.number, let last = makers?.last,
      last.sequence == operation.sequence, last.index == operation.index, let found = try tree.find(left)
    {
      isExtension = true
      let piece = found.leaf.pieces[found.piece]
      gap = Gap(node: found.node, leaf: found.leaf, piece: found.piece, offset: piece.count)
      gap.left = left
      gap.right = piece.right
      gap.level = piece.level(at: piece.count)
    } else {
      isExtension = false
      gap = try root.height == 0 ? makeFirstLeaf() : search.gap(for: first, after: left, hasSeen)
    }

    try tree.addMaker(operation, units: count, isExtension: isExtension, to: makers)
    let piece = Piece(
      first: first, count: count, left: gap.left, right: gap.right, isVisible: true, element: element,
      text: 0..<0, level: gap.level)
    try insert(piece, text: text[...], at: gap)
    search.view.learn(piece)
    return first
  }

  /// Inserts units whose makers are written already.
  ///
  /// A leaf that becomes too long is cut at the first unit for which that is so, and the others go on behind
  /// it: the rows are the same if the operation gets its units one by one.
  ///
  /// - Parameter areLast: whether the inserter has none after them.
  mutating func insert(
    _ piece: Piece, text: ArraySlice<UInt8>, at gap: Gap, areLast: Bool = true
  ) throws {
    var (piece, text, gap) = (piece, text, gap)
    while true {
      var part = piece
      part.count = gap.unitsToTake(of: piece, text, bytesMax: tree.limits.nodeBytesMax)
      let bytes = Gap.byteCount(of: part.count, in: text, units: piece.count)
      let index = gap.insert(part, text: text.prefix(bytes))
      try tree.place(part.first.number..<part.end, of: part.first.inserter, in: gap.node, areLast: areLast)
      try tree.write(gap.leaf, gap.node, changed: index)
      if part.count == piece.count { return }
      piece.first.number = part.end
      piece.count &-= part.count
      piece.left = part.last
      piece.level = part.level(at: part.count)
      text = text.dropFirst(bytes)
      guard let last = try tree.find(part.last) else {
        throw FormatError.damagedRuns("makers", expected: "unit \(part.end - 1)", found: "fewer")
      }
      gap = Gap(
        node: last.node, leaf: last.leaf, piece: last.piece, offset: last.leaf.pieces[last.piece].count)
    }
  }

  /// The leaf of an empty unit order, which is written with the first piece in it.
  mutating func makeFirstLeaf() throws -> Gap {
    tree.root.node = try tree.makeNode()
    tree.root.height = 1
    return Gap(node: root.node, leaf: Leaf(parent: 0), piece: 0, offset: 0)
  }
}
