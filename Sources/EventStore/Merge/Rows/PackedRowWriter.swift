import OperationFormat

/// Writes a row of version 2.
struct PackedRowWriter {
  private let memory: UnsafeMutableRawBufferPointer
  private let stamps: UnsafeMutablePointer<Stamp>
  private var stampCount = 0
  private let start: Int
  private var pen: Pen
  private var order = HeadOrderInRow()
  var creation = Creation.unknown

  init(_ memory: UnsafeMutableRawBufferPointer, cellsAt start: Int) {
    self.memory = memory
    self.start = start
    stamps = memory.baseAddress!.bindMemory(to: Stamp.self, capacity: Stamp.countMax)
    pen = Pen(memory, at: start)
  }

  /// - Returns: where the row is; nil if version 2 cannot say the same.
  mutating func write(_ row: RawSpan, _ cellCount: Int) -> Range<Int>? {
    var reader = PlainReader(row, at: RecordRow.headerBytes)
    var flags = RecordRow.flags(of: row).rawValue
    var expected = PackedCells.expected(after: 0)
    var before: UInt64 = 0
    // The record's existence comes first.
    let first = PlainReader(row, at: RecordRow.headerBytes).isAtByte(0) ? reader.cell().byteCount : nil
    var fieldCount = first == nil ? cellCount : cellCount - 1
    var second = reader
    if let first { second.offset += first }
    if second.isAtByte(UInt8(CellNumber.creation.rawValue)) {
      let (_, byteCount) = second.cell()
      guard !second.failed,
        let found = try? Creation(cell: row.extracting(second.offset..<second.offset + byteCount))
      else { return nil }
      creation = found
      second.offset += byteCount
      fieldCount -= 1
    }
    if let first {
      let body = reader.offset..<reader.offset + first
      if let type = writeShortExistence(&reader, before: body.upperBound, fieldCount) {
        expected = PackedCells.expected(after: type &<< 4)
      } else {
        reader = PlainReader(row, at: body.lowerBound)
        flags |= PackedRow.hasFullExistence
        guard writeCounted(&reader, before: body.upperBound) else { return nil }
      }
    } else {
      flags |= PackedRow.hasFullExistence
      pen.write(0)
    }
    (reader.offset, reader.failed) = (second.offset, false)
    while reader.offset < row.byteCount {
      let (number, byteCount) = reader.cell()
      let end = reader.offset &+ byteCount
      guard !reader.failed, number > before, let known = UInt32(exactly: number) else { return nil }
      before = number
      writeCell(CellNumber(rawValue: known), &reader, before: end, expected)
      (reader.offset, reader.failed) = (end, false)
      expected = PackedCells.expected(after: known)
    }
    guard stampCount > 0 else { return nil }
    return finish(flags, recordNumber: RecordRow.plainNumber(of: row))
  }

  // MARK: Cells

  @inline(__always)
  private mutating func writeCell(
    _ cell: CellNumber, _ reader: inout PlainReader, before end: Int, _ expected: UInt32
  ) {
    let start = reader.offset
    if cell.isOfHeads {
      if reader.byte() == 1, let head = reader.stamp(), !reader.failed {
        let index = reader.number()
        let byteCount = reader.count()
        if !reader.failed, reader.offset &+ byteCount == end, let stamp = number(of: head) {
          return writeOne(cell, stamp, index, reader.row, reader.offset..<end, expected)
        }
      } else if writeHeads(cell, reader.row, start..<end, expected) {
        return
      }
    }
    writeOther(cell, reader.row, start..<end, expected)
  }

  /// Writes a cell whose content is as in version 1.
  mutating func writeOther(_ cell: CellNumber, _ row: RawSpan, _ content: Range<Int>, _ expected: UInt32) {
    writeMark(PackedCells.Mark.other | PackedCells.Mark.byteCount, cell, expected)
    pen.write(varint: UInt64(content.count))
    pen.write(row, content)
  }

  /// Writes a cell with one head.
  @inline(__always)
  mutating func writeOne(
    _ cell: CellNumber, _ stamp: Int, _ index: UInt32, _ row: RawSpan, _ payload: Range<Int>,
    _ expected: UInt32
  ) {
    var mark = order.mark(stamp, index)
    if Value.end(ofValueAt: payload.lowerBound, in: row) != payload.upperBound {
      mark |= PackedCells.Mark.byteCount
    }
    if mark != 0 || cell.rawValue != expected {
      writeParts(mark, cell, stamp, index, payload.count, expected)
    }
    pen.write(row, payload)
  }

  /// Writes what comes before the payload.
  @inline(never)
  private mutating func writeParts(
    _ mark: UInt8, _ cell: CellNumber, _ stamp: Int, _ index: UInt32, _ byteCount: Int, _ expected: UInt32
  ) {
    let passed = (Int64(cell.rawValue) - Int64(expected)) >> 4
    let passing = UInt8(clamping: passed + Int64(PackedCells.passing.lowerBound) - 1)
    if mark == 0, cell.isRegister, passed > 0, passing < PackedCells.passing.upperBound {
      return pen.write(passing)
    }
    writeMark(mark, cell, expected)
    if mark & PackedCells.Mark.stamp == PackedCells.Mark.stampFollows { pen.write(varint: UInt64(stamp)) }
    if mark & PackedCells.Mark.index != 0 { pen.write(varint: UInt64(index)) }
    if mark & PackedCells.Mark.byteCount != 0 { pen.write(varint: UInt64(byteCount)) }
  }

  /// Writes the first byte of a cell that needs one, and its number.
  private mutating func writeMark(_ mark: UInt8, _ cell: CellNumber, _ expected: UInt32) {
    if cell.rawValue == expected { return pen.write(PackedCells.Mark.isMark | mark) }
    pen.write(PackedCells.Mark.isMark | PackedCells.Mark.number | mark)
    pen.write(varint: zigzagBits(Int64(cell.rawValue) - Int64(expected)))
  }

  // MARK: Heads

  /// Writes a cell with several heads; false, and nothing, if that cannot say the same.
  private mutating func writeHeads(
    _ cell: CellNumber, _ row: RawSpan, _ body: Range<Int>, _ expected: UInt32
  ) -> Bool {
    let (pen, stampCount, order) = (pen, stampCount, order)
    writeMark(PackedCells.Mark.heads | PackedCells.Mark.byteCount, cell, expected)
    var reader = PlainReader(row, at: body.lowerBound)
    if writeCounted(&reader, before: body.upperBound) { return true }
    (self.pen, self.stampCount, self.order) = (pen, stampCount, order)
    return false
  }

  /// Writes heads behind their byte count; false if version 2 cannot say the same.
  private mutating func writeCounted(_ reader: inout PlainReader, before end: Int) -> Bool {
    let start = pen.offset
    pen.write(varint: reader.varint())
    while !reader.failed, reader.offset < end {
      guard let head = reader.stamp(), let stamp = number(of: head) else { return false }
      let index = reader.number()
      let byteCount = reader.count()
      guard !reader.failed, reader.offset &+ byteCount <= end else { return false }
      pen.write(varint: UInt64(order.note(UInt64(stamp))))
      pen.write(varint: UInt64(index))
      pen.write(varint: UInt64(byteCount))
      pen.write(reader.row, reader.offset..<reader.offset + byteCount)
      reader.offset += byteCount
    }
    if reader.failed || reader.offset != end { return false }
    let byteCount = UInt64(pen.offset - start)
    pen.move(from: start, by: ByteWriter.varintByteCount(byteCount))
    var front = Pen(memory, at: start)
    front.write(varint: byteCount)
    return true
  }

  /// Writes an existence of one head that says that the record is alive; nil, and nothing, if it says
  /// another thing.
  ///
  /// - Returns: the type.
  private mutating func writeShortExistence(
    _ reader: inout PlainReader, before end: Int, _ fieldCount: Int
  ) -> UInt32? {
    guard reader.byte() == 1, let head = reader.stamp() else { return nil }
    let index = reader.number()
    let byteCount = reader.count()
    guard !reader.failed, byteCount > 1, reader.offset + byteCount == end, reader.byte() == 1 else {
      return nil
    }
    let type = reader.number()
    guard !reader.failed, reader.offset == end else { return nil }
    begin(with: head, type, index, fieldCount)
    return type
  }

  /// Writes a short existence, and so the first stamp.
  mutating func begin(with stamp: Stamp, _ type: UInt32, _ index: UInt32, _ fieldCount: Int) {
    stamps[0] = stamp
    stampCount = 1
    pen.write(varint: UInt64(type))
    pen.write(varint: UInt64(index))
    order = HeadOrderInRow(existence: index, cellCount: fieldCount)
  }

  // MARK: Stamps

  /// The number of a stamp, which may be a new one; nil if there are too many.
  @inline(__always)
  mutating func number(of stamp: Stamp) -> Int? {
    if stampCount > 0, stamps[order.stamp] == stamp { return order.stamp }
    return otherNumber(of: stamp)
  }

  @inline(never)
  private mutating func otherNumber(of stamp: Stamp) -> Int? {
    for number in 0..<stampCount where stamps[number] == stamp { return number }
    guard stampCount < Stamp.countMax else { return nil }
    stamps[stampCount] = stamp
    stampCount += 1
    return stampCount - 1
  }

  /// Writes what comes before the existence, right before it.
  ///
  /// - Returns: where the row is; nil if there are too many stamps.
  mutating func finish(_ flags: UInt8, recordNumber: UInt32) -> Range<Int>? {
    var form = creation == .none ? PackedRow.CreationForm.none : .unknown
    var number = 0
    if let stamp = creation.stamp {
      guard let found = self.number(of: stamp) else { return nil }
      (form, number) = (found == 0 ? .first : .follows, found)
    }
    let areaStart = RowPacking.stampsBytes
    // The further stamps first: their byte count comes before them.
    let stampsStart = areaStart + 64
    var others = Pen(memory, at: stampsStart)
    if stampCount > 1 {
      for number in 1..<stampCount { stamps[number].write(after: stamps[0], to: &others) }
    }
    var header = Pen(memory, at: areaStart)
    header.write(form.rawValue | flags | (stampCount > 1 ? PackedRow.hasStamps : 0))
    header.write(varint: UInt64(recordNumber))
    stamps[0].writeFirst(to: &header)
    if stampCount > 1 {
      let byteCount = others.offset - stampsStart
      header.write(varint: UInt64(byteCount))
      others.move(from: stampsStart, by: header.offset - stampsStart)
      header = others
    }
    if form == .follows { header.write(varint: UInt64(number)) }
    let byteCount = header.offset - areaStart
    header.move(from: areaStart, by: start - byteCount - areaStart)
    return start - byteCount..<pen.offset
  }
}

extension PlainReader {
  /// Whether the next byte has a value.
  func isAtByte(_ value: UInt8) -> Bool {
    offset < row.byteCount && row.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == value
  }

  /// A head of version 1, up to and without its operation's index; nil if it is damaged.
  @inline(__always) @_lifetime(self: copy self)
  mutating func stamp() -> Stamp? {
    let timestamp = word(byteCount: 8)
    let (replica, epoch, sequence) = (number(), number(), varint())
    if failed { return nil }
    return Stamp(
      timestamp: Timestamp(rawValue: timestamp), sequence: sequence, replica: replica, epoch: epoch)
  }
}
