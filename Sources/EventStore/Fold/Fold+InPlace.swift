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
    editsInPlace ? PlainRow.existence(in: row.span.bytes)?.type : nil
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

/// A row as it nearly always is, seen at one field: read without a step more than that takes.
struct PlainRow {
  struct Existence {
    var id: HeadID
    var type: NameNumber
    var headStart: Int
    var headBytes: Int
    var bodyBytes: Int
    var end: Int
  }

  var existence: Existence
  var type: NameNumber { existence.type }
  /// The field's head, nil if it has none.
  var field: HeadID?
  /// The field's cell, or the place where it belongs.
  var fieldEntry: Range<Int>

  /// Nil for a row that is not plain, or damaged.
  init?(_ row: RawSpan, _ cell: CellNumber) {
    guard let existence = Self.existence(in: row) else { return nil }
    self.existence = existence
    var reader = PlainReader(row, at: existence.end)
    while reader.offset < row.byteCount {
      let start = reader.offset
      let number = reader.varint()
      let byteCount = reader.count()
      guard !reader.failed else { return nil }
      if number > cell.rawValue {
        fieldEntry = start..<start
        return
      }
      let end = reader.offset + byteCount
      if number == cell.rawValue {
        guard reader.byte() == 1, let id = reader.head() else { return nil }
        let valueBytes = reader.count()
        guard !reader.failed, reader.offset + valueBytes == end, valueBytes > 0,
          row.unsafeLoad(fromByteOffset: reader.offset, as: UInt8.self) != Cell.apartMark
        else { return nil }
        field = id
        fieldEntry = start..<end
        return
      }
      reader.offset = end
    }
    fieldEntry = row.byteCount..<row.byteCount
  }

  /// The record's existence if it comes first, short, with one head, of a living record.
  static func existence(in row: RawSpan) -> Existence? {
    let start = RecordLayout.headerBytes
    guard row.byteCount > start + 3 else { return nil }
    var reader = PlainReader(row, at: 0)
    guard reader.byte() == 1, reader.byte() == 0 else { return nil }
    reader.offset = start
    guard reader.byte() == 0 else { return nil }
    let bodyBytes = Int(reader.byte())
    let end = start + 2 + bodyBytes
    guard bodyBytes < 0x80, end <= row.byteCount, reader.byte() == 1 else { return nil }
    let headStart = reader.offset
    guard let id = reader.head() else { return nil }
    let headBytes = reader.offset - headStart
    let payloadBytes = reader.count()
    guard !reader.failed, payloadBytes > 1, reader.offset + payloadBytes == end, reader.byte() == 1 else {
      return nil
    }
    let type = reader.varint()
    guard !reader.failed, reader.offset == end, let type = UInt32(exactly: type) else { return nil }
    return Existence(
      id: id, type: NameNumber(rawValue: type), headStart: headStart, headBytes: headBytes,
      bodyBytes: bodyBytes, end: end)
  }
}

/// Reads numbers from a row, and fails for good at the first that is not there or longer than it must be.
struct PlainReader: ~Escapable {
  let row: RawSpan
  var offset: Int
  var failed = false

  @_lifetime(copy row)
  init(_ row: RawSpan, at offset: Int) {
    self.row = row
    self.offset = offset
  }

  @inline(__always) @_lifetime(self: copy self)
  mutating func byte() -> UInt8 {
    guard offset < row.byteCount else {
      failed = true
      return 0xff
    }
    defer { offset += 1 }
    return row.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
  }

  @inline(__always) @_lifetime(self: copy self)
  mutating func varint() -> UInt64 {
    let first = byte()
    return first < 0x80 ? UInt64(first) : longVarint(first)
  }

  @_lifetime(self: copy self)
  private mutating func longVarint(_ first: UInt8) -> UInt64 {
    var number = UInt64(first & 0x7f)
    var shift: UInt64 = 7
    while shift < 63 {
      let next = byte()
      number |= UInt64(next & 0x7f) << shift
      if next < 0x80 {
        if next == 0 { failed = true }
        return number
      }
      shift += 7
    }
    failed = true
    return 0
  }

  /// A count of bytes that are there.
  @inline(__always) @_lifetime(self: copy self)
  mutating func count() -> Int {
    let count = varint()
    guard !failed, count <= UInt64(row.byteCount - offset) else {
      failed = true
      return 0
    }
    return Int(count)
  }

  /// A head up to and without its payload.
  @inline(__always) @_lifetime(self: copy self)
  mutating func head() -> HeadID? {
    offset += 8
    let (replica, epoch, sequence, index) = (varint(), varint(), varint(), varint())
    guard !failed, let replica = UInt32(exactly: replica), let epoch = UInt32(exactly: epoch),
      let index = UInt32(exactly: index)
    else { return nil }
    return HeadID(
      replica: ReplicaNumber(rawValue: replica), epoch: epoch, sequence: sequence, index: index)
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
