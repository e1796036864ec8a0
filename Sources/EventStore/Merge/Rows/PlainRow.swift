import OperationFormat

/// Fast reading of a row in its common form. If it returns nil, callers read with ``RecordRow``.
enum PlainRow {
  struct Existence {
    var id: HeadID
    var type: NameNumber
    var headStart: Int
    var headBytes: Int
    var bodyBytes: Int
    var end: Int
  }

  /// The record's existence if it comes first, short, with one head, of a living record.
  static func existence(in row: RawSpan) -> Existence? {
    let start = RecordRow.headerBytes
    guard RecordRow.isPlain(row) else { return nil }
    var reader = PlainReader(row, at: start)
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

/// A field of a plain row that has one head, or none.
struct PlainField {
  /// Nil if the field has none.
  var head: HeadID?
  /// The field's cell, or the place where it belongs.
  var entry: Range<Int>

  /// Nil for a field that is not plain, or damaged.
  init?(_ row: RawSpan, _ cell: CellNumber, after existence: PlainRow.Existence) {
    var reader = PlainReader(row, at: existence.end)
    while reader.offset < row.byteCount {
      let start = reader.offset
      let (number, byteCount) = reader.cell()
      guard !reader.failed else { return nil }
      if number > cell.rawValue {
        entry = start..<start
        return
      }
      let end = reader.offset + byteCount
      if number == cell.rawValue {
        guard reader.byte() == 1, let id = reader.head() else { return nil }
        let valueBytes = reader.count()
        guard !reader.failed, reader.offset + valueBytes == end, valueBytes > 0,
          row.unsafeLoad(fromByteOffset: reader.offset, as: UInt8.self) != Cell.apartMark
        else { return nil }
        head = id
        entry = start..<end
        return
      }
      reader.offset = end
    }
    entry = row.byteCount..<row.byteCount
  }
}

extension RecordRow {
  /// Whether the header is that of a common row of today's format.
  @inline(__always)
  static func isPlain(_ row: RawSpan) -> Bool {
    row.byteCount >= headerBytes
      && UInt16(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt16.self))
        & ~(UInt16(RowFlags.plain.rawValue) << 8) == 1
  }

  /// The type of a record that a single head says to be alive, and where its fields begin; nil where the
  /// general way must tell.
  static func plainType(in row: RawSpan) -> (type: NameNumber, fields: Int)? {
    guard isPlain(row) else { return nil }
    var reader = PlainReader(row, at: headerBytes)
    let (number, byteCount) = reader.cell()
    let end = reader.offset &+ byteCount
    guard !reader.failed, number == 0, reader.byte() == 1 else { return nil }
    reader.skipHead()
    let payloadBytes = reader.count()
    guard !reader.failed, reader.offset &+ payloadBytes == end, reader.byte() == 1 else { return nil }
    let type = reader.varint()
    guard !reader.failed, reader.offset == end, let type = UInt32(exactly: type) else { return nil }
    return (NameNumber(rawValue: type), end)
  }

  /// Finds a cell, or where it belongs; nil where the general way must tell.
  static func plainCell(_ cell: CellNumber, in row: RawSpan) -> CellPlace? {
    guard isPlain(row) else { return nil }
    var reader = PlainReader(row, at: headerBytes)
    while reader.offset < row.byteCount {
      let start = reader.offset
      let (number, byteCount) = reader.cell()
      guard !reader.failed, number <= UInt64(UInt32.max) else { return nil }
      let body = Range(uncheckedBounds: (reader.offset, reader.offset &+ byteCount))
      if number >= UInt64(cell.rawValue) {
        return number == UInt64(cell.rawValue)
          ? CellPlace(entry: start..<body.upperBound, body: body)
          : CellPlace(entry: start..<start, body: start..<start)
      }
      reader.offset = body.upperBound
    }
    return CellPlace(entry: row.byteCount..<row.byteCount, body: row.byteCount..<row.byteCount)
  }

  enum PlainPlace {
    case value(Range<Int>)
    case absent
    /// The general way must tell.
    case unknown
  }

  /// Where the value of a cell is.
  ///
  /// - Parameter start: where a cell begins that is not after it.
  @inline(__always)
  static func plainPlace(of cell: CellNumber, in row: RawSpan, from start: Int) -> PlainPlace {
    guard isPlain(row) else { return .unknown }
    var reader = PlainReader(row, at: start)
    while reader.offset < row.byteCount {
      let (number, byteCount) = reader.cell()
      let end = reader.offset &+ byteCount
      guard !reader.failed else { return .unknown }
      if number < UInt64(cell.rawValue) {
        reader.offset = end
        continue
      }
      guard number == UInt64(cell.rawValue) else { return .absent }
      return reader.firstPayload(before: end).map { .value($0) } ?? .unknown
    }
    return .absent
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
    if first < 0x80 { return UInt64(first) }
    // Many a number is of two bytes.
    if offset < row.byteCount {
      let second = row.unsafeLoad(fromByteOffset: offset, as: UInt8.self)
      if 1..<0x80 ~= second {
        offset &+= 1
        return UInt64(first & 0x7f) | UInt64(second) << 7
      }
    }
    return longVarint(first)
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

  /// A number of at most eight bytes, little-endian.
  @inline(__always) @_lifetime(self: copy self)
  mutating func word(byteCount: Int) -> UInt64 {
    defer { skip(byteCount) }
    guard offset &+ 8 <= row.byteCount else { return shortWord(byteCount) }
    let word = UInt64(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    return byteCount == 8 ? word : word & (1 << UInt64(truncatingIfNeeded: 8 &* byteCount) &- 1)
  }

  /// The same where the row ends soon.
  private func shortWord(_ byteCount: Int) -> UInt64 {
    var word: UInt64 = 0
    for index in 0..<min(byteCount, row.byteCount - offset) {
      let byte = row.unsafeLoad(fromByteOffset: offset + index, as: UInt8.self)
      word |= UInt64(byte) << UInt64(8 * index)
    }
    return word
  }

  /// Passes over bytes.
  @inline(__always) @_lifetime(self: copy self)
  mutating func skip(_ byteCount: Int) {
    if byteCount <= row.byteCount &- offset { offset &+= byteCount } else { failed = true }
  }

  /// A number of 32 bits.
  @inline(__always) @_lifetime(self: copy self)
  mutating func number() -> UInt32 {
    let number = varint()
    if number > UInt64(UInt32.max) { failed = true }
    return UInt32(truncatingIfNeeded: number)
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

  /// The number of the next cell and how long its heads are.
  @inline(__always) @_lifetime(self: copy self)
  mutating func cell() -> (number: UInt64, byteCount: Int) {
    // Both are nearly always numbers of one byte.
    if offset &+ 2 <= row.byteCount {
      let pair = UInt16(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt16.self))
      let byteCount = Int(pair >> 8)
      if pair & 0x8080 == 0, byteCount <= row.byteCount &- offset &- 2 {
        offset &+= 2
        return (UInt64(pair & 0x7f), byteCount)
      }
    }
    return (varint(), count())
  }

  /// Passes over a head up to and without its payload.
  @inline(__always) @_lifetime(self: copy self)
  mutating func skipHead() {
    offset &+= 8
    if offset &+ 8 <= row.byteCount {
      // The four numbers end where four bytes have a top bit of 0.
      let word = UInt64(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
      var ends = ~word & 0x8080_8080_8080_8080
      for _ in 0..<3 { ends &= ends &- 1 }
      if ends != 0 {
        offset &+= ends.trailingZeroBitCount / 8 &+ 1
        return
      }
    }
    for _ in 0..<4 {
      while offset < row.byteCount, row.unsafeLoad(fromByteOffset: offset, as: UInt8.self) >= 0x80 {
        offset += 1
      }
      offset += 1
    }
  }

  /// The payload of the first head of a cell that ends at `end`; nil where the general way must tell: it is
  /// kept apart, or damaged.
  @inline(__always) @_lifetime(self: copy self)
  mutating func firstPayload(before end: Int) -> Range<Int>? {
    guard varint() > 0 else { return nil }
    skipHead()
    let byteCount = count()
    guard !failed, byteCount > 0, offset &+ byteCount <= end,
      row.unsafeLoad(fromByteOffset: offset, as: UInt8.self) != Cell.apartMark
    else { return nil }
    return Range(uncheckedBounds: (offset, offset &+ byteCount))
  }
}
