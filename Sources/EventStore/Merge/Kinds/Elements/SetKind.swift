import OperationFormat

/// Elements, each of which is there or not. An element is a cell of its own, whose heads have no payload: it
/// is there while it has one.
enum SetKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case insert = 5
    case remove = 6
  }

  static var layout: CellLayout { .elements }
  static var showsGreatest: Bool { false }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { true }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { false }

  // MARK: Folding

  static func apply<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let adds =
      switch try operation(kind) {
      case .insert: true
      case .remove: false
      }
    let none = operand.extracting(operand.byteCount..<operand.byteCount)
    try Elements.change(
      CellNumber(field, .set), element: operand, adds: adds, payload: none, index: index, in: &fold)
  }

  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    try Elements.remove(of: cell, seenAt: index, in: &fold)
  }

  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    try Elements.compact(cell, keeps: keeps, in: &fold)
  }

  /// Which elements are there does not depend on the order of their heads. What was removed has none.
  static func retime<Storage>(
    _ kind: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    switch try operation(kind) {
    case .insert:
      let path = CellPath(CellNumber(field, .set), ElementName(operand))
      try fold.retimeHeads(of: path, by: id, to: timestamp)
    case .remove: break
    }
    return false
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? { .array(try elements(of: cell)) }

  /// The elements, in the order of their names.
  static func elements<Rows>(of cell: CellReader<Rows>) throws -> [Value] {
    var elements: [Value] = []
    try cell.forEachElement { element in
      let value = try Value(decoding: element.identity.span.bytes)
      if let shown = try cell.shown(value) { elements.append(shown) }
    }
    return elements
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try ElementRow.count(in: cell.body) }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    var heads: [CellHead] = []
    try cell.forEachElement { element in
      let value = try Value(decoding: element.identity.span.bytes)
      for head in element.heads { heads.append(try cell.head(head, .element(value))) }
    }
    return heads
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] { [] }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    var changes: [FieldChange] = []
    try cell.forEachElement { changes.append(.insert(try Value(decoding: $0.identity.span.bytes))) }
    return changes
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try cell.appendElements(to: &digest)
  }

  // MARK: Explaining

  static func effect(of change: FieldChange) -> CellEffect? {
    if case .insert(let value) = change { return CellEffect(content: .element(value), element: value) }
    if case .remove(let value) = change { return CellEffect(element: value) }
    return nil
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? { nil }
}
