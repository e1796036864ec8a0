import LMDB
import OperationFormat

/// The rows of records. They are read where they lie in the map; of a ``DividedRow`` or a ``WideRow`` a whole one is made.
extension ReadView {
  /// A record's whole row, where it lies if it is whole there, with what is needed to follow it to its elements.
  func withRow<R>(of record: RecordID, _ body: (RawSpan, StateNumber) throws -> R?) throws -> R? {
    try withStoredRow(of: record) { row, state in try withWhole(row, state) { try body($0, state) } }
  }

  /// The same of what lies in the table of records: a whole row, or one without registers. It is enough where these do not matter.
  func withStoredRow<R>(of record: RecordID, _ body: (RawSpan, StateNumber) throws -> R?) throws -> R? {
    let state = try state(of: record.zone)
    return try record.name.withBytes { name in
      guard name.byteCount <= Limits.recordNameBytesMax else { return nil }
      return try transaction.withValue(of: TableKey.record(state, name).span, in: tables.records) { row in
        try naming(name) { try body(row, state) }
      } ?? nil
    }
  }

  /// The same of a row in which the cells of a field are that are no registers: of a wide record only these are looked for.
  func withStoredRow<R>(
    of record: RecordID, field: NameNumber, _ body: (RawSpan, StateNumber) throws -> R?
  ) throws -> R? {
    try withStoredRow(of: record) { row, state in
      guard WideRow.isBase(row) else { return try body(row, state) }
      let part = try self.row(row, withBlocksOf: WideRow.cells(of: field), state)
      return try body(part.span.bytes, state)
    }
  }

  /// The same of a row in which all cells of a field are.
  func withRow<R>(
    of record: RecordID, field: NameNumber, _ body: (RawSpan, StateNumber) throws -> R?
  ) throws -> R? {
    try withStoredRow(of: record, field: field) { row, state in
      try withWhole(row, state) { try body($0, state) }
    }
  }

  /// A wide record's row with the blocks in which some cells are.
  private func row(
    _ base: RawSpan, withBlocksOf cells: ClosedRange<UInt32>, _ state: StateNumber
  ) throws -> [UInt8] {
    let record = try RecordLayout.recordNumber(of: base)
    let prefix = ElementKey.blocks(of: state, record: record)
    let first = ElementKey.block(of: state, record: record, from: cells.lowerBound)
    let last = ElementKey.block(of: state, record: record, from: cells.upperBound)
    var row = ByteWriter()
    row.append(base)
    var cursor = try transaction.openCursor(tables.elements)
    var isThere = try cursor.seek(atMost: first.bytes.span.bytes)
    if !isThere || !cursor.withEntry({ key, _ in key.hasPrefix(prefix.bytes) }) {
      isThere = try cursor.seek(atOrAfter: first.bytes.span.bytes)
    }
    while isThere {
      let isInside = try cursor.withEntry { key, block in
        guard key.hasPrefix(prefix.bytes), compareBytes(key, last.bytes.span.bytes) <= 0 else { return false }
        try WideRow.append(block, to: &row)
        return true
      }
      guard isInside else { break }
      isThere = try cursor.next()
    }
    return WideRow.whole(row.bytes)
  }

  /// The whole of a record's row, of which parts may lie elsewhere.
  func withWhole<R>(_ row: RawSpan, _ state: StateNumber, _ body: (RawSpan) throws -> R) throws -> R {
    if WideRow.isBase(row) {
      let whole = try self.row(row, withBlocksOf: 0...UInt32.max, state)
      return try body(whole.span.bytes)
    }
    guard DividedRow.isBase(row) else { return try body(row) }
    let whole = try joined(row, state)
    return try body(whole.span.bytes)
  }

  private func joined(_ base: RawSpan, _ state: StateNumber) throws -> [UInt8] {
    let key = ElementKey.registers(of: state, record: try RecordLayout.recordNumber(of: base))
    let row = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { registers in
      try DividedRow.whole(base, registers)
    }
    guard let row else { throw StoreError.missingElement }
    return row
  }

  /// Calls a closure with each row of a zone's records, in the order of their names, until it returns false.
  func forEachRow(in zone: ZoneID, _ body: (Name, RawSpan, StateNumber) throws -> Bool) throws {
    let state = try state(of: zone)
    try forEachRow(in: state, after: nil) { name, row in try body(try Name(interned: name), row, state) }
  }

  /// Calls a closure with the name and row of each record of a state, in the order of their names, until it returns
  /// false.
  func forEachRow(
    in state: StateNumber, after name: Name?, _ body: (_ name: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try forEachStoredRow(in: state, after: name) { name, row in
      try withWhole(row, state) { try body(name, $0) }
    }
  }

  /// The same with what lies in the table of records: rows, and parts of rows.
  func forEachStoredRow(
    in state: StateNumber, after name: Name?, _ body: (_ name: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    var start = TableKey.state(state)
    if let name {
      for byte in name.rawValue.utf8.prefix(Limits.recordNameBytesMax) { start.append(byte) }
    }
    var cursor = try transaction.openCursor(tables.records)
    var isThere = try cursor.seek(atOrAfter: start.span)
    if name != nil, isThere, cursor.withEntry({ key, _ in equalBytes(key, start.span) }) {
      isThere = try cursor.next()
    }
    while isThere {
      let goesOn = try cursor.withEntry { key, row in
        guard try key.bigEndian32(at: 0) == state.rawValue else { return false }
        let name = key.extracting(4...)
        return try naming(name) { try body(name, row) }
      }
      guard goesOn else { return }
      isThere = try cursor.next()
    }
  }

  /// Reads a record's row. What cannot be read is told with the record's name.
  @inline(__always)
  private func naming<R>(_ name: RawSpan, _ read: () throws -> R) throws -> R {
    do {
      return try read()
    } catch let error as FormatError where error.code != .newerFormat {
      let name = String(decoding: name.bytes, as: UTF8.self)
      throw StoreError(
        .damaged, "the record “\(name)” cannot be read: \(error.text)",
        hint:
          "keep a copy of the directory, and run `replay verify`; if the log is sound, `replay rebuild` folds the "
          + "records again from it", underlying: error)
    }
  }
}
