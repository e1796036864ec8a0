import OperationFormat

/// What reading a record needs from the storage of rows, whether a write or a read asks.
///
/// The extensions of this protocol are the one reader of rows: the fold and every read transaction use it.
package protocol RowReading: RunReading {
  /// Calls a closure with an element row in place; nil if there is none.
  func withElement<R>(_ key: ElementKey, _ body: (RawSpan) throws -> R) throws -> R?
  /// Calls a closure with the element rows whose key begins with `prefix`, in key order, from a key on that
  /// is not less than the prefix, until it returns false. The closure must not write.
  func forEachElement(
    under prefix: ElementKey, from key: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool)
    throws
}

extension RowReading {
  /// A copy of an element row; nil if there is none.
  func readElement(_ key: ElementKey) throws -> [UInt8]? { try withElement(key) { $0.bytes } }

  /// Calls a closure with all element rows whose key begins with `prefix`, in key order. The closure must not
  /// write.
  func forEachElement(
    under prefix: ElementKey, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    try forEachElement(under: prefix, from: prefix) { key, row in
      try body(key, row)
      return true
    }
  }

  /// Reads some of the rows under a prefix. Only what is found is kept in memory.
  ///
  /// - Parameters:
  ///   - end: the key before which it ends; nil for the last under the prefix.
  ///   - rowsMax: how many it reads.
  ///   - find: returns what to keep of a row, if anything.
  /// - Returns: what was found, how many rows it read, and the key of the next one; nil if it read all.
  func someRows<Found>(
    under prefix: ElementKey, from first: ElementKey, before end: ElementKey? = nil, atOnce rowsMax: Int,
    _ find: (_ key: RawSpan, _ row: RawSpan) throws -> Found?
  ) throws -> (found: [Found], looked: Int, next: ElementKey?) {
    var rows: (found: [Found], looked: Int, next: ElementKey?) = ([], 0, nil)
    try forEachElement(under: prefix, from: first) { key, row in
      if let end, compareBytes(key, end.bytes.span.bytes) >= 0 { return false }
      guard rows.looked < rowsMax else {
        rows.next = ElementKey(bytes: key.bytes)
        return false
      }
      rows.looked += 1
      if let found = try find(key, row) { rows.found.append(found) }
      return true
    }
    return rows
  }

  // MARK: Heads

  /// All heads of a cell in a record's row, greatest first, with their whole payloads.
  func heads(of cell: CellNumber, in row: StoredRow, _ state: StateNumber) throws -> [OwnedHead] {
    let inline = try row.heads(of: cell)
    if let payload = row.shortExistence(of: cell) {
      return [OwnedHead(head: inline[0].head, payload: payload)]
    }
    return try heads(inline, of: CellPath(cell), in: row.bytes, record: row.recordNumber(), state)
  }

  /// All heads of a cell in a part of a row, greatest first, with their whole payloads.
  func heads(
    of path: CellPath, in row: RawSpan, _ body: Range<Int>, record: UInt32, _ state: StateNumber
  ) throws -> [OwnedHead] {
    try heads(RecordRow.heads(of: body, in: row), of: path, in: row, record: record, state)
  }

  /// All heads of a cell, by those in a row.
  private func heads(
    _ inline: InlineHeads, of path: CellPath, in row: RawSpan, record: UInt32, _ state: StateNumber
  ) throws -> [OwnedHead] {
    var heads: [OwnedHead] = []
    for index in 0..<inline.count {
      let payload = try wholePayload(of: inline[index], in: path, row, record: record, state)
      heads.append(OwnedHead(head: inline[index].head, payload: payload))
    }
    guard inline.total > inline.count else { return heads }
    let known = Set(heads.map(\.head.id))
    let apart = try headsApart(except: known, under: .heads(of: state, record: record, path))
    return try heads + apart.sorted { try isGreater($0.head, $1.head) }
  }

  /// The payload of a head, which may be kept apart from its row.
  func wholePayload(
    of head: InlineHead, in path: CellPath, _ row: RawSpan, record: UInt32, _ state: StateNumber
  ) throws -> [UInt8] {
    guard head.isApart else { return row.extracting(head.payload).bytes }
    let key = ElementKey(state: state, record: record, path, head: head.head.id)
    let payload = try withElement(key) { $0.extracting(try OwnedHead.payload(inApart: $0)).bytes }
    guard let payload else { throw FormatError.missingElement }
    return payload
  }

  /// The heads that are kept apart under a prefix, but for some, in the order of their keys.
  func headsApart(except known: Set<HeadID>, under prefix: ElementKey) throws -> [OwnedHead] {
    var found: [OwnedHead] = []
    try forEachElement(under: prefix) { _, row in
      found += try ApartRow(row).heads.filter { !known.contains($0.head.id) }
    }
    return found
  }

  /// The heads of a run that are kept apart, in the order of their keys.
  func headsApart(of run: HeadRun, _ cell: CellAddress) throws -> [OwnedHead] {
    var found: [OwnedHead] = []
    let keys = cell.keys(of: run)
    try forEachElement(under: cell.heads, from: keys.lowerBound) { key, row in
      guard compareBytes(key, keys.upperBound.bytes.span.bytes) < 0 else { return false }
      found += try ApartRow(row).heads.filter { run.contains($0.head.id) }
      return true
    }
    return found
  }
}

extension FormatError {
  /// A row is missing that another row promises.
  static var missingElement: FormatError {
    FormatError(
      .damaged, at: 0, in: "cell", expected: "a value that is kept apart from its record",
      found: "no such row")
  }
}
