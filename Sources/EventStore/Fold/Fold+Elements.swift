import OperationFormat

/// Sets and maps: each element is a cell of its own, in a row of its own; the record's row says how many there are.
extension Fold {
  /// Removes heads of an element, adds one or none, and writes the element's row.
  ///
  /// - Parameter identity: what stands for the element: see ``ElementName``.
  mutating func replace(
    _ cell: CellNumber, _ identity: RawSpan, removing removal: Removal, adding added: Head?, payload: RawSpan
  ) throws {
    try replaceElement(
      CellPath(cell, ElementName(identity)), identity, removal, added, payload)
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
        return try mayRemove(removal, heads) ? (key: key, name: ElementName(row.extracting(identity))) : nil
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

/// What an operation does to an element of a set or a map.
struct ElementChange: ~Escapable {
  let kind: FieldKind
  /// The encoded element of a set, or the UTF-8 of a map's key.
  let identity: RawSpan
  /// The encoded value at a key; empty in a set.
  let payload: RawSpan
  /// Whether the element is there from here on.
  let adds: Bool

  @_lifetime(copy operand)
  init(_ operation: OperationKind, _ operand: RawSpan) throws(FormatError) {
    adds = operation == .insert || operation == .put
    if operation == .insert || operation == .remove {
      kind = .set
      identity = operand
      payload = operand.extracting(operand.byteCount..<operand.byteCount)
    } else {
      kind = .map
      var reader = ByteReader(operand)
      let key = try FieldChange.readKey(&reader)
      identity = operand.extracting(key)
      payload = operand.extracting(key.upperBound...)
    }
  }
}

/// The row of an element of a set or a map:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | the encoded element, or the UTF-8 of the key |
/// | … | the cell, as in a record's row: count of heads (varint), heads. In a map their payloads are values, in a set they are empty |
///
/// In the record's row stands how many elements there are, as a varint.
package enum ElementRow {
  /// Where in the row the element or key lies.
  package static func identity(of row: RawSpan) throws(FormatError) -> Range<Int> {
    var reader = ByteReader(row)
    let count = try reader.readCount("element.identity")
    return try reader.readBytes(count, "element.identity")
  }

  /// Where in the row its cell lies.
  package static func heads(of row: RawSpan) throws(FormatError) -> Range<Int> {
    try identity(of: row).upperBound..<row.byteCount
  }

  /// How many elements there are by a cell in a record's row.
  package static func count(in body: RawSpan) throws(FormatError) -> Int {
    if body.isEmpty { return 0 }
    var reader = ByteReader(body)
    let count = try reader.readVarint("cell.count", in: 1...UInt64(Int32.max))
    try reader.finish("cell.count")
    return Int(count)
  }
}
