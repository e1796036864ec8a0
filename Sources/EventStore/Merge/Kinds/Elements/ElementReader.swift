import OperationFormat

/// An element of a set or a map, with its heads.
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

/// Reading of sets and maps.
extension CellReader {
  /// Calls a closure with each element of a set or a map, in the order of their names.
  func forEachElement(_ body: (Element) throws -> Void) throws {
    let count = try ElementRow.count(in: self.body)
    if count == 0 { return }
    let record = try record
    var found = 0
    try rows.forEachElement(under: .elements(of: state, record: record, cell: cell)) { key, row in
      try body(try element(key, row, record))
      found += 1
    }
    guard found == count else { throw FormatError.missingElement }
  }

  /// Calls a closure with each element of a map whose key begins with some bytes.
  ///
  /// - Complexity: linear in what is found, and in the keys that are named by their hash.
  func forEachElement(withKeyFrom start: RawSpan, _ body: (Element) throws -> Void) throws {
    let record = try record
    for prefix in ElementKey.elements(of: state, record: record, cell: cell, keysFrom: start) {
      try rows.forEachElement(under: prefix) { key, row in
        let element = try element(key, row, record)
        if element.identity.span.bytes.hasPrefix(start.bytes) { try body(element) }
      }
    }
  }

  /// The element with an identity; nil if it is not there.
  ///
  /// - Parameter identity: the encoded element, or the UTF-8 of the key.
  func element(_ identity: RawSpan) throws -> Element? {
    let record = try record
    let key = ElementKey(state: state, record: record, cell: cell, element: ElementName(identity))
    return try rows.withElement(key) { try element(key.bytes.span.bytes, $0, record) }
  }

  private func element(_ key: RawSpan, _ row: RawSpan, _ record: UInt32) throws -> Element {
    let identity = try ElementRow.identity(of: row)
    let name = ElementName(row.extracting(identity))
    guard equalBytes(key.extracting(droppingFirst: ElementKey.prefixBytes), name.bytes.span.bytes) else {
      throw FormatError(
        .damaged, at: 0, in: "element", expected: "the element that its key names", found: "another")
    }
    let heads = try rows.heads(
      of: CellPath(cell, name), in: row, identity.upperBound..<row.byteCount, record: record, state)
    guard !heads.isEmpty else {
      throw FormatError(.damaged, at: identity.upperBound, in: "element", expected: "heads", found: "none")
    }
    return Element(identity: row.extracting(identity).bytes, heads: heads)
  }

  /// Appends the elements with their heads to a digest.
  func appendElements(to digest: inout CellDigest) throws {
    digest.writer.append(count: try ElementRow.count(in: body))
    try forEachElement { element in
      digest.append(payload: element.identity.span.bytes)
      try digest.append(element.heads, rows)
    }
  }
}
