import LMDB
import OperationFormat

/// Reading of records, from their rows.
extension ReadView {
  /// The type of a row's record, and where its fields begin, or a cell before them; nil if the record is not
  /// visible.
  func visible(_ row: StoredRow, _ state: StateNumber) throws -> (type: NameNumber, fields: FieldStart)? {
    guard let alive = try alive(row, state) else { return nil }
    guard row.flags.contains(.cascades), !showsAll else { return alive }
    return try ReferenceReader(self).missingTarget(of: row, state) == nil ? alive : nil
  }

  /// As ``visible(_:_:)``, by the record's own existence: a cascade may hide the record.
  @inline(__always)
  func alive(_ row: StoredRow, _ state: StateNumber) throws -> (type: NameNumber, fields: FieldStart)? {
    if let plain = row.plainType { return plain }
    guard let type = try aliveType(in: row, state, { try meta.policies() }, anyAlive: showsAll) else {
      return nil
    }
    return (type, try row.fields())
  }

  /// What the entries of a row's record in indexes say of it.
  func flags(inIndexesOf row: StoredRow, _ state: StateNumber) throws -> IndexEntry.Flags {
    if row.flags.contains(.cascades) { return .isContested }
    if row.plainType != nil { return [] }
    let isContested = try existences(in: row, state).contains { if case .alive = $0 { false } else { true } }
    return isContested ? .isContested : []
  }

  /// The value of a register: that of its greatest head.
  ///
  /// - Parameter fields: where the row's fields begin, or a cell before them.
  func value(of cell: CellNumber, in row: StoredRow, from fields: FieldStart, _ state: StateNumber) throws
    -> Value?
  {
    guard let winner = try row.winner(of: cell, from: fields) else { return nil }
    return try RegisterKind.value(winner, of: cell, in: row, state, self)
  }

  /// The row of a head that is stored outside its record's row, in the memory map.
  @_lifetime(borrow self)
  func element(
    of cell: CellNumber, _ head: HeadID, in row: StoredRow, _ state: StateNumber
  ) throws -> RawSpan {
    let number = try row.recordNumber()
    let key = ElementKey(state: state, record: number, CellPath(cell), head: head)
    let element = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { element in
      element.withUnsafeBytes { $0 }
    }
    guard let element else { throw StoreError.missingElement }
    // The transaction, and with it the map, lasts as long as the read view.
    return _overrideLifetime(element.bytes, borrowing: self)
  }

  /// The value of a field: that of its first cell that is not empty, in the order of their kinds.
  func value(of field: NameNumber, in row: StoredRow, from fields: FieldStart, _ state: StateNumber) throws
    -> Value?
  {
    if let value = try value(of: CellNumber(register: field), in: row, from: fields, state) { return value }
    for kind in FieldKind.allCases.dropFirst() {
      let cell = CellNumber(field, kind)
      // The commonest case: the field has no such cell.
      guard let winner = try row.winner(of: cell, from: fields),
        try cell.shows(winner, in: row)
      else { continue }
      return try kind.with { try $0.value(of: CellReader(cell, in: row, state, self)) }
    }
    return nil
  }

  /// The record of a row, with the type that ``visible(_:_:)`` found.
  func record(
    _ id: RecordID, _ type: NameNumber, in row: StoredRow, from fields: FieldStart, _ state: StateNumber
  ) throws -> Record {
    Record(id: id, type: try name(type), entries: try entries(in: row, from: fields, state))
  }

  /// The fields of a row that have a value.
  func entries(
    in row: StoredRow, from fields: FieldStart, _ state: StateNumber
  ) throws -> [Record.Entry] {
    var entries: [Record.Entry] = []
    // Records that are read one after the other are alike.
    entries.reserveCapacity(lastFieldCount)
    var last = NameNumber.none
    try row.forEachWinner(from: fields) { cell, winner in
      // The register of a field comes before its other cells, and hides them.
      guard cell.field != last, try cell.shows(winner, in: row) else { return }
      guard
        let value = try cell.isRegister
          ? RegisterKind.value(winner, of: cell, in: row, state, self) : mergedValue(of: cell, in: row, state)
      else { return }
      entries.append(Record.Entry(name: try name(cell.field), value: value))
      last = cell.field
    }
    lastFieldCount = entries.count
    return entries
  }

  /// What a row has in its cells of all kinds.
  func cells(in row: StoredRow, _ state: StateNumber) throws -> [Name: [FieldKind: Value]] {
    var cells: [Name: [FieldKind: Value]] = [:]
    try row.forEachWinner(from: row.fields()) { cell, winner in
      guard let kind = cell.kind, try cell.shows(winner, in: row) else { return }
      let value =
        try cell.isRegister
        ? RegisterKind.value(winner, of: cell, in: row, state, self) : mergedValue(of: cell, in: row, state)
      if let value { cells[try name(cell.field), default: [:]][kind] = value }
    }
    return cells
  }

  /// The value of a cell that is not empty and no register.
  private func mergedValue(of cell: CellNumber, in row: StoredRow, _ state: StateNumber) throws -> Value? {
    let reader = CellReader(cell, in: row, state, self)
    return try cell.kind?.with { try $0.value(of: reader) } ?? nil
  }
}

extension StoreError {
  static var missingElement: StoreError {
    StoreError(
      .damaged, "a value that is kept apart from its record is not there",
      hint: "run a verification, then rebuild the store from its log")
  }
}
