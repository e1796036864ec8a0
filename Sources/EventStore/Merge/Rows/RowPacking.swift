import OperationFormat

/// Rewrites rows of records: those of version 1, as the fold edits them, as version 2, and back.
///
/// It keeps the memory that it writes to: a fold unpacks each record of version 2 that it loads.
struct RowPacking: ~Copyable {
  /// Stamps, then what comes before the cells, then the cells.
  var space = ByteWriter()

  /// What the stamps take. What comes before the cells takes less.
  static let stampsBytes = Stamp.countMax * MemoryLayout<Stamp>.stride
  static let beforeCellsBytes = 64 + Stamp.countMax * Stamp.bytesMax
  /// A row of more bytes stays as it is: the fold keeps such a record in parts.
  static let rowBytesMax = 1 << 20

  init() {}
}

// MARK: To version 2

extension RowPacking {
  /// Writes a row of version 1 as one of version 2; nil if it stays as it is: it is in parts, or would not be
  /// shorter, or not be the same after ``unpack(_:)``.
  ///
  /// - Returns: the row, until the next call.
  @_lifetime(&self)
  mutating func pack(_ row: RawSpan) -> RawSpan? {
    guard row.byteCount <= Self.rowBytesMax, RecordRow.isPlain(row),
      RowFlags.ofReferences.contains(RecordRow.flags(of: row)), let cellCount = Self.cellCount(of: row)
    else { return nil }
    let start = Self.stampsBytes + Self.beforeCellsBytes
    space.removeAll()
    // No cell gets longer by more than the mark of its form, and one byte of its number.
    let memory = space.appendUninitialized(start + row.byteCount + 2 * cellCount + 64)
    var writer = PackedRowWriter(memory, cellsAt: start)
    guard let range = writer.write(row, cellCount), range.count < row.byteCount else { return nil }
    return space.span.extracting(range)
  }

  /// Nil if the cells are damaged.
  private static func cellCount(of row: RawSpan) -> Int? {
    var reader = PlainReader(row, at: RecordRow.headerBytes)
    var count = 0
    while reader.offset < row.byteCount {
      let (_, byteCount) = reader.cell()
      if reader.failed { return nil }
      reader.offset &+= byteCount
      count += 1
    }
    return count
  }
}
