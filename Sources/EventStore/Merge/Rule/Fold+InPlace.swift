import OperationFormat

/// The shortcut of the fold's commonest step. What it does not know for certain it leaves to the general one, which is
/// its oracle: both leave the same bytes.
extension Fold {
  /// Sets a field where the row has one head of the record's existence and one or none of the field, and the
  /// transaction has seen them: the heads are overwritten in place.
  ///
  /// - Returns: false if the row is not so plain. Nothing has changed then.
  mutating func setInPlace(
    _ field: NameNumber, type: NameNumber, value: RawSpan, index: UInt32
  ) throws -> Bool {
    let cell = CellNumber(register: field)
    try joinRegisters()
    if isWide { try openBlock(of: cell) }
    guard value.byteCount <= Cell.inlinePayloadBytesMax, !Value.mayNameRecords(value),
      var existence = plainExistence(), existence.type == type,
      RecordLayout.flags(of: row.span.bytes).subtracting(.wide).isEmpty,
      let plain = PlainField(row.span.bytes, cell, after: existence),
      try removes(.seen(at: index), existence.id)
    else { return false }
    if let head = plain.head, try !removes(.seen(at: index), head) { return false }
    let head = head(at: index)
    let headBytes = head.byteCount
    let existenceBytes = existence.bodyBytes + headBytes - existence.headBytes
    guard existenceBytes < 0x80 else { return false }

    // The field comes after the record's existence, which does not move.
    let bodyBytes = 1 + headBytes + ByteWriter.varintByteCount(UInt64(value.byteCount)) + value.byteCount
    let entryBytes =
      ByteWriter.varintByteCount(UInt64(cell.rawValue)) + ByteWriter.varintByteCount(UInt64(bodyBytes))
      + bodyBytes
    let start = existence.headStart
    resize(plain.entry, to: entryBytes)
    resize(start..<start + existence.headBytes, to: headBytes)
    let moved = headBytes - existence.headBytes
    let end = row.withUnsafeMutableBytes { row in
      row[start - 2] = UInt8(existenceBytes)
      var pen = Pen(row, at: start)
      pen.write(head)
      pen = Pen(row, at: plain.entry.lowerBound + moved)
      pen.write(varint: UInt64(cell.rawValue))
      pen.write(varint: UInt64(bodyBytes))
      pen.write(1)
      pen.write(head)
      pen.write(varint: UInt64(value.byteCount))
      pen.write(value)
      return pen.offset
    }
    assert(end == plain.entry.lowerBound + moved + entryBytes, "a field that ends at \(end)")
    existence.id = head.id
    existence.headBytes = headBytes
    existence.bodyBytes = existenceBytes
    existence.end += moved
    self.existence = .plain(existence)
    isChanged = true
    return true
  }

  /// The existence of the record at hand if it is plain; nil where the general way must tell.
  mutating func plainExistence() -> PlainRow.Existence? {
    guard editsInPlace else { return nil }
    if case .unknown = existence {
      existence = PlainRow.existence(in: row.span.bytes).map { .plain($0) } ?? .other
    }
    guard case .plain(let plain) = existence else { return nil }
    return plain
  }

  /// Makes a part of the row longer or shorter. What is in it then is to be written.
  mutating func resize(_ range: Range<Int>, to count: Int) {
    let old = row.count
    let change = count - range.count
    if change > 0 { row.append(contentsOf: repeatElement(0, count: change)) }
    if change != 0 {
      row.withUnsafeMutableBytes { row in
        UnsafeMutableRawBufferPointer(rebasing: row[(range.upperBound + change)...]).copyMemory(
          from: UnsafeRawBufferPointer(rebasing: row[range.upperBound..<old]))
      }
    }
    if change < 0 { row.removeLast(-change) }
  }
}

/// What is known of the existence of a record.
enum PlainExistence {
  case unknown
  case plain(PlainRow.Existence)
  /// Not one living head at the row's beginning.
  case other
}

/// Writes where space was made.
struct Pen {
  private let row: UnsafeMutableRawBufferPointer
  private(set) var offset: Int

  init(_ row: UnsafeMutableRawBufferPointer, at offset: Int) {
    self.row = row
    self.offset = offset
  }

  @inline(__always)
  mutating func write(_ byte: UInt8) {
    row[offset] = byte
    offset += 1
  }

  @inline(__always)
  mutating func write(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      write(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    write(UInt8(truncatingIfNeeded: rest))
  }

  mutating func write(_ head: Head) {
    row.storeBytes(of: head.timestamp.rawValue.littleEndian, toByteOffset: offset, as: UInt64.self)
    offset += 8
    write(varint: UInt64(head.id.replica.rawValue))
    write(varint: UInt64(head.id.epoch))
    write(varint: head.id.sequence)
    write(varint: UInt64(head.id.index))
  }

  mutating func write(_ bytes: RawSpan) {
    bytes.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: row[offset...]).copyMemory(from: bytes)
    }
    offset += bytes.byteCount
  }
}
