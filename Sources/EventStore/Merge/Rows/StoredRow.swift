package import OperationFormat

/// A record's row as the table of records has it, or joined from its parts: of version 1, see ``RecordRow``,
/// or 2, see ``PackedRow``. All readers work on this. It decodes only what is asked for.
///
/// ``RecordRow`` reads only rows of version 1: those that the fold edits, and those of ``withUnpacked(_:)``.
package struct StoredRow: ~Escapable {
  /// Of either version.
  let bytes: RawSpan

  @_lifetime(copy row) @inline(__always)
  package init(_ row: RawSpan) { bytes = row }

  package var byteCount: Int { bytes.byteCount }

  @inline(__always) var isPacked: Bool { PackedRow.isPacked(bytes) }

  /// A part of the row: a payload that it has found.
  @_lifetime(copy self) @inline(__always)
  func extracting(_ range: Range<Int>) -> RawSpan { bytes.extracting(range) }

  // MARK: The header

  /// 1 or 2.
  ///
  /// - Throws: `newerFormat`.
  package var version: Int {
    get throws(FormatError) {
      if isPacked { return 2 }
      _ = try RecordRow.recordNumber(of: bytes)
      return 1
    }
  }

  /// The record's number in its state.
  package func recordNumber() throws(FormatError) -> UInt32 {
    isPacked ? try PackedRow(checked: bytes).recordNumber : try RecordRow.recordNumber(of: bytes)
  }

  @inline(__always) package var flags: RowFlags {
    if isPacked {
      return RowFlags(rawValue: bytes.unsafeLoad(fromByteOffset: 0, as: UInt8.self)).intersection(
        .ofReferences)
    }
    return RecordRow.flags(of: bytes)
  }

  /// Whether it is but the base of a ``WideRow``.
  @inline(__always) package var isWideBase: Bool { flags.contains(.wide) }
  /// Whether it is but the base of a ``DividedRow``.
  @inline(__always) package var isDividedBase: Bool { flags.contains(.divided) }

  // MARK: Existence

  /// Whether the record was changed after compaction had dropped it, and not created since: then it is not there.
  @inline(__always) package var isUncreated: Bool { flags.contains(.uncreated) }

  /// The type of a record that a single head says to be alive, and where its fields begin; nil where all heads
  /// of the existence must tell.
  @inline(__always)
  var plainType: (type: NameNumber, fields: FieldStart)? {
    guard isPacked else {
      return RecordRow.plainType(in: bytes).map { ($0.type, FieldStart(offset: $0.fields, expected: 0)) }
    }
    guard let packed = PackedRow(bytes), !packed.isExistenceInFull else { return nil }
    return (NameNumber(rawValue: packed.type), packed.fields)
  }

  /// Where the fields begin, or a cell before them.
  ///
  /// - Throws: `damaged`, `newerFormat`.
  func fields() throws(FormatError) -> FieldStart {
    if isPacked { return try PackedRow(checked: bytes).fields }
    if !bytes.isEmpty { _ = try RecordRow.recordNumber(of: bytes) }
    return FieldStart(offset: min(RecordRow.headerBytes, bytes.byteCount), expected: 0)
  }

  /// The payload of an existence whose only head is not in full in the row; nil for any other cell.
  func shortExistence(of cell: CellNumber) -> [UInt8]? {
    guard cell == .existence, isPacked, let type = plainType?.type else { return nil }
    var writer = ByteWriter()
    Existence.alive(type: type).append(to: &writer)
    return writer.bytes
  }

  // MARK: Cells

  /// The heads of a cell that are in the row. Their payloads are in ``extracting(_:)``, but for
  /// ``shortExistence(of:)``.
  func heads(of cell: CellNumber) throws(FormatError) -> InlineHeads {
    if isPacked { return try PackedRow.heads(of: cell, in: bytes) }
    return try RecordRow.heads(of: RecordRow.place(of: cell, in: bytes).body, in: bytes)
  }

  /// What the row has of a cell that is not of heads; empty if it has nothing.
  @_lifetime(copy self)
  func content(of cell: CellNumber) throws(FormatError) -> RawSpan {
    guard let winner = try winner(of: cell) else { return bytes.extracting(0..<0) }
    return bytes.extracting(winner.payload)
  }

  /// The greatest head of a field's cell, or the whole of one that is not of heads; nil if it is absent. The
  /// other heads are not read.
  func winner(of cell: CellNumber) throws(FormatError) -> RecordRow.Winner? {
    try winner(of: cell, from: fields())
  }

  /// - Parameter start: where a cell begins that is not after it.
  @inline(__always)
  func winner(of cell: CellNumber, from start: FieldStart) throws(FormatError) -> RecordRow.Winner? {
    guard isPacked else { return try RecordRow.winner(of: cell, in: bytes, from: start.offset) }
    var cells = PackedCells(bytes, from: start)
    while let found = cells.next() {
      if found.number < cell { continue }
      return found.number == cell ? try PackedRow.winner(found, in: bytes) : nil
    }
    try cells.finish()
    return nil
  }

  /// Calls a closure with the fields' cells, ascending, and the greatest head of each; or the whole of one that
  /// is not of heads.
  @inline(__always)
  func forEachWinner(
    from start: FieldStart, _ body: (CellNumber, RecordRow.Winner) throws -> Void
  ) throws {
    if isPacked {
      var cells = PackedCells(bytes, from: start)
      while let cell = cells.next() { try body(cell.number, PackedRow.winner(cell, in: bytes)) }
      return try cells.finish()
    }
    var walk = try RecordRow.WinnerWalk(bytes, from: start.offset)
    while let (cell, winner) = try walk.next() {
      if cell.isOfField { try body(cell, winner) }
    }
  }

  // MARK: Versions

  /// Runs a closure on the row in version 1.
  package func withUnpacked<R>(_ body: (RawSpan) throws -> R) throws -> R {
    guard isPacked else { return try body(bytes) }
    var packing = RowPacking()
    return try body(packing.unpack(bytes))
  }

  /// Appends the row as it is.
  @inline(__always)
  func append(to row: inout [UInt8]) { bytes.withUnsafeBytes { row.append(contentsOf: $0) } }

  /// Whether a row of version 2 says what it says as it would be written again. A damaged one may not.
  func isShortest() throws(FormatError) -> Bool {
    guard isPacked else { return true }
    var unpacking = RowPacking()
    var packing = RowPacking()
    guard let again = packing.pack(try unpacking.unpack(bytes)) else { return false }
    return equalBytes(again, bytes)
  }

  /// The row in version 2; nil if it is of that version, or stays as it is.
  package func repacked() -> [UInt8]? {
    guard !isPacked else { return nil }
    var packing = RowPacking()
    return packing.pack(bytes)?.bytes
  }
}
