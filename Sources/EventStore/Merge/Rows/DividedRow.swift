import OperationFormat

/// A record's row that is kept in two parts, so that what merges can be changed beside large registers
/// without these being read or written.
///
/// | part | table | bytes |
/// |---|---|---|
/// | base | `records` | a row with the flag `RowFlags.divided`: existence, and all cells but registers |
/// | registers | `elements` | version (1), 1; then the registers, as in a row |
///
/// Readers work on whole rows, or on the base where that is enough; the fold does not ask for registers
/// before it needs them.
enum DividedRow {
  /// Registers that take more bytes are kept apart from other cells, if the record has any. A row of up to
  /// 2,000 bytes shares a page of LMDB's, which is written whole.
  static let registersBytesMax = 1500

  /// Whether a row is but the base of one.
  @inline(__always)
  static func isBase(_ row: RawSpan) -> Bool { RecordRow.flags(of: row).contains(.divided) }

  /// Whether a row has cells of fields besides registers: else none is kept apart.
  static func hasOthers(_ row: RawSpan) throws(FormatError) -> Bool {
    var cells = try RecordRow.cellReader(of: row)
    while let cell = try nextEntry(&cells) {
      if cell.number.isOfField, !cell.number.isRegister { return true }
    }
    return false
  }

  /// Takes a row apart; nil if it is to stay whole.
  static func parts(of row: RawSpan) throws(FormatError) -> (base: [UInt8], registers: [UInt8])? {
    var registersBytes = 0
    var hasOthers = false
    var cells = try RecordRow.cellReader(of: row)
    while let cell = try nextEntry(&cells) {
      if cell.number.isFieldRegister {
        registersBytes += cell.entry.count
      } else if cell.number.isOfField {
        hasOthers = true
      }
    }
    guard hasOthers, registersBytes > registersBytesMax else { return nil }
    var base = ByteWriter()
    var registers = ByteWriter()
    base.append(row.extracting(..<RecordRow.headerBytes))
    registers.append(1)
    cells = try RecordRow.cellReader(of: row)
    while let cell = try nextEntry(&cells) {
      let entry = row.extracting(cell.entry)
      if cell.number.isFieldRegister { registers.append(entry) } else { base.append(entry) }
    }
    var bytes = base.bytes
    bytes[RowFlags.offset] |= RowFlags.divided.rawValue
    return (bytes, registers.bytes)
  }

  /// Puts the parts of a row together.
  static func whole(_ base: RawSpan, _ registers: RawSpan) throws(FormatError) -> [UInt8] {
    guard registers.byteCount > 0, registers.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 1 else {
      throw FormatError(
        .newerFormat, at: 0, in: "a row's registers", expected: "version 1", found: "another")
    }
    var writer = ByteWriter()
    writer.append(base.extracting(..<RecordRow.headerBytes))
    var others = try RecordRow.cellReader(of: base)
    var other = try nextEntry(&others)
    var cells = ByteReader(registers, at: 1)
    while let cell = try nextEntry(&cells) {
      while let before = other, before.number < cell.number {
        writer.append(base.extracting(before.entry))
        other = try nextEntry(&others)
      }
      writer.append(registers.extracting(cell.entry))
    }
    while let rest = other {
      writer.append(base.extracting(rest.entry))
      other = try nextEntry(&others)
    }
    var row = writer.bytes
    row[RowFlags.offset] &= ~RowFlags.divided.rawValue
    return row
  }

  @_lifetime(reader: copy reader)
  private static func nextEntry(
    _ reader: inout ByteReader
  ) throws(FormatError) -> (number: CellNumber, entry: Range<Int>)? {
    guard reader.remaining > 0 else { return nil }
    let start = reader.position
    let cell = try RecordRow.nextCell(&reader)
    return (cell.number, start..<cell.body.upperBound)
  }
}
