import LMDB
import OperationFormat

/// Reading of records, from their rows.
extension ReadView {
  /// The type of the record whose row it is, and where its fields begin, or a cell before them; nil if it is not
  /// visible.
  func visible(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    guard let alive = try alive(row, state) else { return nil }
    guard RecordLayout.flags(of: row).contains(.cascades) else { return alive }
    return try missingTarget(of: row, state) == nil ? alive : nil
  }

  /// The same by the record's own existence: it may be hidden by a cascade.
  @inline(__always)
  func alive(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    if let plain = RecordLayout.plainType(in: row) { return plain }
    return try aliveType(in: row, state) { try meta.policies() }
      .map { ($0, RecordLayout.headerBytes) }
  }

  func visibleType(of record: RecordID) throws -> NameNumber? {
    try withStoredRow(of: record) { row, state in try visible(row, state)?.type }
  }

  /// The value of a register: that of its greatest head.
  ///
  /// - Parameter fields: where its fields begin, or a cell before them.
  func value(of cell: CellNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    guard let winner = try RecordLayout.winner(of: cell, in: row, from: fields) else { return nil }
    return try RegisterKind.value(winner, of: cell, in: row, state, self)
  }

  /// The row, where it lies, of a head that is kept apart from its record.
  @_lifetime(borrow self)
  func element(
    of cell: CellNumber, _ head: HeadID, in row: RawSpan, _ state: StateNumber
  ) throws -> RawSpan {
    let number = try RecordLayout.recordNumber(of: row)
    let key = ElementKey(state: state, record: number, CellPath(cell), head: head)
    let element = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { element in
      element.withUnsafeBytes { $0 }
    }
    guard let element else { throw StoreError.missingElement }
    // The transaction, and with it the map, lasts as long as the snapshot.
    return _overrideLifetime(element.bytes, borrowing: self)
  }

  /// The value of a field: of its cells that have one, the first in the order of their kinds.
  func value(of field: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    if let value = try value(of: CellNumber(register: field), in: row, from: fields, state) { return value }
    for kind in FieldKind.allCases.dropFirst() {
      let cell = CellNumber(field, kind)
      // The commonest answer: there is none.
      guard let winner = try RecordLayout.winner(of: cell, in: row, from: fields),
        try cell.shows(winner, in: row)
      else { continue }
      return try kind.with { try $0.value(of: CellReader(cell, in: row, state, self)) }
    }
    return nil
  }

  func record(_ id: RecordID) throws -> Record? {
    try withRow(of: id) { row, state in
      guard let (type, fields) = try visible(row, state) else { return nil }
      return try self.record(id, type, in: row, from: fields, state)
    }
  }

  /// The record whose row it is, and whose type was found.
  func record(
    _ id: RecordID, _ type: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> Record {
    Record(id: id, type: try name(type), entries: try entries(in: row, from: fields, state))
  }

  private func entries(
    in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> [Record.Entry] {
    var entries: [Record.Entry] = []
    var walk = try RecordLayout.WinnerWalk(row, from: fields)
    entries.reserveCapacity(walk.cellsMax)
    var last = NameNumber.none
    while let (cell, winner) = try walk.next() {
      // The register of a field comes before its other cells, and hides them.
      guard cell != .existence, cell.field != last, try cell.shows(winner, in: row),
        let value = try value(of: cell, winner, in: row, state)
      else { continue }
      entries.append(Record.Entry(name: try name(cell.field), value: value))
      last = cell.field
    }
    return entries
  }

  /// The value of a cell that is there.
  @inline(__always)
  private func value(
    of cell: CellNumber, _ winner: RecordLayout.Winner, in row: RawSpan, _ state: StateNumber
  ) throws -> Value? {
    if cell.isRegister { return try RegisterKind.value(winner, of: cell, in: row, state, self) }
    let reader = CellReader(cell, in: row, state, self)
    return try cell.kind?.with { try $0.value(of: reader) } ?? nil
  }

  /// What a record shows, or would show if it were there; nil if there was never one.
  func recordOrHidden(_ id: RecordID) throws -> Record? {
    try withRow(of: id) { row, state in
      let types = try existences(in: row, state).compactMap { existence -> NameNumber? in
        if case .alive(let type) = existence { type } else { nil }
      }
      let entries = try entries(in: row, from: RecordLayout.headerBytes, state)
      return Record(id: id, type: try types.first.map { try name($0) } ?? "", entries: entries)
    }
  }

  /// The names of the fields of a record that have a cell which a closure chooses, in the order of their bytes.
  func fields(of record: RecordID, where isChosen: (CellNumber, RawSpan) throws -> Bool) throws -> [Name] {
    try withRow(of: record) { row, _ in
      let index = try CellIndex(row)
      let chosen = try index.entries.filter { entry in
        try entry.cell != .existence && index.withRow(of: entry, in: row) { try isChosen(entry.cell, $0) }
      }
      return try Set(chosen.map(\.cell.field)).map { try name($0) }.sorted()
    } ?? []
  }

  /// All heads of a field, greatest first; also of a record that is not visible.
  func heads(of field: Name, _ kind: FieldKind, _ record: RecordID) throws -> [CellHead] {
    guard let number = try number(of: field) else { return [] }
    return try heads(of: CellNumber(number, kind), record)
  }

  /// All heads of a cell, greatest first; those of a set or a map by element, in the order of the elements' names.
  func heads(of cell: CellNumber, _ record: RecordID) throws -> [CellHead] {
    try withRow(of: record, field: cell.field) { row, state in
      let reader = CellReader(cell, in: row, state, self)
      return try cell.withKind { try $0.heads(of: reader) }
    } ?? []
  }
}

extension StoreError {
  static var missingElement: StoreError {
    StoreError(
      .damaged, "a value that is kept apart from its record is not there",
      hint: "run a verification, then rebuild the store from its log")
  }
}

extension ReadView {
  /// Whether any head of a record's existence says that it is there.
  private func isAlive(anywhereIn row: RawSpan, _ state: StateNumber) throws -> Bool {
    if RecordLayout.plainType(in: row) != nil { return true }
    return try existences(in: row, state).contains { if case .alive = $0 { true } else { false } }
  }

  /// The cells of a row that have losers, existence first, then by field name; of a record that is dead by all heads only its
  /// existence.
  func conflicts(of record: RecordID, in row: RawSpan, _ state: StateNumber) throws -> [Conflict] {
    var conflicts: [Conflict] = []
    let index = try CellIndex(row)
    for entry in index.entries {
      let cell = entry.cell
      try index.withRow(of: entry, in: row) { row in
        let reader = CellReader(cell, in: row, state, self)
        for found in try cell.withKind({ try $0.conflicts(of: reader) }) ?? [] {
          let field = try cell == .existence ? nil : name(cell.field)
          conflicts.append(
            Conflict(
              record: record, field: field, key: found.key, winner: found.heads[0],
              losers: Array(found.heads.dropFirst())))
        }
      }
      // Where nothing says that the record is there, its fields show nowhere.
      if cell == .existence, try !isAlive(anywhereIn: row, state) { break }
    }
    return conflicts.sorted { ($0.field ?? "", $0.key ?? "") < ($1.field ?? "", $1.key ?? "") }
  }
}
