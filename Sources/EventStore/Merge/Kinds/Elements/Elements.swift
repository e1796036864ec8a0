import OperationFormat

/// How sets and maps are folded: each element is a cell of its own, in a row of its own; the record's row
/// says how many there are.
enum Elements {
  /// Adds an element or removes it.
  ///
  /// - Parameters:
  ///   - identity: what stands for the element: see ``ElementName``.
  ///   - payload: the value at the key of a map.
  static func change<Storage>(
    _ cell: CellNumber, element identity: RawSpan, adds: Bool, payload: RawSpan, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let path = CellPath(cell, ElementName(identity))
    try fold.thin(path, at: index)
    try fold.replaceElement(path, identity, .seen(at: index), adds ? fold.step.head(at: index) : nil, payload)
  }

  /// Removes the heads of all elements of a cell that the transaction has seen.
  static func remove<Storage>(
    of cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>
  ) throws {
    let removal = HeadRemoval.seen(at: index)
    let prefix = ElementKey.elements(of: fold.state, record: try fold.recordNumber, cell: cell)
    // It may have been paused among the heads of an element.
    let paused = fold.bound.next?.elementOfHead.flatMap { $0.bytes.starts(with: prefix.bytes) ? $0 : nil }
    var next = paused ?? fold.bound.firstKey(under: prefix)
    while let first = next {
      let rows = try fold.storage.someRows(
        under: prefix, from: first, atOnce: fold.bound.rowsAtOnce
      ) { key, row in
        let identity = try ElementRow.identity(of: row)
        let heads = try RecordRow.heads(of: identity.upperBound..<row.byteCount, in: row)
        return try fold.step.mayRemove(removal, heads)
          ? (key: ElementKey(bytes: key.bytes), name: ElementName(row.extracting(identity))) : nil
      }
      try fold.bound.count(looked: rows.looked)
      for (place, element) in rows.found.enumerated() {
        // What comes before it is done, so that this continues each time.
        if place > 0 { try fold.bound.pauseIfSpent(at: element.key) }
        if element.key != paused { fold.bound.next = nil }
        let path = CellPath(cell, element.name)
        try fold.thin(path, at: index)
        try fold.replaceElement(path, RawSpan(), removal, nil, RawSpan())
        try fold.bound.count(removed: 1)
      }
      next = rows.next
      if let next { try fold.bound.pauseIfSpent(at: next) }
    }
  }

  /// Leaves each element with its greatest head alone, or none.
  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    let prefix = ElementKey.elements(of: fold.state, record: try fold.recordNumber, cell: cell)
    try fold.compactRows(under: prefix) { _, row in
      ElementName(row.extracting(try ElementRow.identity(of: row)))
    } compact: { names, fold in
      for name in names { try fold.compactHeads(of: CellPath(cell, name), keeps: keeps) { [$0[0]] } }
    }
  }
}
