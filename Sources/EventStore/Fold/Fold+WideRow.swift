import OperationFormat

/// A record with so many cells that its row would be too large to be written at each change. It is kept in blocks, which are found
/// by the numbers of their cells:
///
/// | part | lies in | bytes |
/// |---|---|---|
/// | base | `records` | a row with the flag `RowFlags.wide`: the record's existence alone |
/// | blocks | `elements` | version (1), 1; then cells, as in a row: those from the number in the block's key up to that of the next |
///
/// The fold has the base and one block in its row at a time. A row that was divided so stays so.
package enum WideRow {
  /// Rows of more bytes are divided.
  package static let wholeBytesMax = 16_384
  /// Blocks of up to so many bytes lie on a page of LMDB's with others.
  static let blockBytesMax = 1900

  /// Whether a row is but the base of one.
  @inline(__always)
  package static func isBase(_ row: RawSpan) -> Bool { RecordLayout.flags(of: row).contains(.wide) }

  /// Appends the cells of a block to a row.
  static func append(_ block: RawSpan, to row: inout ByteWriter) throws(FormatError) {
    row.append(block.extracting(try cells(of: block)...))
  }

  /// Where the cells begin in a block.
  static func cells(of block: RawSpan) throws(FormatError) -> Int {
    var reader = ByteReader(block)
    try reader.expectVersion("a block of a row")
    return reader.position
  }

  /// The numbers that the cells of a field may have.
  static func cells(of field: NameNumber) -> ClosedRange<UInt32> {
    CellNumber(register: field).rawValue...(field.rawValue << 4 | 0xf)
  }

  /// Makes a row of a base to which blocks were appended.
  static func whole(_ base: consuming [UInt8]) -> [UInt8] {
    var row = base
    row[RowFlags.offset] &= ~RowFlags.wide.rawValue
    return row
  }
}

/// Which cells of a wide record are in the fold's row.
struct CellBlock {
  /// The numbers of its cells: from one up to that of the next block, nil in the last. Nil if there is no block in the row.
  var cells: (first: UInt32, end: UInt32?)?
  /// Its cells as they are stored.
  var stored: ArraySlice<UInt8> = []

  func holds(_ cell: CellNumber) -> Bool {
    guard let cells else { return false }
    return cells.first <= cell.rawValue && cells.end.map { cell.rawValue < $0 } ?? true
  }
}

extension Fold {
  var isWide: Bool { WideRow.isBase(row.span.bytes) }

  /// Finds a cell in the row at hand, or where it belongs.
  @inline(__always)
  mutating func place(of cell: CellNumber) throws -> CellPlace {
    if isWide { try openBlock(of: cell) }
    return try RecordLayout.place(of: cell, in: row.span.bytes)
  }

  /// Divides the row at hand into blocks, if it got too large.
  mutating func divideIfLarge() throws {
    guard row.count > wholeRowBytesMax, !isWide else { return }
    try joinRegisters()
    if !registers.isEmpty { try storage.deleteElement(.registers(of: state, record: try recordNumber)) }
    registers = []
    row[RowFlags.offset] |= RowFlags.wide.rawValue
    isChanged = true
    block = CellBlock(cells: (0, nil))
    try closeBlock()
  }

  /// Brings the block of a cell into the row.
  mutating func openBlock(of cell: CellNumber) throws {
    if cell == .existence || block.holds(cell) && row.count <= 3 * blockBytesMax { return }
    try closeBlock()
    let prefix = ElementKey.blocks(of: state, record: try recordNumber)
    let key = ElementKey.block(of: state, record: try recordNumber, from: cell.rawValue)
    let (found, next) = try storage.element(atMost: key, under: prefix)
    block.cells = (try found?.key.firstCellOfBlock ?? 0, try next?.firstCellOfBlock)
    guard let stored = found?.row else { return }
    block.stored = stored[try WideRow.cells(of: stored.span.bytes)...]
    row.append(contentsOf: block.stored)
  }

  /// Writes the block that is in the row, in several if it got too large, and takes it out of the row.
  mutating func closeBlock() throws {
    guard let cells = block.cells else { return }
    let base = try RecordLayout.place(of: .existence, in: row.span.bytes).entry.upperBound
    if row[base...] != block.stored {
      let record = try recordNumber
      let key = ElementKey.block(of: state, record: record, from: cells.first)
      if row.count == base {
        try storage.deleteElement(key)
      } else {
        for (first, part) in try parts(from: base) {
          var writer = ByteWriter()
          writer.append(1)
          writer.append(row.span.bytes.extracting(part))
          let key = part.lowerBound == base ? key : .block(of: state, record: record, from: first.rawValue)
          try storage.writeElement(writer.span, key)
        }
      }
    }
    row.removeSubrange(base...)
    block = CellBlock()
  }

  /// How the cells in the row are cut into blocks, each with the number of its first cell.
  private func parts(from base: Int) throws -> [(first: CellNumber, bytes: Range<Int>)] {
    var parts: [(first: CellNumber, bytes: Range<Int>)] = []
    let cutBytes = row.count - base > blockBytesMax ? blockBytesMax * 3 / 4 : blockBytesMax
    var reader = ByteReader(row.span.bytes, at: base)
    while reader.remaining > 0 {
      let start = reader.position
      let cell = try RecordLayout.nextCell(&reader)
      if let last = parts.last, cell.body.upperBound - last.bytes.lowerBound <= cutBytes {
        parts[parts.count - 1].bytes = last.bytes.lowerBound..<cell.body.upperBound
      } else {
        parts.append((cell.number, start..<cell.body.upperBound))
      }
    }
    return parts
  }

  /// The numbers of the current record's cells, ascending; of those of heads only where the transaction, at one of its
  /// operations, may have seen a head.
  ///
  /// - Complexity: linear in the record; it writes nothing
  mutating func cellNumbers(seenAt index: UInt32) throws -> [CellNumber] {
    if isWide { try closeBlock() }
    var cells: [CellNumber] = []
    func add(_ cell: (number: CellNumber, body: Range<Int>), of row: RawSpan) throws {
      guard cell.number.isOfHeads else { return cells.append(cell.number) }
      let heads = try RecordLayout.heads(of: cell.body, in: row)
      if try mayRemove(.seen(at: index), heads) { cells.append(cell.number) }
    }
    func addAll(_ reader: inout ByteReader, of row: RawSpan) throws {
      while reader.remaining > 0 { try add(try RecordLayout.nextCell(&reader), of: row) }
    }
    let base = row.span.bytes
    var reader = try RecordLayout.cellReader(of: base)
    try addAll(&reader, of: base)
    guard isWide else { return cells }
    try storage.forEachElement(under: .blocks(of: state, record: try recordNumber)) { _, block in
      var reader = ByteReader(block, at: try WideRow.cells(of: block))
      try addAll(&reader, of: block)
    }
    return cells
  }
}
