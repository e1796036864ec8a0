import OperationFormat

/// Values by keys: as a set of keys, each with the last writer's value.
enum MapKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case put = 7
    case removeKey = 8
  }

  static var layout: CellLayout { .elements }
  static var showsGreatest: Bool { true }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { false }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { true }

  // MARK: Folding

  static func apply<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let adds =
      switch try operation(kind) {
      case .put: true
      case .removeKey: false
      }
    let key = try key(of: operand)
    try Elements.change(
      CellNumber(field, .map), element: operand.extracting(key), adds: adds,
      payload: operand.extracting(key.upperBound...), index: index, in: &fold)
  }

  /// The range of the key's UTF-8 in an operand. The value follows it.
  private static func key(of operand: RawSpan) throws(FormatError) -> Range<Int> {
    var reader = ByteReader(operand)
    return try FieldChange.readKey(&reader)
  }

  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    try Elements.remove(of: cell, seenAt: index, in: &fold)
  }

  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    try Elements.compact(cell, keeps: keeps, in: &fold)
  }

  /// What was removed has no head.
  static func retime<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    switch try operation(kind) {
    case .put:
      let name = ElementName(operand.extracting(try key(of: operand)))
      return try fold.retimeShown(CellPath(CellNumber(field, .map), name), by: id, to: timestamp)
    case .removeKey: return false
    }
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? { .map(try entries(of: cell)) }

  /// The values by their keys: that of the greatest head of each.
  ///
  /// - Parameter start: what the keys begin with; nil for all keys.
  static func entries<Rows>(of cell: CellReader<Rows>, keysFrom start: String? = nil) throws -> [Name: Value]
  {
    var entries: [Name: Value] = [:]
    func add(_ element: Element) throws {
      if let shown = try cell.shown(element.value) {
        entries[try Name(utf8: element.identity.span.bytes)] = shown
      }
    }
    if let start {
      try cell.forEachElement(withKeyFrom: start.utf8Span.span.bytes, add)
    } else {
      try cell.forEachElement(add)
    }
    return entries
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try ElementRow.count(in: cell.body) }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    var heads: [CellHead] = []
    try cell.forEachElement { heads += try self.heads(of: $0, cell) }
    return heads
  }

  private static func heads<Rows>(of element: Element, _ cell: CellReader<Rows>) throws -> [CellHead] {
    let key = try Name(utf8: element.identity.span.bytes)
    return try element.heads.map {
      try cell.head($0, .entry(key: key, try Value(decoding: $0.payload.span.bytes)))
    }
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] {
    var conflicts: [CellConflict] = []
    try cell.forEachElement { element in
      guard element.heads.count > 1 else { return }
      conflicts.append(
        CellConflict(key: try Name(utf8: element.identity.span.bytes), heads: try heads(of: element, cell)))
    }
    return conflicts
  }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    var changes: [FieldChange] = []
    try cell.forEachElement { element in
      changes.append(.put(key: try Name(utf8: element.identity.span.bytes), try element.value))
    }
    return changes
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try cell.appendElements(to: &digest)
  }

  // MARK: Explaining

  static func effect(of change: FieldChange) -> CellEffect? {
    if case .put(let key, let value) = change {
      return CellEffect(content: .entry(key: key, value), element: .string(key.rawValue))
    }
    if case .removeKey(let key) = change { return CellEffect(element: .string(key.rawValue)) }
    return nil
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? {
    guard case .entry(let key, let value) = content else { return nil }
    return .put(key: key, value)
  }
}
