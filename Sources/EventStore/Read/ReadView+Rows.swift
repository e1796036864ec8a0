import LMDB
import OperationFormat

/// The rows of records. They are read in the memory map. The parts of a ``DividedRow`` or a ``WideRow`` are
/// joined first.
extension ReadView {
  /// Runs a closure on a record's whole row: in the memory map, or joined from its parts.
  func withRow<R>(of record: RecordID, _ body: (StoredRow, StateNumber) throws -> R?) throws -> R? {
    try withStoredRow(of: record) { row, state in try withWhole(row, state) { try body($0, state) } }
  }

  /// Runs a closure on a record's row as the table of records has it: whole, or without its registers. Use it
  /// where these do not matter.
  func withStoredRow<R>(of record: RecordID, _ body: (StoredRow, StateNumber) throws -> R?) throws -> R? {
    let state = try state(of: record.zone)
    return try withStoredRow(named: record.name, in: state) { try body($0, state) }
  }

  /// As ``withStoredRow(of:_:)``, of a record in a state.
  func withStoredRow<R>(named name: Name, in state: StateNumber, _ body: (StoredRow) throws -> R?) throws
    -> R?
  {
    try name.withBytes { name in
      guard name.byteCount <= Limits.recordNameBytesMax else { return nil }
      let key = TableKey.record(state, name)
      footprint?.note(record: key.span)
      return try transaction.withValue(of: key.span, in: tables.records) { row in
        try naming(name) { try body(StoredRow(row)) }
      } ?? nil
    }
  }

  /// As ``withStoredRow(of:_:)``, with the field's cells that are no registers. Of a wide record only these
  /// are read.
  func withStoredRow<R>(
    of record: RecordID, field: NameNumber, _ body: (StoredRow, StateNumber) throws -> R?
  ) throws -> R? {
    try withStoredRow(of: record) { row, state in
      guard row.isWideBase else { return try body(row, state) }
      let part = try self.row(row.bytes, withBlocksOf: WideRow.cells(of: field), state)
      return try body(StoredRow(part.span.bytes), state)
    }
  }

  /// As ``withRow(of:_:)``, with all cells of the field. Of a wide record only these are read.
  func withRow<R>(
    of record: RecordID, field: NameNumber, _ body: (StoredRow, StateNumber) throws -> R?
  ) throws -> R? {
    try withStoredRow(of: record, field: field) { row, state in
      try withWhole(row, state) { try body($0, state) }
    }
  }

  /// A wide record's row with the blocks that have some cells.
  private func row(
    _ base: RawSpan, withBlocksOf cells: ClosedRange<UInt32>, _ state: StateNumber
  ) throws -> [UInt8] {
    let record = try RecordRow.recordNumber(of: base)
    var row = ByteWriter()
    row.append(base)
    try forEachBlock(under: ElementKey.blocks(of: state, record: record), of: cells, state, record) {
      _, block in
      try WideRow.append(block, to: &row)
    }
    return WideRow.whole(row.bytes)
  }

  /// Calls a closure with the blocks of a wide record that may have some cells, in order.
  private func forEachBlock(
    under prefix: ElementKey, of cells: ClosedRange<UInt32>, _ state: StateNumber, _ record: UInt32,
    _ body: (_ key: RawSpan, _ block: RawSpan) throws -> Void
  ) throws {
    let first = ElementKey.block(of: state, record: record, from: cells.lowerBound)
    let last = ElementKey.block(of: state, record: record, from: cells.upperBound)
    var cursor = try transaction.openCursor(tables.elements)
    var isThere = try cursor.seek(atMost: first.bytes.span.bytes)
    if !isThere || !cursor.withEntry({ key, _ in key.hasPrefix(prefix.bytes) }) {
      isThere = try cursor.seek(atOrAfter: first.bytes.span.bytes)
    }
    while isThere {
      let isInside = try cursor.withEntry { key, block in
        guard key.hasPrefix(prefix.bytes), compareBytes(key, last.bytes.span.bytes) <= 0 else { return false }
        try body(key, block)
        return true
      }
      guard isInside else { break }
      isThere = try cursor.next()
    }
  }

  /// Runs a closure on a record's whole row, joined from its parts if there are any.
  func withWhole<R>(_ row: StoredRow, _ state: StateNumber, _ body: (StoredRow) throws -> R) throws -> R {
    if row.isWideBase {
      let whole = try self.row(row.bytes, withBlocksOf: 0...UInt32.max, state)
      return try body(StoredRow(whole.span.bytes))
    }
    guard row.isDividedBase else { return try body(row) }
    let whole = try joined(row.bytes, state)
    return try body(StoredRow(whole.span.bytes))
  }

  /// A record's whole row in version 1.
  func unpackedRow(_ row: StoredRow, _ state: StateNumber) throws -> [UInt8] {
    try withWhole(row, state) { try $0.withUnpacked { $0.bytes } }
  }

  /// Runs a closure on a row with all cells of some fields. Of a wide record only these are read.
  func withRow<R>(
    _ row: StoredRow, ofFields fields: some Sequence<NameNumber>, _ state: StateNumber,
    _ body: (StoredRow) throws -> R
  ) throws -> R {
    guard row.isWideBase else { return try withWhole(row, state, body) }
    let record = try RecordRow.recordNumber(of: row.bytes)
    let prefix = ElementKey.blocks(of: state, record: record)
    var whole = ByteWriter()
    whole.append(row.bytes)
    var last: [UInt8] = []
    for cells in fields.map({ WideRow.cells(of: $0) }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      try forEachBlock(under: prefix, of: cells, state, record) { key, block in
        // Two fields may be in one block.
        guard last.isEmpty || compareBytes(key, last.span.bytes) > 0 else { return }
        last = key.bytes
        try WideRow.append(block, to: &whole)
      }
    }
    return try body(StoredRow(WideRow.whole(whole.bytes).span.bytes))
  }

  private func joined(_ base: RawSpan, _ state: StateNumber) throws -> [UInt8] {
    let key = ElementKey.registers(of: state, record: try RecordRow.recordNumber(of: base))
    let row = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { registers in
      try DividedRow.whole(base, registers)
    }
    guard let row else { throw StoreError.missingElement }
    return row
  }

  /// Calls a closure with each row of a zone's records, in the order of their names, until it returns false.
  func forEachRow(in zone: ZoneID, _ body: (Name, StoredRow, StateNumber) throws -> Bool) throws {
    let state = try state(of: zone)
    try forEachStoredRow(in: state, after: nil) { name, row in
      try withWhole(row, state) { try body(try Name(utf8: name), $0, state) }
    }
  }

  /// Calls a closure with the name and row of each record of a state, in the order of their names, until it
  /// returns false. Rows are as the table of records has them: whole, or without their registers.
  ///
  /// - Parameters:
  ///   - isSkipped: which rows it passes over.
  ///   - isNoted: whether the caller notes what it reads.
  func forEachStoredRow(
    in state: StateNumber, after name: Name?, skipping isSkipped: (StoredRow) -> Bool = { _ in false },
    isNoted: Bool = false, _ body: (_ name: RawSpan, _ row: StoredRow) throws -> Bool
  ) throws {
    if !isNoted { footprint?.note(allOf: state) }
    var start = TableKey.state(state)
    if let name {
      for byte in name.rawValue.utf8.prefix(Limits.recordNameBytesMax) { start.append(byte) }
    }
    try transaction.forEachEntry(
      in: tables.records, from: start.span, within: TableKey.state(state).span.bytes
    ) { key, row in
      guard key.isOf(state) else { return false }
      if isSkipped(StoredRow(row)) { return true }
      if name != nil, equalBytes(key, start.span) { return true }
      let name = key.extracting(4...)
      return try naming(name) { try body(name, StoredRow(row)) }
    }
  }

  /// A row's cells in the order in which every store has them: existence, then the fields by names and kinds.
  func cellsByName(_ index: CellIndex) throws -> [(entry: CellIndex.Entry, name: Name)] {
    try index.entries.map { ($0, $0.cell == .existence ? Name("") : try self.name($0.cell.field)) }
      .sorted { ($0.1, $0.0.cell) < ($1.1, $1.0.cell) }
  }

  /// Reads a record's row. The error of a row that cannot be read names the record.
  @inline(__always)
  private func naming<R>(_ name: RawSpan, _ read: () throws -> R) throws -> R {
    do {
      return try read()
    } catch let error as FormatError where error.code != .newerFormat {
      let name = String(decoding: name.bytes, as: UTF8.self)
      throw StoreError(
        .damaged, "the record “\(name)” cannot be read: \(error.text)",
        hint:
          "keep a copy of the directory, and run `replay verify`; if the log is sound, `replay rebuild` folds "
          + "the records again from it", underlying: error)
    }
  }
}

extension RawSpan {
  /// Whether it is the key of a record of a state.
  @inline(__always)
  fileprivate func isOf(_ state: StateNumber) -> Bool {
    byteCount >= 4
      && UInt32(bigEndian: unsafeLoadUnaligned(fromByteOffset: 0, as: UInt32.self)) == state.rawValue
  }
}
