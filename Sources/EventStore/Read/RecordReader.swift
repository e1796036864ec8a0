public import OperationFormat

/// Reads the records of one state of a store. The verbs of ``RecordReading`` call it; an app has no other use
/// for it.
public struct RecordReader: ~Escapable {
  @usableFromInline let view: ReadView

  /// What gives it to an app ties it to the transaction: see ``RecordReading/reader``.
  @inlinable
  @_lifetime(immortal)
  init(_ view: ReadView) { self.view = view }

  // MARK: Records

  @usableFromInline
  func contains(_ record: RecordID) throws -> Bool {
    try view.withStoredRow(of: record) { row, state in try view.visible(row, state)?.type } != nil
  }

  @usableFromInline
  func record(_ id: RecordID) throws -> Record? {
    try view.withRow(of: id) { row, state in
      guard let (type, fields) = try view.visible(row, state) else { return nil }
      return try view.record(id, type, in: row, from: fields, state)
    }
  }

  @usableFromInline
  func withRecord<R>(_ id: RecordID, _ body: (borrowing RecordView) throws -> R) throws -> R? {
    let zone = try view.zoneIndex(of: id.zone)
    return try view.withRow(of: id) { row, state in
      try id.name.withBytes { name in
        guard let found = try RecordView(row, name: name, zone: zone, state, view) else { return nil }
        return try body(found)
      }
    }
  }

  /// As ``withRecord(_:_:)``, of the record where moves lead from the one that is named; nil also if the store does
  /// not have its zone.
  func withCurrent<R>(_ id: RecordID, _ body: (borrowing RecordView) throws -> R) throws -> R? {
    try ForwardingReader(view).follow(id) { id in
      try view.zoneIndexIfThere(of: id.zone) == nil ? nil : withRecord(id, body)
    }
  }

  @usableFromInline
  func scan(
    _ zone: ZoneID, type: Name?, after name: Name?, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    let only = try type.map { try view.number(of: $0) ?? .none }
    try scan(zone, after: name) { record in
      if let only, !record.isOf(only) { return true }
      return try body(record)
    }
  }

  /// As ``scan(_:type:after:_:)``, without the rows that a closure chooses before anything else is read of them.
  ///
  /// - Parameter isNoted: whether the caller notes what it reads.
  func scan(
    _ zone: ZoneID, after name: Name?, skipping isSkipped: (StoredRow) -> Bool = { _ in false },
    isNoted: Bool = false, _ body: (borrowing RecordView) throws -> Bool
  ) throws {
    let index = try view.zoneIndex(of: zone)
    let state = view.zone(at: index).state
    try view.forEachStoredRow(in: state, after: name, skipping: isSkipped, isNoted: isNoted) { name, row in
      try view.withWhole(row, state) { row in
        guard let found = try RecordView(row, name: name, zone: index, state, view) else { return true }
        return try body(found)
      }
    }
  }

  /// What a record shows, or would show if it existed; nil if it never existed.
  func recordOrHidden(_ id: RecordID) throws -> Record? {
    try view.withRow(of: id) { row, state in
      let types = try view.existences(in: row, state).compactMap { existence -> NameNumber? in
        if case .alive(let type) = existence { type } else { nil }
      }
      let entries = try view.entries(in: row, from: row.fields(), state)
      return Record(id: id, type: try types.first.map { try view.name($0) } ?? "", entries: entries)
    }
  }

  /// The names of the fields of a record with a cell that a closure chooses, in the order of their bytes.
  func fields(of record: RecordID, where isChosen: (CellNumber, StoredRow) throws -> Bool) throws -> [Name] {
    try view.withRow(of: record) { row, _ in
      try row.withUnpacked { row in
        let index = try CellIndex(row)
        let chosen = try index.entries.filter { entry in
          try entry.cell != .existence
            && index.withRow(of: entry, in: row) { try isChosen(entry.cell, StoredRow($0)) }
        }
        return try Set(chosen.map(\.cell.field)).map { try view.name($0) }.sorted()
      }
    } ?? []
  }

  /// The kinds of the cells of each field of a record that are not empty. The record need not exist any more.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func kinds(of record: RecordID) throws -> [Name: Set<FieldKind>] {
    var kinds: [Name: Set<FieldKind>] = [:]
    _ = try view.withRow(of: record) { row, _ in
      try row.forEachWinner(from: row.fields()) { cell, winner in
        guard let kind = cell.kind, try cell.shows(winner, in: row) else { return }
        kinds[try view.name(cell.field), default: []].insert(kind)
      }
    }
    return kinds
  }

  /// All heads of a field, greatest first. The record need not be visible.
  func heads(of field: Name, _ kind: FieldKind, _ record: RecordID) throws -> [CellHead] {
    guard let number = try view.number(of: field) else {
      view.noteRead(record)
      return []
    }
    return try heads(of: CellNumber(number, kind), record)
  }

  /// All heads of a cell, greatest first; of a set or a map by element, in the order of the elements' names.
  func heads(of cell: CellNumber, _ record: RecordID) throws -> [CellHead] {
    try view.withRow(of: record, field: cell.field) { row, state in
      let reader = CellReader(cell, in: row, state, view)
      return try cell.withKind { try $0.heads(of: reader) }
    } ?? []
  }

  // MARK: Conflicts

  /// Whether any head of a record's existence says that the record exists.
  private func isAlive(anywhereIn row: StoredRow, _ state: StateNumber) throws -> Bool {
    if row.plainType != nil { return true }
    return try ExistencePolicy.typeOfAlive(in: view.existences(in: row, state)) != nil
  }

  /// The cells of a row that have losers: existence first, then by field name. If all heads of the existence
  /// say that the record is dead, its fields have no conflicts.
  func conflicts(of record: RecordID, in row: StoredRow, _ state: StateNumber) throws -> [Conflict] {
    if row.isUncreated { return [] }
    return try row.withUnpacked { try conflicts(of: record, inUnpacked: $0, state) }
  }

  private func conflicts(
    of record: RecordID, inUnpacked row: RawSpan, _ state: StateNumber
  ) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    let index = try CellIndex(row)
    for entry in index.entries {
      let cell = entry.cell
      try index.withRow(of: entry, in: row) { row in
        let reader = CellReader(cell, in: StoredRow(row), state, view)
        for found in try cell.withKind({ try $0.conflicts(of: reader) }) ?? [] {
          let field = try cell == .existence ? nil : view.name(cell.field)
          conflicts.append(
            Conflict(
              record: record, field: field, key: found.key, winner: found.heads[0],
              losers: Array(found.heads.dropFirst())))
        }
      }
      // Then its fields show nowhere.
      if cell == .existence, try !isAlive(anywhereIn: StoredRow(row), state) { break }
    }
    return conflicts.sorted { ($0.field ?? "", $0.key ?? "") < ($1.field ?? "", $1.key ?? "") }
  }
}
