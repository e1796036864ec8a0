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

  /// How cells are cut into blocks, each with the number of its first cell.
  static func cut(
    _ cells: RawSpan, blockBytesMax: Int
  ) throws(FormatError) -> [(first: CellNumber, bytes: Range<Int>)] {
    guard cells.byteCount > blockBytesMax else { return [] }
    var parts: [(first: CellNumber, bytes: Range<Int>)] = []
    var reader = ByteReader(cells)
    while reader.remaining > 0 {
      let start = reader.position
      let cell = try RecordLayout.nextCell(&reader)
      if let last = parts.last, cell.body.upperBound - last.bytes.lowerBound <= blockBytesMax * 3 / 4 {
        parts[parts.count - 1].bytes = last.bytes.lowerBound..<cell.body.upperBound
      } else {
        parts.append((cell.number, start..<cell.body.upperBound))
      }
    }
    return parts
  }

  /// Makes a row of a base to which blocks were appended.
  static func whole(_ base: consuming [UInt8]) -> [UInt8] {
    var row = base
    row[RowFlags.offset] &= ~RowFlags.wide.rawValue
    return row
  }
}

/// A block that was read.
struct CellBlock {
  /// The numbers that its cells may have: from one up to that of the next block, nil in the last.
  var cells: (first: UInt32, end: UInt32?)
  /// Its cells. While they are in the fold's row: as they were before.
  var bytes: [UInt8] = []
  /// Whether it is to be written.
  var isChanged = false

  func holds(_ cell: CellNumber) -> Bool {
    cells.first <= cell.rawValue && cells.end.map { cell.rawValue < $0 } ?? true
  }
}

/// The blocks of the current record that were read, by their cells. They are written together, so that operations on cells
/// all over the record read and write each block once.
struct CellBlocks {
  /// Those of more bytes in all are written and dropped.
  static let bytesMax = 4 << 20

  private(set) var read: [CellBlock] = []
  /// Which of them is in the fold's row.
  private(set) var current: Int?
  private(set) var byteCount = 0

  var isEmpty: Bool { read.isEmpty }

  /// Makes the block of a cell the one in the row, and gives it; nil if it was not read.
  mutating func open(_ cell: CellNumber) -> CellBlock? {
    let index = index(after: cell.rawValue) - 1
    guard index >= 0, read[index].holds(cell) else { return nil }
    current = index
    return read[index]
  }

  /// Adds a block and makes it the one in the row.
  mutating func open(_ block: CellBlock) {
    let index = index(after: block.cells.first)
    read.insert(block, at: index)
    byteCount += block.bytes.count
    current = index
  }

  /// Takes the block in the row back, cut into some if it got too large.
  mutating func close(
    _ bytes: ArraySlice<UInt8>, cut: (RawSpan) throws -> [(first: CellNumber, bytes: Range<Int>)]
  )
    throws
  {
    guard let current else { return }
    self.current = nil
    guard bytes != read[current].bytes[...] else { return }
    let parts = try cut(bytes.span.bytes)
    byteCount += bytes.count - read[current].bytes.count
    read[current].isChanged = true
    guard parts.count > 1 else { return read[current].bytes.replaceSubrange(0..., with: bytes) }
    let (first, end) = read[current].cells
    let blocks = parts.indices.map { part in
      CellBlock(
        cells: (
          part == 0 ? first : parts[part].first.rawValue,
          part + 1 < parts.count ? parts[part + 1].first.rawValue : end
        ), bytes: Array(bytes.dropFirst(parts[part].bytes.lowerBound).prefix(parts[part].bytes.count)),
        isChanged: true)
    }
    read.replaceSubrange(current...current, with: blocks)
  }

  /// How many blocks begin at a cell's number or before it.
  private func index(after cell: UInt32) -> Int {
    var (low, high) = (0, read.count)
    while low < high {
      let middle = (low + high) / 2
      if read[middle].cells.first <= cell { low = middle + 1 } else { high = middle }
    }
    return low
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
    blocks.open(CellBlock(cells: (0, nil)))
    try closeBlock()
  }

  /// Brings the block of a cell into the row.
  mutating func openBlock(of cell: CellNumber) throws {
    let isInRow = blocks.current.map { blocks.read[$0].holds(cell) } ?? false
    if cell == .existence || isInRow && row.count <= 3 * blockBytesMax { return }
    try closeBlock()
    if blocks.byteCount > CellBlocks.bytesMax { try writeBlocks() }
    if let read = blocks.open(cell) { return row.append(contentsOf: read.bytes) }
    let prefix = ElementKey.blocks(of: state, record: try recordNumber)
    let key = ElementKey.block(of: state, record: try recordNumber, from: cell.rawValue)
    let (found, next) = try storage.element(atMost: key, under: prefix)
    var block = CellBlock(cells: (try found?.key.firstCellOfBlock ?? 0, try next?.firstCellOfBlock))
    if let stored = found?.row { block.bytes = Array(stored[try WideRow.cells(of: stored.span.bytes)...]) }
    row.append(contentsOf: block.bytes)
    blocks.open(block)
  }

  /// Takes the block that is in the row out of it.
  private mutating func closeBlock() throws {
    guard blocks.current != nil else { return }
    let base = try RecordLayout.place(of: .existence, in: row.span.bytes).entry.upperBound
    try blocks.close(row[base...]) { [blockBytesMax] in try WideRow.cut($0, blockBytesMax: blockBytesMax) }
    row.removeSubrange(base...)
  }

  /// Writes the blocks that changed, and takes all out of the row and the memory.
  mutating func writeBlocks() throws {
    try closeBlock()
    guard !blocks.isEmpty else { return }
    let record = try recordNumber
    for block in blocks.read where block.isChanged {
      let key = ElementKey.block(of: state, record: record, from: block.cells.first)
      if block.bytes.isEmpty {
        try storage.deleteElement(key)
      } else {
        var writer = ByteWriter()
        writer.append(1)
        writer.append(block.bytes.span.bytes)
        try storage.writeElement(writer.span, key)
      }
    }
    blocks = CellBlocks()
  }

  /// The numbers of some of the current record's fields' cells from one on, ascending; of those of heads only where the transaction, at one
  /// of its operations, may have seen a head.
  ///
  /// - Returns: those, how many cells it looked at, and the next one; nil if it has looked at all
  /// - Complexity: linear in the cells, and in the row if it is not wide; it writes nothing
  mutating func cellNumbers(
    seenAt index: UInt32, from first: CellNumber
  ) throws -> (found: [CellNumber], looked: Int, next: CellNumber?) {
    if isWide { try writeBlocks() }
    var cells: (found: [CellNumber], looked: Int, next: CellNumber?) = ([], 0, nil)
    func add(_ cell: (number: CellNumber, body: Range<Int>), of row: RawSpan) throws {
      // A record's existence is none of its fields; and a first block may begin with its number.
      guard cell.number >= first, cell.number != .existence else { return }
      cells.looked += 1
      guard cell.number.isOfHeads else { return cells.found.append(cell.number) }
      let heads = try RecordLayout.heads(of: cell.body, in: row)
      if try mayRemove(.seen(at: index), heads) { cells.found.append(cell.number) }
    }
    func addAll(_ reader: inout ByteReader, of row: RawSpan) throws {
      while reader.remaining > 0 { try add(try RecordLayout.nextCell(&reader), of: row) }
    }
    let base = row.span.bytes
    var reader = try RecordLayout.cellReader(of: base)
    try addAll(&reader, of: base)
    guard isWide else { return cells }
    let prefix = ElementKey.blocks(of: state, record: try recordNumber)
    let key = ElementKey.block(of: state, record: try recordNumber, from: first.rawValue)
    let start = try storage.element(atMost: key, under: prefix).found?.key ?? prefix
    try storage.forEachElement(under: prefix, from: start) { key, block in
      guard cells.looked < bound.rowsAtOnce else {
        cells.next = CellNumber(rawValue: try key.firstCellOfBlock)
        return false
      }
      var reader = ByteReader(block, at: try WideRow.cells(of: block))
      try addAll(&reader, of: block)
      return true
    }
    return cells
  }
}
