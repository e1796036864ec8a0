import OperationFormat

/// Loading records of a snapshot: heads come as they are, and nothing that was seen goes.
extension Fold {
  /// Begins to load a record, or continues it in another transaction of LMDB.
  ///
  /// - Parameter isNew: whether the state must not have it.
  mutating func beginLoading(_ record: RawSpan, in state: StateNumber, isNew: Bool) throws {
    try loaded.loadOrBegin(record, in: state)
    if isNew, !loaded.isChanged {
      throw FormatError(
        .invalid, at: 0, in: "snapshot.record", expected: "a record that is not there", found: "one that is")
    }
    try willLoad()
  }

  /// Loads a record whole that comes after all records of the state.
  ///
  /// - Parameter cells: its cells, ascending, as a row of version 1 has them. None names a record, or has heads elsewhere.
  mutating func load(_ cells: RawSpan, of record: RawSpan, in state: StateNumber) throws {
    try loaded.beginLast(record, in: state)
    try willLoad()
    loaded.setCells(cells)
  }

  /// Sets by which transaction the loaded record was created.
  mutating func loadCreation(_ head: Head) throws {
    var creation = ByteWriter()
    Creation.append(head, to: &creation)
    loaded.splice(creation.span, as: .creation, at: try loaded.place(of: .creation))
  }

  /// Adds a head to a cell of the loaded record.
  mutating func load(_ head: Head, of path: CellPath, _ payload: RawSpan) throws {
    try replaceHeads(of: path, removing: .nothing, adding: head, payload: payload)
  }

  /// Whether the loaded record has nothing of a cell.
  mutating func hasNothing(of cell: CellNumber) throws -> Bool {
    if cell.isFieldRegister { try loaded.joinRegisters() }
    return try loaded.place(of: cell).body.isEmpty
  }

  /// Divides the loaded row if it has become large, before another cell comes into it.
  mutating func makeRoom() throws {
    if loaded.bytes.count > loaded.wholeRowBytesMax { try loaded.divideIfLarge() }
  }
}

extension UnitOrder where Storage: RunStorage {
  /// Puts units behind all others. Who made them is written already.
  ///
  /// - Complexity: O(log n) rows
  mutating func append(_ piece: Piece, text: [UInt8]) throws {
    var gap: Gap
    if root.height == 0 {
      gap = try makeFirstLeaf()
    } else {
      let node = try tree.endLeaf(below: root.node, levels: root.height - 1, isLast: true)
      let leaf = try tree.leaf(node)
      let last = leaf.pieces.count - 1
      gap = Gap(node: node, leaf: leaf, piece: last, offset: leaf.pieces[last].count)
    }
    try insert(piece, text: text[...], at: gap, areLast: false)
  }
}
