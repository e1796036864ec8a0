import LMDB
import OperationFormat

/// Reading of records, from their rows.
extension ReadView {
  /// The type of a row's record, and where its fields begin, or a cell before them; nil if the record is not
  /// visible.
  func visible(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    guard let alive = try alive(row, state) else { return nil }
    guard RecordRow.flags(of: row).contains(.cascades) else { return alive }
    return try ReferenceReader(self).missingTarget(of: row, state) == nil ? alive : nil
  }

  /// As ``visible(_:_:)``, by the record's own existence: a cascade may hide the record.
  @inline(__always)
  func alive(_ row: RawSpan, _ state: StateNumber) throws -> (type: NameNumber, fields: Int)? {
    if let plain = RecordRow.plainType(in: row) { return plain }
    return try aliveType(in: row, state) { try meta.policies() }
      .map { ($0, RecordRow.headerBytes) }
  }

  /// The value of a register: that of its greatest head.
  ///
  /// - Parameter fields: where the row's fields begin, or a cell before them.
  func value(of cell: CellNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    guard let winner = try RecordRow.winner(of: cell, in: row, from: fields) else { return nil }
    return try RegisterKind.value(winner, of: cell, in: row, state, self)
  }

  /// The row of a head that is stored outside its record's row, in the memory map.
  @_lifetime(borrow self)
  func element(
    of cell: CellNumber, _ head: HeadID, in row: RawSpan, _ state: StateNumber
  ) throws -> RawSpan {
    let number = try RecordRow.recordNumber(of: row)
    let key = ElementKey(state: state, record: number, CellPath(cell), head: head)
    let element = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { element in
      element.withUnsafeBytes { $0 }
    }
    guard let element else { throw StoreError.missingElement }
    // The transaction, and with it the map, lasts as long as the read view.
    return _overrideLifetime(element.bytes, borrowing: self)
  }

  /// The value of a field: that of its first cell that is not empty, in the order of their kinds.
  func value(of field: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber) throws -> Value? {
    if let value = try value(of: CellNumber(register: field), in: row, from: fields, state) { return value }
    for kind in FieldKind.allCases.dropFirst() {
      let cell = CellNumber(field, kind)
      // The commonest case: the field has no such cell.
      guard let winner = try RecordRow.winner(of: cell, in: row, from: fields),
        try cell.shows(winner, in: row)
      else { continue }
      return try kind.with { try $0.value(of: CellReader(cell, in: row, state, self)) }
    }
    return nil
  }

  /// The record of a row, with the type that ``visible(_:_:)`` found.
  func record(
    _ id: RecordID, _ type: NameNumber, in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> Record {
    Record(id: id, type: try name(type), entries: try entries(in: row, from: fields, state))
  }

  /// The fields of a row that have a value.
  func entries(
    in row: RawSpan, from fields: Int, _ state: StateNumber
  ) throws -> [Record.Entry] {
    var entries: [Record.Entry] = []
    var walk = try RecordRow.WinnerWalk(row, from: fields)
    entries.reserveCapacity(walk.cellsMax)
    var last = NameNumber.none
    while let (cell, winner) = try walk.next() {
      // The register of a field comes before its other cells, and hides them.
      guard cell != .existence, cell.field != last, try cell.shows(winner, in: row) else { continue }
      guard
        let value = try cell.isRegister
          ? RegisterKind.value(winner, of: cell, in: row, state, self) : mergedValue(of: cell, in: row, state)
      else { continue }
      entries.append(Record.Entry(name: try name(cell.field), value: value))
      last = cell.field
    }
    return entries
  }

  /// The value of a cell that is not empty and no register.
  private func mergedValue(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> Value? {
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
