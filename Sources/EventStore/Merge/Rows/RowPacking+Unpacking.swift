import OperationFormat

// MARK: To version 1

extension RowPacking {
  /// Writes a row of version 2 as one of version 1.
  ///
  /// - Returns: the row, until the next call.
  /// - Complexity: linear in the bytes; each byte becomes at most some tens.
  @_lifetime(&self)
  mutating func unpack(_ row: RawSpan) throws(FormatError) -> RawSpan {
    guard row.byteCount <= Self.rowBytesMax else { throw PackedRow.damaged(at: Self.rowBytesMax) }
    let packed = try PackedRow(checked: row)
    var cells = PackedCells(row, from: packed.fields)
    // A head of version 1 takes a stamp, its index, and the counts around it; one of version 2 in a cell of
    // several takes three bytes.
    var cellCount = 0
    var headsMax = 2 + packed.existence.count / 3
    while let cell = cells.next() {
      cellCount += 1
      headsMax += cell.form == .heads ? cell.payload.count / 3 : 1
    }
    try cells.finish()
    space.removeAll()
    let bytesMax = row.byteCount + 16 * (cellCount + 1) + (Stamp.bytesMax + 16) * headsMax
    let memory = space.appendUninitialized(Self.stampsBytes + RecordRow.headerBytes + bytesMax + 64)
    var writer = try UnpackedRowWriter(memory, at: Self.stampsBytes, row, packed)
    let end = try writer.write(row, packed, cellCount)
    return space.span.extracting(Self.stampsBytes..<end)
  }
}

/// Writes a row of version 1.
private struct UnpackedRowWriter {
  private let stamps: UnsafeMutablePointer<Stamp>
  private var stampCount = 0
  private var pen: Pen

  init(
    _ memory: UnsafeMutableRawBufferPointer, at start: Int, _ row: RawSpan, _ packed: PackedRow
  ) throws(FormatError) {
    stamps = memory.baseAddress!.bindMemory(to: Stamp.self, capacity: Stamp.countMax)
    pen = Pen(memory, at: start)
    stampCount = try packed.read(into: stamps, in: row)
  }

  /// - Returns: where the row ends.
  mutating func write(
    _ row: RawSpan, _ packed: PackedRow, _ cellCount: Int
  ) throws(FormatError) -> Int {
    pen.write(1)
    pen.write(packed.rowFlags.rawValue)
    pen.write(UInt64(packed.recordNumber), byteCount: 4)
    var order: HeadOrderInRow
    if packed.isExistenceInFull {
      order = HeadOrderInRow()
      if !packed.existence.isEmpty {
        pen.write(0)
        try writeHeads(row, packed.existence, &order)
      }
    } else {
      order = HeadOrderInRow(existence: packed.index, cellCount: cellCount)
      pen.write(0)
      let type = UInt64(packed.type)
      let payloadBytes = 1 + ByteWriter.varintByteCount(type)
      writeHead(try stamp(0, at: packed.stamp), packed.index, payloadBytes: payloadBytes)
      pen.write(1)
      pen.write(varint: type)
    }
    if packed.creationForm != .unknown {
      pen.write(UInt8(CellNumber.creation.rawValue))
      pen.write(0)
      let start = pen.offset
      if packed.creationForm == .none {
        for byte in Creation.noneBytes { pen.write(byte) }
      } else {
        try stamp(packed.creationStamp, at: packed.stamp).writeHead(to: &pen)
      }
      pen.replace(byteAt: start - 1, by: UInt64(pen.offset - start))
    }
    var cells = PackedCells(row, from: packed.fields)
    while let cell = cells.next() {
      pen.write(varint: UInt64(cell.number.rawValue))
      switch cell.form {
      case .head:
        var reader = PlainReader(row, at: cell.start)
        let (stamp, index) = order.next(cell.marker, &reader)
        if reader.failed { throw PackedRow.damaged(at: cell.start) }
        writeHead(try self.stamp(stamp, at: cell.start), index, payloadBytes: cell.payload.count)
        pen.write(row, cell.payload)
      case .heads:
        try writeHeads(row, cell.payload, &order)
      case .other:
        pen.write(varint: UInt64(cell.payload.count))
        pen.write(row, cell.payload)
      }
    }
    return pen.offset
  }

  /// Writes all of a cell with one head but its number and its payload.
  @inline(__always)
  private mutating func writeHead(_ stamp: Stamp, _ index: UInt32, payloadBytes: Int) {
    let start = pen.offset
    // The byte count is nearly always of one byte.
    pen.write(0)
    pen.write(1)
    stamp.writeHead(to: &pen)
    pen.write(varint: UInt64(index))
    pen.write(varint: UInt64(payloadBytes))
    pen.replace(byteAt: start, by: UInt64(pen.offset - start - 1 + payloadBytes))
  }

  /// Writes all of a cell with several heads but its number.
  private mutating func writeHeads(
    _ row: RawSpan, _ range: Range<Int>, _ order: inout HeadOrderInRow
  ) throws(FormatError) {
    let start = pen.offset
    pen.write(0)
    var reader = PlainReader(row.extracting(..<range.upperBound), at: range.lowerBound)
    pen.write(varint: reader.varint())
    while !reader.failed, reader.offset < range.upperBound {
      let place = reader.offset
      let number = order.note(reader.varint())
      let index = reader.number()
      let byteCount = reader.count()
      guard !reader.failed else { break }
      try stamp(number, at: place).writeHead(to: &pen)
      pen.write(varint: UInt64(index))
      pen.write(varint: UInt64(byteCount))
      pen.write(row, reader.offset..<reader.offset + byteCount)
      reader.offset += byteCount
    }
    if reader.failed { throw PackedRow.damaged(at: range.lowerBound) }
    pen.replace(byteAt: start, by: UInt64(pen.offset - start - 1))
  }

  @inline(__always)
  private func stamp(_ number: Int, at offset: Int) throws(FormatError) -> Stamp {
    if number < stampCount { return stamps[number] }
    throw PackedRow.damaged(at: offset)
  }
}
