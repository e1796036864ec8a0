import OperationFormat

/// One value: the last writer's. A field's value is a register.
///
/// The commonest step, a `set` of a plain row, is ``Fold/setInPlace(_:type:value:index:)``, which comes
/// before the switch over kinds.
enum RegisterKind: FieldCellKind {
  enum Operation: UInt64, CaseIterable {
    case set = 3
  }

  static var layout: CellLayout { .heads }
  static var showsGreatest: Bool { true }
  static var sumsHeads: Bool { false }
  static var identityIsValue: Bool { false }

  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { true }

  // MARK: Folding

  static func apply<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, to field: NameNumber, index: UInt32,
    in fold: inout Fold<Storage>
  ) throws {
    let cell = CellNumber(register: field)
    try fold.loaded.joinRegisters()
    try fold.thin(CellPath(cell), at: index)
    try fold.replace(cell, removing: .seen(at: index), adding: fold.step.head(at: index), payload: operand)
  }

  static func clear<Storage>(_ cell: CellNumber, seenAt index: UInt32, in fold: inout Fold<Storage>) throws {
    try fold.clearHeads(of: cell, seenAt: index)
  }

  /// The value of the greatest head.
  static func compact<Storage>(
    _ cell: CellNumber, keeps: Bool, in fold: inout Fold<Storage>
  ) throws {
    try fold.compactHeads(of: CellPath(cell), keeps: keeps) { [$0[0]] }
  }

  static func retime<Storage>(
    _ operation: OperationKind, _ operand: RawSpan, of field: NameNumber, by id: HeadID,
    to timestamp: Timestamp, in fold: inout Fold<Storage>
  ) throws -> Bool {
    try fold.retimeShown(CellPath(CellNumber(register: field)), by: id, to: timestamp)
  }

  // MARK: Reading

  static func value<Rows>(of cell: CellReader<Rows>) throws -> Value? {
    guard let winner = try cell.row.winner(of: cell.cell) else { return nil }
    return try value(winner, of: cell.cell, in: cell.row, cell.state, cell.rows)
  }

  /// The value of a register whose greatest head was found. A scan reads every field by it: so it gets no
  /// reader, whose reference would be counted.
  @inline(__always)
  static func value<Rows: CellReading>(
    _ winner: RecordRow.Winner, of cell: CellNumber, in row: StoredRow, _ state: StateNumber,
    _ rows: Rows
  ) throws -> Value? {
    if let apart = winner.apart { return try value(of: apart, in: cell, row, state, rows) }
    let value = try Value(decoding: row.extracting(winner.payload))
    if case .null = value { return nil }
    return try rows.shown(value, in: row, state)
  }

  /// The value of a head that is stored outside its record's row.
  private static func value<Rows: CellReading>(
    of head: HeadID, in cell: CellNumber, _ row: StoredRow, _ state: StateNumber, _ rows: Rows
  ) throws -> Value? {
    let record = try row.recordNumber()
    let key = ElementKey(state: state, record: record, CellPath(cell), head: head)
    let value = try rows.withElement(key) { element in
      try Value(decoding: element.extracting(try OwnedHead.payload(inApart: element)))
    }
    guard let value else { throw FormatError.missingElement }
    return value == .null ? nil : try rows.shown(value, in: row, state)
  }

  static func count<Rows>(of cell: CellReader<Rows>) throws -> Int { try cell.inlineHeads().total }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    try cell.heads().map { try cell.head($0, .value(try Value(decoding: $0.payload.span.bytes))) }
  }

  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] {
    guard try cell.inlineHeads().total > 1 else { return [] }
    return [CellConflict(heads: try heads(of: cell))]
  }

  static func changes<Rows>(showing cell: CellReader<Rows>) throws -> [FieldChange] {
    guard let payload = try cell.heads().first?.payload else { return [] }
    let value = try Value(decoding: payload.span.bytes)
    return value == .null ? [] : [.set(value)]
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    try digest.append(cell.heads(), cell.rows)
  }

  // MARK: Explaining

  static func effect(of change: FieldChange) -> CellEffect? {
    guard case .set(let value) = change else { return nil }
    return CellEffect(content: .value(value))
  }

  static func change(restoring content: CellHead.Content) -> FieldChange? {
    guard case .value(let value) = content else { return nil }
    return .set(value)
  }
}
