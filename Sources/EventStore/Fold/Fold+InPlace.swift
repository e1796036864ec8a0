import OperationFormat

/// The shortcut of the fold's commonest step. What it does not know for certain it leaves to the general one, which is
/// its oracle: both leave the same bytes.
extension Fold {
  /// Sets a field where the row has one head of the record's existence and one or none of the field, and the
  /// transaction has seen them: the heads are written over where they lie.
  ///
  /// - Returns: false if it is not so plain. Nothing has changed then.
  mutating func setInPlace(
    _ cell: CellNumber, type: NameNumber, value: RawSpan, index: UInt32
  ) throws -> Bool {
    guard editsInPlace, value.byteCount <= Cell.inlinePayloadBytesMax,
      let plain = PlainRow(row.span.bytes, cell),
      plain.type == type
    else { return false }
    guard try removes(.seen(at: index), plain.existence.id) else { return false }
    if let field = plain.field, try !removes(.seen(at: index), field) { return false }
    var head = PlainBytes()
    head.append(self.head(at: index))
    let existenceBytes = plain.existence.bodyBytes + head.count - plain.existence.headBytes
    guard existenceBytes < 0x80 else { return false }

    // The field lies behind the record's existence: what comes first does not move.
    var entry = PlainBytes()
    entry.append(varint: UInt64(cell.rawValue))
    let valueCountBytes = ByteWriter.varintByteCount(UInt64(value.byteCount))
    entry.append(varint: UInt64(1 + head.count + valueCountBytes + value.byteCount))
    entry.append(1)
    entry.append(head)
    entry.append(varint: UInt64(value.byteCount))
    resize(plain.fieldEntry, to: entry.count + value.byteCount)
    let existence = plain.existence.headStart..<plain.existence.headStart + plain.existence.headBytes
    resize(existence, to: head.count)
    let start = plain.fieldEntry.lowerBound + head.count - existence.count
    row.withUnsafeMutableBytes { row in
      row[existence.lowerBound - 2] = UInt8(existenceBytes)
      head.copy(to: row, at: existence.lowerBound)
      entry.copy(to: row, at: start)
      value.withUnsafeBytes { value in
        UnsafeMutableRawBufferPointer(rebasing: row[(start + entry.count)...]).copyMemory(from: value)
      }
    }
    isChanged = true
    return true
  }

  /// The type of the record at hand if one head says that it is alive; nil where the general way must tell.
  var plainType: NameNumber? {
    editsInPlace ? RecordLayout.plainType(in: row.span.bytes)?.type : nil
  }

  /// Makes a part of the row longer or shorter. What is in it then is to be written.
  private mutating func resize(_ range: Range<Int>, to count: Int) {
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

/// Some bytes on the stack: a head, or what comes before a value.
private struct PlainBytes {
  // A timestamp (8), three numbers of 32 bits (5 each), one of 64 (10); twice a number and a count before it.
  private var storage = InlineArray<64, UInt8>(repeating: 0)
  private(set) var count = 0

  @inline(__always)
  mutating func append(_ byte: UInt8) {
    storage[count] = byte
    count += 1
  }

  @inline(__always)
  mutating func append(varint value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    append(UInt8(truncatingIfNeeded: rest))
  }

  mutating func append(_ head: Head) {
    var timestamp = head.timestamp.rawValue
    for _ in 0..<8 {
      append(UInt8(truncatingIfNeeded: timestamp))
      timestamp >>= 8
    }
    append(varint: UInt64(head.id.replica.rawValue))
    append(varint: UInt64(head.id.epoch))
    append(varint: head.id.sequence)
    append(varint: UInt64(head.id.index))
  }

  mutating func append(_ bytes: PlainBytes) {
    for index in 0..<bytes.count { append(bytes.storage[index]) }
  }

  func copy(to row: UnsafeMutableRawBufferPointer, at offset: Int) {
    storage.span.withUnsafeBytes { bytes in
      UnsafeMutableRawBufferPointer(rebasing: row[offset...]).copyMemory(
        from: UnsafeRawBufferPointer(rebasing: bytes[..<count]))
    }
  }
}
