import OperationFormat

/// Sets and maps: each element is a cell of its own, in a row of its own; the record's row says how many there are.
extension Fold {
  /// Adds an element or removes it.
  ///
  /// - Parameters:
  ///   - identity: what stands for the element: see ``ElementName``.
  ///   - payload: the value at the key of a map.
  mutating func change(
    _ cell: CellNumber, element identity: RawSpan, adds: Bool, payload: RawSpan, index: UInt32
  ) throws {
    let path = CellPath(cell, ElementName(identity))
    try thin(path, at: index)
    try replaceElement(path, identity, .seen(at: index), adds ? head(at: index) : nil, payload)
  }

  /// Removes the heads of all elements of a cell that the transaction has seen.
  mutating func removeElements(of cell: CellNumber, seenAt index: UInt32) throws {
    let removal = Removal.seen(at: index)
    let prefix = ElementKey.elements(of: state, record: try recordNumber, cell: cell)
    // It may have been paused among the heads of an element.
    let paused = bound.next?.elementOfHead.flatMap { $0.bytes.starts(with: prefix.bytes) ? $0 : nil }
    var next = paused ?? firstKey(under: prefix)
    while let first = next {
      let rows = try someRows(under: prefix, from: first) { key, row in
        let identity = try ElementRow.identity(of: row)
        let heads = try RecordLayout.heads(of: identity.upperBound..<row.byteCount, in: row)
        return try mayRemove(removal, heads)
          ? (key: ElementKey(bytes: key.bytes), name: ElementName(row.extracting(identity))) : nil
      }
      try bound.count(looked: rows.looked)
      for (place, element) in rows.found.enumerated() {
        // What comes before it is done, so that this continues each time.
        if place > 0 { try bound.pauseIfSpent(at: element.key) }
        if element.key != paused { bound.next = nil }
        let path = CellPath(cell, element.name)
        try thin(path, at: index)
        try replaceElement(path, RawSpan(), removal, nil, RawSpan())
        try bound.count(removed: 1)
      }
      next = rows.next
      if let next { try bound.pauseIfSpent(at: next) }
    }
  }

  /// - Parameter identity: not needed of an element that has a row.
  mutating func replaceElement(
    _ path: CellPath, _ identity: RawSpan, _ removal: Removal, _ added: Head?, _ payload: RawSpan
  ) throws {
    guard let name = path.element else { preconditionFailure("a cell that is no element") }
    let key = ElementKey(state: state, record: try recordNumber, cell: path.cell, element: name)
    let known = try storage.readElement(key)
    var edited = ByteWriter()
    swap(&edited, &self.edited)
    defer { swap(&edited, &self.edited) }
    edited.removeAll()
    let row = known ?? []
    if known == nil {
      if added == nil { return }
      edited.append(count: identity.byteCount)
      edited.append(identity)
    } else {
      edited.append(row.span.bytes.extracting(..<(try ElementRow.identity(of: row.span.bytes).upperBound)))
    }
    let headerBytes = edited.count
    let body = headerBytes..<max(row.count, headerBytes)
    let done = try edit(
      path, in: row.span.bytes, known == nil ? 0..<0 : body, removal, added, payload, to: &edited)
    if done.isContested { conflictCount += 1 }
    let isThere = edited.count > headerBytes
    if isThere {
      try storage.writeElement(edited.span, key)
      if known == nil { try count(path.cell, 1) }
    } else {
      try storage.deleteElement(key)
      try bound.countRemoved(bytes: row.count)
      try count(path.cell, -1)
    }
    guard done.hasOtherWinner else { return }
    try note(
      isThere ? shownReferences(in: path, ofElement: edited.span, from: headerBytes, added, payload) : [],
      at: path)
  }

  /// Writes into the record's row that a cell has more or fewer elements.
  private mutating func count(_ cell: CellNumber, _ change: Int) throws {
    let place = try place(of: cell)
    let count = try ElementRow.count(in: row.span.bytes.extracting(place.body))
    let (sum, overflow) = count.addingReportingOverflow(change)
    guard !overflow, sum >= 0 else {
      throw FormatError(
        .damaged, at: place.body.lowerBound, in: "cell", expected: "a count of elements", found: "\(count)")
    }
    var writer = ByteWriter()
    if sum > 0 { writer.append(count: sum) }
    splice(writer.span, as: cell, at: place)
  }
}
