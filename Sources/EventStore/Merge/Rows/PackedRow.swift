import OperationFormat

/// A record's row of version 2, up to its cells. It says the same as one of version 1 in fewer bytes: each
/// transaction whose heads it has once.
///
/// | bytes | what |
/// |---|---|
/// | 1 | 0x20, 0x50, 0x90 or 0xe0 + flags: 1 and 2 as `RowFlags`, 4 if there are further stamps, 8 if the existence is in full |
/// | varint | record number in its state |
/// | … | the first stamp: see ``Stamp`` |
/// | varint, count | only with flag 4: further stamps |
/// | varint | only with 0x90: the number of the stamp of the record's ``Creation``. With 0x50 it is the first, with 0xe0 there is none yet, with 0x20 it is not known |
/// | … | the record's existence |
/// | … | cells, ascending by cell number: see ``PackedCells`` |
///
/// Stamps are numbered from 0, in the order in which the heads of the row first have them; one that only the
/// creation has is the last.
///
/// The record's existence, if one head of the first stamp says that the record is alive:
///
/// | bytes | what |
/// |---|---|
/// | varint | the type's number |
/// | varint | index of the head's operation |
///
/// Else, in full, its heads (varint, count): nothing if there are none.
///
/// Heads:
///
/// | bytes | what |
/// |---|---|
/// | varint | their count, those kept apart included |
/// | varint | of each that is in the row, greatest first: its stamp's number |
/// | varint | index of its operation |
/// | varint, count | payload, as in version 1 |
///
/// A row in parts, a block and the registers of a ``DividedRow`` are of version 1.
struct PackedRow {
  static let hasStamps: UInt8 = 4
  static let hasFullExistence: UInt8 = 8

  /// Which stamp that of the record's creation is. Behind these bits the first byte has flags.
  enum CreationForm: UInt8 {
    case unknown = 0x20
    case first = 0x50
    case follows = 0x90
    case none = 0xe0
  }

  /// A bit for each of them. Two of them differ in two bits, so that a flipped one is detected.
  private static let forms: UInt16 = 1 << 2 | 1 << 5 | 1 << 9 | 1 << 14

  private let first: UInt8
  /// The number of the stamp of the record's creation, if it is known.
  let creationStamp: Int
  let recordNumber: UInt32
  /// Where the first stamp is.
  let stamp: Int
  /// The further stamps; empty if there are none.
  let stamps: Range<Int>
  /// The heads of the record's existence, if it is in full. Else the number of its type.
  let existence: Range<Int>
  /// The type, if the existence is not in full.
  let type: UInt32
  /// The index of the existence's operation, if it is not in full.
  let index: UInt32
  /// Where the cells are.
  let fields: FieldStart

  /// Whether a row is of version 2.
  @inline(__always)
  static func isPacked(_ row: RawSpan) -> Bool {
    row.byteCount > 0
      && forms >> UInt16(row.unsafeLoad(fromByteOffset: 0, as: UInt8.self) >> 4) & 1 != 0
  }

  /// Nil if it is damaged.
  @inline(__always)
  init?(_ row: RawSpan) {
    var reader = PlainReader(row, at: 0)
    guard Self.isPacked(row) else { return nil }
    first = reader.byte()
    let flags = first
    recordNumber = reader.number()
    stamp = reader.offset
    Stamp.skipFirst(&reader)
    if flags & Self.hasStamps == 0 {
      stamps = Range(uncheckedBounds: (reader.offset, reader.offset))
    } else {
      let byteCount = reader.count()
      stamps = Range(uncheckedBounds: (reader.offset, reader.offset &+ byteCount))
      reader.offset = stamps.upperBound
    }
    creationStamp = first & 0xf0 == CreationForm.follows.rawValue ? Int(reader.number()) : 0
    if flags & Self.hasFullExistence == 0 {
      let start = reader.offset
      type = reader.number()
      existence = Range(uncheckedBounds: (start, reader.offset))
      index = reader.number()
      fields = FieldStart(offset: reader.offset, expected: PackedCells.expected(after: type &<< 4))
    } else {
      let byteCount = reader.count()
      existence = Range(uncheckedBounds: (reader.offset, reader.offset &+ byteCount))
      (type, index) = (0, 0)
      fields = FieldStart(offset: existence.upperBound, expected: PackedCells.expected(after: 0))
    }
    if reader.failed { return nil }
  }

  init(checked row: RawSpan) throws(FormatError) {
    guard let packed = PackedRow(row) else { throw Self.damaged(at: 0) }
    self = packed
  }

  /// All flags.
  @inline(__always) private var flags: UInt8 { first & 0xf }
  var creationForm: CreationForm { CreationForm(rawValue: first & 0xf0)! }
  @inline(__always) var isExistenceInFull: Bool { flags & Self.hasFullExistence != 0 }

  var rowFlags: RowFlags { RowFlags(rawValue: flags).intersection(.ofReferences) }

  @inline(never)
  static func damaged(at offset: Int) -> FormatError {
    FormatError(
      .damaged, at: offset, in: "record row", expected: "a row of version 2", found: "other bytes")
  }

  // MARK: Stamps

  /// The stamp that has a number.
  func stamp(_ number: Int, in row: RawSpan) throws(FormatError) -> Stamp {
    var reader = PlainReader(row, at: stamp)
    guard let first = Stamp(first: &reader) else { throw Self.damaged(at: stamp) }
    if number == 0 { return first }
    reader = PlainReader(row.extracting(..<stamps.upperBound), at: stamps.lowerBound)
    for other in 1...number {
      guard other < Stamp.countMax, let found = Stamp(&reader, after: first) else { break }
      if other == number { return found }
    }
    throw FormatError(
      .damaged, at: stamps.lowerBound, in: "record row", expected: "a stamp of number \(number)",
      found: "none")
  }

  /// Reads all stamps.
  ///
  /// - Parameter stamps: has space for ``Stamp/countMax``.
  /// - Returns: how many there are.
  func read(into stamps: UnsafeMutablePointer<Stamp>, in row: RawSpan) throws(FormatError) -> Int {
    var reader = PlainReader(row, at: stamp)
    guard let first = Stamp(first: &reader) else { throw Self.damaged(at: stamp) }
    stamps[0] = first
    var count = 1
    if self.stamps.isEmpty { return count }
    reader = PlainReader(row.extracting(..<self.stamps.upperBound), at: self.stamps.lowerBound)
    while reader.offset < self.stamps.upperBound {
      guard count < Stamp.countMax, let stamp = Stamp(&reader, after: first) else {
        throw Self.damaged(at: reader.offset)
      }
      stamps[count] = stamp
      count += 1
    }
    return count
  }

  // MARK: Heads

  /// The heads of a cell. A payload is in the row, but that of an existence that is not in full: see
  /// ``StoredRow/shortExistence(of:)``.
  static func heads(of cell: CellNumber, in row: RawSpan) throws(FormatError) -> InlineHeads {
    let packed = try PackedRow(checked: row)
    if cell == .existence {
      if packed.isExistenceInFull { return try packed.heads(at: packed.existence, in: row) }
      let head = try packed.stamp(0, in: row).head(packed.index)
      return InlineHeads(
        one: InlineHead(
          head: head, entry: packed.existence, payload: packed.existence, isApart: false))
    }
    var cells = PackedCells(row, from: packed.fields)
    var order = HeadOrderInRow(packed, cells)
    if packed.isExistenceInFull { _ = try packed.heads(at: packed.existence, in: row, &order) }
    while let found = cells.next() {
      switch found.form {
      case .head:
        var reader = PlainReader(row, at: found.start)
        let (stamp, index) = order.next(found.marker, &reader)
        guard found.number == cell else { break }
        guard !reader.failed else { throw Self.damaged(at: found.start) }
        return InlineHeads(
          one: InlineHead(
            head: try packed.stamp(stamp, in: row).head(index), entry: found.payload,
            payload: found.payload, isApart: isMark(found.payload, in: row)))
      case .heads:
        let heads = try packed.heads(at: found.payload, in: row, &order)
        if found.number == cell { return heads }
      case .other:
        if found.number == cell { return try RecordRow.heads(of: found.payload, in: row) }
      }
      if found.number > cell { return InlineHeads() }
    }
    try cells.finish()
    return InlineHeads()
  }

  /// The heads in a part of the row.
  private func heads(at range: Range<Int>, in row: RawSpan) throws(FormatError) -> InlineHeads {
    var order = HeadOrderInRow()
    return try heads(at: range, in: row, &order)
  }

  private func heads(
    at range: Range<Int>, in row: RawSpan, _ order: inout HeadOrderInRow
  ) throws(FormatError) -> InlineHeads {
    var heads = InlineHeads()
    if range.isEmpty { return heads }
    var reader = PlainReader(row.extracting(..<range.upperBound), at: range.lowerBound)
    heads.total = Int(clamping: reader.varint())
    while !reader.failed, reader.offset < range.upperBound, heads.count < Cell.inlineHeadsMax {
      let start = reader.offset
      let stamp = order.note(reader.varint())
      let index = reader.number()
      let byteCount = reader.count()
      guard !reader.failed else { break }
      let payload = reader.offset..<reader.offset + byteCount
      reader.offset = payload.upperBound
      heads.append(
        InlineHead(
          head: try self.stamp(stamp, in: row).head(index), entry: start..<payload.upperBound,
          payload: payload, isApart: Self.isMark(payload, in: row)))
    }
    guard !reader.failed, reader.offset == range.upperBound, heads.total > 0,
      heads.count == min(heads.total, Cell.inlineHeadsMax)
    else { throw Self.damaged(at: range.lowerBound) }
    return heads
  }

  /// Whether a payload is but the mark of one that is kept apart.
  static func isMark(_ payload: Range<Int>, in row: RawSpan) -> Bool {
    !payload.isEmpty && row.unsafeLoad(fromByteOffset: payload.lowerBound, as: UInt8.self) == Cell.apartMark
  }

  // MARK: Winners

  /// The greatest head of a cell, as far as its value needs it.
  @inline(__always)
  static func winner(_ cell: PackedCells.Cell, in row: RawSpan) throws(FormatError) -> RecordRow.Winner {
    // A value in its own extent is not kept apart.
    if cell.hasValueExtent { return RecordRow.Winner(payload: cell.payload) }
    return try otherWinner(cell, in: row)
  }

  @inline(never)
  private static func otherWinner(
    _ cell: PackedCells.Cell, in row: RawSpan
  ) throws(FormatError) -> RecordRow.Winner {
    let isOfHeads = cell.number.isOfHeads
    if !isOfHeads || cell.form == .head && !isMark(cell.payload, in: row) {
      return RecordRow.Winner(payload: cell.payload)
    }
    let heads = try heads(of: cell.number, in: row)
    guard heads.count > 0 else { throw damaged(at: cell.start) }
    return RecordRow.Winner(payload: heads[0].payload, apart: heads[0].isApart ? heads[0].head.id : nil)
  }
}

/// Where a walk over the cells of a row begins.
struct FieldStart {
  /// Where a cell begins.
  var offset: Int
  /// In a row of version 2: the number that the cell has, if it says no other.
  var expected: UInt32
}
