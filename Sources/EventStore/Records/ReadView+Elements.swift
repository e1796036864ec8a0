import LMDB
import OperationFormat

/// Reading of sets and maps.
extension ReadView {
  /// An element of a set or a map.
  struct Element {
    /// The encoded element, or the UTF-8 of the key.
    let identity: [UInt8]
    /// Greatest first, with their whole payloads.
    let heads: [OwnedHead]

    /// The value at a key: that of the greatest head.
    var value: Value {
      get throws {
        let payload = heads[0].payload
        return try Value(decoding: payload.span.bytes)
      }
    }
  }

  /// Calls a closure with each element of a cell, in the order of their names.
  func forEachElement(
    of cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ body: (Element) throws -> Void
  ) throws {
    let place = try RecordLayout.place(of: cell, in: row)
    let count = try ElementRow.count(in: row.extracting(place.body))
    if count == 0 { return }
    let record = try RecordLayout.recordNumber(of: row)
    let prefix = ElementKey.elements(of: state, record: record, cell: cell)
    var found = 0
    var cursor = try transaction.openCursor(tables.elements)
    var isThere = try cursor.seek(atOrAfter: prefix.bytes.span.bytes)
    while isThere {
      let isUnder = try cursor.withEntry { key, row in
        guard key.hasPrefix(prefix.bytes) else { return false }
        try body(try element(key, row, of: cell, record, state))
        found += 1
        return true
      }
      guard isUnder else { break }
      isThere = try cursor.next()
    }
    guard found == count else { throw StoreError.missingElement }
  }

  private func element(
    _ key: RawSpan, _ row: RawSpan, of cell: CellNumber, _ record: UInt32, _ state: StateNumber
  ) throws -> Element {
    let identity = try ElementRow.identity(of: row)
    let name = ElementName(row.extracting(identity))
    guard equalBytes(key.extracting(droppingFirst: ElementKey.prefixBytes), name.bytes.span.bytes) else {
      throw FormatError(
        .damaged, at: 0, in: "element", expected: "the element that its key names", found: "another")
    }
    let heads = try heads(
      of: CellPath(cell, name), in: row, identity.upperBound..<row.byteCount, record: record, state)
    guard !heads.isEmpty else {
      throw FormatError(.damaged, at: identity.upperBound, in: "element", expected: "heads", found: "none")
    }
    return Element(identity: row.extracting(identity).bytes, heads: heads)
  }

  // MARK: Sets

  /// The elements of a set, in the order of their names.
  func elements(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [Value] {
    var elements: [Value] = []
    try forEachElement(of: cell, in: row, state) { element in
      let value = try Value(decoding: element.identity.span.bytes)
      if let shown = try shown(value, in: row, state) { elements.append(shown) }
    }
    return elements
  }

  func elements(of field: Name, in record: RecordID) throws -> Set<Value>? {
    try withMergingCell(.set, of: field, in: record) { cell, row, state in
      Set(try elements(of: cell, in: row, state))
    }
  }

  func contains(_ element: Value, in field: Name, of record: RecordID) throws -> Bool {
    let encoded: [UInt8]
    do {
      encoded = try element.encoded()
    } catch {
      throw StoreError(
        .valueInvalid, "a value that cannot be stored is no element: \(error)",
        hint: "keep values within 1 MiB and a depth of 32", underlying: error)
    }
    return try self.element(encoded.span.bytes, .set, of: field, in: record) { _, row, state in
      try shown(element, in: row, state)
    } != nil
  }

  // MARK: Maps

  /// The values of a map by their keys: that of the greatest head of each.
  func entries(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [Name: Value] {
    var entries: [Name: Value] = [:]
    try forEachElement(of: cell, in: row, state) { element in
      if let shown = try shown(element.value, in: row, state) {
        entries[try Name(interned: element.identity.span.bytes)] = shown
      }
    }
    return entries
  }

  func entries(of field: Name, in record: RecordID) throws -> [Name: Value]? {
    try withMergingCell(.map, of: field, in: record) { cell, row, state in
      try entries(of: cell, in: row, state)
    }
  }

  func value(at key: Name, of field: Name, in record: RecordID) throws -> Value? {
    try key.withBytes { key in
      try element(key, .map, of: field, in: record) { element, row, state in
        try shown(element.value, in: row, state)
      }
    }
  }

  /// Runs a closure on an element of a visible record's set or map, and the record's row; nil if it is not there.
  ///
  /// - Parameter identity: the encoded element, or the UTF-8 of the key.
  func element<R>(
    _ identity: RawSpan, _ kind: FieldKind, of field: Name, in record: RecordID,
    _ body: (Element, RawSpan, StateNumber) throws -> R?
  ) throws -> R? {
    let name = ElementName(identity)
    return try withMergingCell(kind, of: field, in: record) { cell, row, state in
      let number = try RecordLayout.recordNumber(of: row)
      let key = ElementKey(state: state, record: number, cell: cell, element: name)
      let found = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { row in
        try element(key.bytes.span.bytes, row, of: cell, number, state)
      }
      return try found.flatMap { try body($0, row, state) }
    }
  }

  /// Runs a closure on a cell of a visible record; nil if there is none.
  func withMergingCell<R>(
    _ kind: FieldKind, of field: Name, in record: RecordID,
    _ body: (CellNumber, RawSpan, StateNumber) throws -> R?
  ) throws -> R? {
    guard let number = try number(of: field) else { return nil }
    return try withStoredRow(of: record, field: number) { row, state in
      guard let (_, fields) = try visible(row, state) else { return nil }
      let cell = CellNumber(number, kind)
      guard let winner = try RecordLayout.winner(of: cell, in: row, from: fields),
        try cell.shows(winner, in: row)
      else { return nil }
      return try body(cell, row, state)
    }
  }
}

extension CellNumber {
  /// Whether a cell that is there shows anything: a list or a text keeps its units when all of them were removed.
  @inline(__always)
  func shows(_ winner: RecordLayout.Winner, in row: RawSpan) throws(FormatError) -> Bool {
    guard kind?.isSequence ?? false else { return true }
    return try UnitOrderRoot(row.extracting(winner.payload)).visible > 0
  }
}
