import OperationFormat

/// A record with so many cells that its row would be too large to be written at each change. It is kept in
/// blocks, which are found by the numbers of their cells:
///
/// | part | table | bytes |
/// |---|---|---|
/// | base | `records` | a row with the flag `RowFlags.wide`: only the record's existence and creation |
/// | blocks | `elements` | version (1), 1; then cells, as in a row, from the number in its key to that in the next |
///
/// The fold has the base and one block in its row at a time. A row that was divided so stays so.
package enum WideRow {
  /// Rows of more bytes are divided.
  package static let wholeBytesMax = 16_384
  /// Blocks of up to so many bytes share a page of LMDB with others.
  static let blockBytesMax = 1900

  /// Whether a row is but the base of one.
  @inline(__always)
  package static func isBase(_ row: RawSpan) -> Bool { RecordRow.flags(of: row).contains(.wide) }

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
      let cell = try RecordRow.nextCell(&reader)
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

/// The blocks of the current record that were read, by their cells. They are written together, so that
/// operations on cells all over the record read and write each block once.
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
    read.prefixCount { $0.cells.first <= cell }
  }
}
