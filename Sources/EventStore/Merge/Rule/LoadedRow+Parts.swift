import OperationFormat

/// Rows of records that are kept in parts: see ``DividedRow`` and ``WideRow``.
extension LoadedRow {
  /// Puts the registers that are stored apart into the row.
  mutating func joinRegisters() throws {
    guard DividedRow.isBase(bytes.span.bytes) else { return }
    guard let found = try storage.readElement(.registers(of: state, record: try recordNumber)) else {
      throw FormatError(
        .damaged, at: 0, in: "record row", expected: "registers that are kept apart", found: "no such row")
    }
    bytes = try DividedRow.whole(bytes.span.bytes, found.span.bytes)
    registers = found
    existence = .unknown
  }

  var isWide: Bool { WideRow.isBase(bytes.span.bytes) }

  /// Finds a cell in the row, or where it belongs.
  @inline(__always)
  mutating func place(of cell: CellNumber) throws -> CellPlace {
    if isWide { try openBlock(of: cell) }
    return try RecordRow.place(of: cell, in: bytes.span.bytes)
  }

  /// Divides the row into blocks if it is too large.
  mutating func divideIfLarge() throws {
    guard bytes.count > wholeRowBytesMax, !isWide else { return }
    try joinRegisters()
    if !registers.isEmpty { try storage.deleteElement(.registers(of: state, record: try recordNumber)) }
    registers = []
    bytes[RowFlags.offset] |= RowFlags.wide.rawValue
    isChanged = true
    blocks.open(CellBlock(cells: (0, nil)))
    try closeBlock()
  }

  /// Brings the block of a cell into the bytes.
  mutating func openBlock(of cell: CellNumber) throws {
    let isInRow = blocks.current.map { blocks.read[$0].holds(cell) } ?? false
    if !cell.isOfField || isInRow && bytes.count <= 3 * blockBytesMax { return }
    try closeBlock()
    if blocks.byteCount > CellBlocks.bytesMax { try writeBlocks() }
    if let read = blocks.open(cell) { return bytes.append(contentsOf: read.bytes) }
    let prefix = ElementKey.blocks(of: state, record: try recordNumber)
    let key = ElementKey.block(of: state, record: try recordNumber, from: cell.rawValue)
    let (found, next) = try storage.element(atMost: key, under: prefix)
    var block = CellBlock(cells: (try found?.key.firstCellOfBlock ?? 0, try next?.firstCellOfBlock))
    if let stored = found?.row { block.bytes = Array(stored[try WideRow.cells(of: stored.span.bytes)...]) }
    bytes.append(contentsOf: block.bytes)
    blocks.open(block)
  }

  /// Takes the block that is in the bytes out of it.
  private mutating func closeBlock() throws {
    guard blocks.current != nil else { return }
    let base = try RecordRow.place(of: .creation, in: bytes.span.bytes).entry.upperBound
    try blocks.close(bytes[base...]) { [blockBytesMax] in try WideRow.cut($0, blockBytesMax: blockBytesMax) }
    bytes.removeSubrange(base...)
  }

  /// Writes the blocks that changed, and takes all out of the bytes and the memory.
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

  /// The numbers of some of the current record's fields' cells from one on, ascending; of those of heads only
  /// where the transaction, at one of its operations, may have seen a head.
  ///
  /// - Returns: those, how many cells it examined, and the next one; nil if it examined all
  /// - Complexity: linear in the cells, and in the bytes if it is not wide; it writes nothing
  mutating func cellNumbers(
    seenAt index: UInt32, from first: CellNumber, by step: borrowing HeadStep<Storage>
  ) throws -> (found: [CellNumber], looked: Int, next: CellNumber?) {
    try cellNumbers(from: first, atOnce: step.bound.rowsAtOnce) { try step.mayRemove(.seen(at: index), $0) }
  }

  /// The same; of cells of heads those that a closure chooses.
  mutating func cellNumbers(
    from first: CellNumber, atOnce looked: Int, where isChosen: (InlineHeads) throws -> Bool
  ) throws -> (found: [CellNumber], looked: Int, next: CellNumber?) {
    if isWide { try writeBlocks() }
    var cells: (found: [CellNumber], looked: Int, next: CellNumber?) = ([], 0, nil)
    func add(_ cell: (number: CellNumber, body: Range<Int>), of row: RawSpan) throws {
      // A first block may begin with the number of the record's existence.
      guard cell.number >= first, cell.number.isOfField else { return }
      cells.looked += 1
      guard cell.number.isOfHeads else { return cells.found.append(cell.number) }
      let heads = try RecordRow.heads(of: cell.body, in: row)
      if try isChosen(heads) { cells.found.append(cell.number) }
    }
    func addAll(_ reader: inout ByteReader, of row: RawSpan) throws {
      while reader.remaining > 0 { try add(try RecordRow.nextCell(&reader), of: row) }
    }
    let base = bytes.span.bytes
    var reader = try RecordRow.cellReader(of: base)
    try addAll(&reader, of: base)
    guard isWide else { return cells }
    let prefix = ElementKey.blocks(of: state, record: try recordNumber)
    let key = ElementKey.block(of: state, record: try recordNumber, from: first.rawValue)
    let start = try storage.element(atMost: key, under: prefix).found?.key ?? prefix
    try storage.forEachElement(under: prefix, from: start) { key, block in
      guard cells.looked < looked else {
        cells.next = CellNumber(rawValue: try ElementKey.firstCell(ofBlock: key))
        return false
      }
      var reader = ByteReader(block, at: try WideRow.cells(of: block))
      try addAll(&reader, of: block)
      return true
    }
    return cells
  }
}
