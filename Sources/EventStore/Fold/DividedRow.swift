package import OperationFormat

/// A record's row that is kept in two parts. An operation on a field that merges leaves the registers as they are; where
/// they are large they are not written again with it.
///
/// | part | lies in | bytes |
/// |---|---|---|
/// | registers | `records` | a row with the flag `RowFlags.divided`, of registers alone |
/// | the rest | `elements` | version (1), 1; then the record's existence and all other cells, as in a row |
///
/// Readers and the fold work on whole rows.
package enum DividedRow {
  /// Registers that take more bytes are kept apart from other cells, if the record has any.
  static let registersBytesMax = 512

  /// Whether what lies in `records` is a part.
  @inline(__always)
  package static func isPart(_ row: RawSpan) -> Bool {
    RecordLayout.flags(of: row).contains(.divided)
  }

  /// The number of a record by the part with its registers.
  package static func recordNumber(of registers: RawSpan) throws(FormatError) -> UInt32 {
    var header = Array(registers.extracting(..<RecordLayout.headerBytes).bytes)
    header[RowFlags.offset] &= ~RowFlags.divided.rawValue
    return try RecordLayout.recordNumber(of: header.span.bytes)
  }

  /// Takes a row apart; nil if it is to stay whole.
  static func parts(of row: RawSpan) throws(FormatError) -> (registers: [UInt8], rest: [UInt8])? {
    var registersBytes = 0
    var hasOthers = false
    try forEachCell(of: row, from: RecordLayout.headerBytes) { cell, entry in
      if cell.isRegister && cell != .existence {
        registersBytes += entry.count
      } else if cell != .existence {
        hasOthers = true
      }
    }
    guard hasOthers, registersBytes > registersBytesMax else { return nil }
    var registers = ByteWriter()
    registers.append(row.extracting(..<RecordLayout.headerBytes))
    var rest = ByteWriter()
    rest.append(1)
    try forEachCell(of: row, from: RecordLayout.headerBytes) { cell, entry in
      if cell.isRegister && cell != .existence {
        registers.append(row.extracting(entry))
      } else {
        rest.append(row.extracting(entry))
      }
    }
    var bytes = registers.bytes
    bytes[RowFlags.offset] |= RowFlags.divided.rawValue
    return (bytes, rest.bytes)
  }

  /// Puts the parts of a row together.
  package static func whole(_ registers: RawSpan, _ rest: RawSpan) throws(FormatError) -> [UInt8] {
    guard rest.byteCount > 0, rest.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 1 else {
      throw FormatError(
        .newerFormat, at: 0, in: "rest of a record row", expected: "version 1", found: "another")
    }
    _ = try recordNumber(of: registers)
    var others: [(cell: CellNumber, entry: Range<Int>)] = []
    try forEachCell(of: rest, from: 1) { others.append(($0, $1)) }
    var next = others.startIndex
    var writer = ByteWriter()
    writer.append(registers.extracting(..<RecordLayout.headerBytes))
    try forEachCell(of: registers, from: RecordLayout.headerBytes) { cell, entry in
      while next < others.endIndex, others[next].cell < cell {
        writer.append(rest.extracting(others[next].entry))
        next += 1
      }
      writer.append(registers.extracting(entry))
    }
    for (_, entry) in others[next...] { writer.append(rest.extracting(entry)) }
    var row = writer.bytes
    row[RowFlags.offset] &= ~RowFlags.divided.rawValue
    return row
  }

  private static func forEachCell(
    of part: RawSpan, from start: Int, _ body: (CellNumber, Range<Int>) throws(FormatError) -> Void
  ) throws(FormatError) {
    var reader = ByteReader(part, at: start)
    while reader.remaining > 0 {
      let start = reader.position
      let cell = try RecordLayout.nextCell(&reader)
      try body(cell.number, start..<cell.body.upperBound)
    }
  }
}

extension FoldStorage {
  /// Makes a row that was read whole, if it is a part of one: then `registers` is what was read.
  func join(_ row: inout [UInt8], registers: inout [UInt8], in state: StateNumber) throws {
    guard DividedRow.isPart(row.span.bytes) else { return }
    let number = try DividedRow.recordNumber(of: row.span.bytes)
    guard let rest = try readElement(.restOfRow(of: state, record: number)) else {
      throw FormatError(
        .damaged, at: 0, in: "record row", expected: "the rest of a row", found: "no such row")
    }
    swap(&row, &registers)
    row = try DividedRow.whole(registers.span.bytes, rest.span.bytes)
  }
}
