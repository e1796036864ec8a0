import OperationFormat

/// Whether a record is there: a cell of its own, which `create` and every change of a field say is alive,
/// `delete` and a move away dead. Of heads that disagree, the policy of the record's type decides when it is
/// read.
enum ExistenceKind: CellKind {
  enum Operation: UInt64, CaseIterable {
    case create = 1
    case delete = 2
    case moveAway = 16
    case moveHere = 17

    /// Which of them an operation is; nil for one on a field and for those of newer versions.
    init?(_ kind: OperationKind) { self.init(rawValue: kind.rawValue) }

    /// Whether the record is alive from here on, without the fields that were seen; else it is dead.
    var makesRecord: Bool {
      switch self {
      case .create, .moveHere: true
      case .delete, .moveAway: false
      }
    }
  }

  static var layout: CellLayout { .heads }
  static var showsGreatest: Bool { true }

  /// Heads that say the same do not conflict.
  static func conflict(_ payload: RawSpan, _ other: RawSpan) -> Bool { !equalBytes(payload, other) }

  static func heads<Rows>(of cell: CellReader<Rows>) throws -> [CellHead] {
    try cell.heads().map { owned in
      let content: CellHead.Content =
        switch try Existence(payload: owned.payload.span.bytes) {
        case .dead: .dead
        case .alive(let type): .alive(type: try cell.rows.name(type))
        case .moved(let place): .moved(to: place)
        }
      return try cell.head(owned, content)
    }
  }

  /// Updates of different fields do not conflict: that both say that the record is there is no news.
  static func conflicts<Rows>(of cell: CellReader<Rows>) throws -> [CellConflict] {
    guard try cell.inlineHeads().total > 1 else { return [] }
    let heads = try heads(of: cell)
    return heads.allSatisfy { $0.content == heads[0].content } ? [] : [CellConflict(heads: heads)]
  }

  static func digest<Rows>(of cell: CellReader<Rows>, into digest: inout CellDigest) throws {
    let heads = try cell.heads()
    digest.writer.append(count: heads.count)
    for owned in heads {
      try digest.append(owned.head, cell.rows)
      var payload = ByteWriter()
      let existence = try Existence(payload: owned.payload.span.bytes)
      if case .alive(let type) = existence {
        // The type by its name: its number is this store's.
        payload.append(1)
        payload.append(text: try cell.rows.name(type).rawValue)
      } else {
        existence.append(to: &payload)
      }
      digest.append(payload: payload.span)
    }
  }
}

extension LogOperation {
  /// Whether the record starts again, without the fields that were seen.
  var makesRecord: Bool {
    switch self {
    case .create, .moveHere: true
    case .delete, .moveAway, .update, .compact, .unknown: false
    }
  }

  /// Where the record was before it was moved here.
  var origin: RecordID? {
    if case .moveHere(_, _, let place) = self { place } else { nil }
  }

  /// What it does to the heads of its record's existence; nil of one without a record, or of a newer version.
  var effectOnExistence: CellEffect? {
    switch self {
    case .create(_, let type), .moveHere(_, let type, _), .update(_, let type, _, _):
      CellEffect(content: .alive(type: type))
    case .delete: CellEffect(content: .dead)
    case .moveAway(_, let place): CellEffect(content: .moved(to: place))
    case .compact, .unknown: nil
    }
  }
}

extension RowReading {
  /// The type of a record by the heads of its existence; nil if it is not alive. One that is may be hidden by
  /// a cascade.
  ///
  /// - Parameters:
  ///   - policies: called where the existence is contested.
  ///   - anyAlive: whether any head makes it alive, whatever the policies say.
  func aliveType(
    in row: StoredRow, _ state: StateNumber, _ policies: () throws -> [NameNumber: ExistencePolicy],
    anyAlive: Bool = false
  ) throws -> NameNumber? {
    if let plain = row.plainType { return plain.type }
    if row.isUncreated { return nil }
    let inline = try row.heads(of: .existence)
    if inline.total == 1 {
      guard case .alive(let type) = try Existence(payload: row.extracting(inline[0].payload)) else {
        return nil
      }
      return type
    }
    guard inline.count > 0 else { return nil }
    if anyAlive { return ExistencePolicy.typeOfAlive(in: try existences(in: row, state)) }
    let policies = try policies()
    let greatest = row.extracting(inline[0].payload)
    if let type = try ExistencePolicy.visibleType(ofGreatest: greatest, policies) { return type }
    return ExistencePolicy.visibleType(of: try existences(in: row, state), policies)
  }

  /// What the heads of a record's existence say, greatest first.
  func existences(in row: StoredRow, _ state: StateNumber) throws -> [Existence] {
    try heads(of: .existence, in: row, state).map { try Existence(payload: $0.payload.span.bytes) }
  }
}

extension Fold {
  /// Reads a record's row, to change it with ``change(_:_:type:operand:index:)``. What else is done with it loads
  /// it first.
  ///
  /// - Parameter policies: called where the record's existence is contested.
  /// - Returns: the record's type; nil if it is not alive. One that is may be hidden by a cascade.
  mutating func aliveType(
    of record: RawSpan, in state: StateNumber, _ policies: () throws -> [NameNumber: ExistencePolicy]
  ) throws -> NameNumber? {
    try loaded.read(record, in: state)
    try compactBeforeChange()
    if loaded.bytes.isEmpty { return nil }
    if let plain = plainExistence() { return plain.type }
    return try storage.aliveType(in: StoredRow(loaded.bytes.span.bytes), state, policies)
  }
}
