package import OperationFormat

// A record's row:
//
// | bytes | what |
// |---|---|
// | 1 | version, 1 |
// | 1 | flags: `RowFlags`; any other is a newer format |
// | 4 | record number in its state, little-endian |
// | … | cells, ascending by cell number |
//
// A cell in a record's row:
//
// | bytes | what |
// |---|---|
// | varint | cell number: the number of the field's name × 16 + the kind; 0 is the record's existence |
// | varint | byte count of the rest of this cell |
// | varint | count of its heads, those kept apart included |
// | … | its greatest heads, greatest first, at most `Cell.inlineHeadsMax` |

/// What a record's row says of what else there is, so that most records need no look-up elsewhere.
package struct RowFlags: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// A value that the record shows has references in it.
  package static let refers = RowFlags(rawValue: 1)
  /// Some of them cascade.
  package static let cascades = RowFlags(rawValue: 2)

  /// The record's registers are elsewhere: see ``DividedRow``. A whole row never has it.
  static let divided = RowFlags(rawValue: 4)

  /// The record's fields are elsewhere: see ``WideRow``. A whole row never has it.
  static let wide = RowFlags(rawValue: 8)

  /// The record is not there: it was changed after compaction had dropped it, and not created since. Such a row is
  /// not of version 2, and not plain.
  package static let uncreated = RowFlags(rawValue: 16)

  static let ofReferences: RowFlags = [.refers, .cascades]
  static let plain: RowFlags = [.refers, .cascades, .divided, .wide]
  static let all: RowFlags = [.refers, .cascades, .divided, .wide, .uncreated]
  /// Where they stand in the row.
  static let offset = 1
}

/// Limits of what a record's row has of a cell.
package enum Cell {
  /// The winner and up to three losers are in the row: a conflict of more is rare, and a row should stay
  /// small.
  package static let inlineHeadsMax = 4
  /// A payload over 1 KiB is stored apart: a change of another field must not copy it.
  package static let inlinePayloadBytesMax = 1024
  /// Stands for a payload that is stored apart. No payload begins with it.
  static let apartMark: UInt8 = 0xff

  /// What stands for a payload of so many bytes that is stored apart.
  static func mark(_ byteCount: Int) -> [UInt8] {
    var writer = ByteWriter()
    writer.append(apartMark)
    writer.append(varint: UInt64(byteCount))
    return writer.bytes
  }
}

/// The place of a cell in a row.
package struct CellPlace: Sendable {
  /// The whole cell, its number and byte count included. Empty, at the place to insert it, if it is absent.
  package var entry: Range<Int>
  /// The cell's heads. Empty if it is absent.
  package var body: Range<Int>
}

/// A head in a row.
package struct InlineHead: Sendable {
  package var head: Head
  /// The whole head with its payload, in the row.
  var entry: Range<Int>
  /// The payload, in the row: the value, or the mark that it is stored apart.
  package var payload: Range<Int>
  package var isApart: Bool
}

/// The heads of a cell in its row.
package struct InlineHeads: Sendable {
  /// How many heads the cell has, those kept apart included.
  package var total = 0
  package private(set) var count = 0
  private var storage = InlineArray<4, InlineHead?>(repeating: nil)

  init() {}

  /// Those of a cell with one head.
  init(one head: InlineHead) {
    total = 1
    append(head)
  }

  package subscript(_ index: Int) -> InlineHead {
    guard let head = storage[index] else { preconditionFailure("no head at \(index) of \(count)") }
    return head
  }

  /// The greatest head; nil if there is none.
  var winner: HeadID? { count > 0 ? self[0].head.id : nil }

  mutating func append(_ head: InlineHead) {
    storage[count] = head
    count += 1
  }
}

/// Reads a record's row in place. It decodes only what is asked for.
package enum RecordRow {
  static let headerBytes = 6

  /// Checks the header and gives the record's number in its state.
  package static func recordNumber(of row: RawSpan) throws(FormatError) -> UInt32 {
    var reader = ByteReader(row)
    let version = try reader.readUInt8("row")
    let flags = try reader.readUInt8("row")
    guard version == 1, RowFlags.all.contains(RowFlags(rawValue: flags)) else {
      throw FormatError(
        .newerFormat, at: 0, in: "record row", expected: "version 1, flags 0 to 31",
        found: "version \(version), flags \(flags)")
    }
    return try reader.readLittleEndian("row", as: UInt32.self)
  }

  /// The record's number in its state, of a row whose header was checked.
  static func plainNumber(of row: RawSpan) -> UInt32 {
    UInt32(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: 2, as: UInt32.self))
  }

  /// The flags of a row whose header was checked.
  @inline(__always)
  package static func flags(of row: RawSpan) -> RowFlags {
    row.byteCount < headerBytes
      ? [] : RowFlags(rawValue: row.unsafeLoad(fromByteOffset: RowFlags.offset, as: UInt8.self))
  }

  /// Finds a cell, or where it belongs.
  package static func place(of cell: CellNumber, in row: RawSpan) throws(FormatError) -> CellPlace {
    if let place = plainCell(cell, in: row) { return place }
    var reader = try cellReader(of: row)
    while reader.remaining > 0 {
      let start = reader.position
      let next = try nextCell(&reader)
      if next.number == cell { return CellPlace(entry: start..<next.body.upperBound, body: next.body) }
      if next.number > cell { return CellPlace(entry: start..<start, body: start..<start) }
    }
    return CellPlace(entry: row.byteCount..<row.byteCount, body: row.byteCount..<row.byteCount)
  }

  /// The numbers of the cells in a row, ascending.
  package static func cells(of row: RawSpan) throws(FormatError) -> [CellNumber] {
    try CellIndex(row).entries.map(\.cell)
  }

  /// Reads after the header. A record that has no row yet has no cells.
  @_lifetime(copy row)
  static func cellReader(of row: RawSpan) throws(FormatError) -> ByteReader {
    if row.isEmpty { return ByteReader(row) }
    guard row.byteCount >= headerBytes else {
      throw FormatError(
        .truncated, at: row.byteCount, in: "record row", expected: "\(headerBytes) bytes",
        found: "\(row.byteCount)")
    }
    return ByteReader(row, at: headerBytes)
  }

  @_lifetime(reader: copy reader)
  static func nextCell(
    _ reader: inout ByteReader
  ) throws(FormatError) -> (number: CellNumber, body: Range<Int>) {
    let number = CellNumber(rawValue: try reader.readUInt32Varint("cell.number"))
    let byteCount = try reader.readCount("row")
    return (number, try reader.readBytes(byteCount, "row"))
  }

  /// The heads in a cell's body.
  package static func heads(of body: Range<Int>, in row: RawSpan) throws(FormatError) -> InlineHeads {
    var heads = InlineHeads()
    if body.isEmpty { return heads }
    var reader = ByteReader(row.extracting(..<body.upperBound), at: body.lowerBound)
    heads.total = Int(clamping: try reader.readVarint("row"))
    while reader.remaining > 0 {
      let start = reader.position
      guard heads.count < Cell.inlineHeadsMax else {
        throw FormatError(
          .damaged, at: start, in: "cell", expected: "at most \(Cell.inlineHeadsMax) heads",
          found: "more")
      }
      heads.append(try nextHead(&reader, in: row))
    }
    guard heads.count == min(heads.total, Cell.inlineHeadsMax), heads.total > 0 else {
      throw FormatError(
        .damaged, at: body.lowerBound, in: "cell",
        expected: "\(min(heads.total, Cell.inlineHeadsMax)) heads in the row", found: "\(heads.count)")
    }
    return heads
  }

  /// The greatest head of a cell, as far as its value needs it.
  struct Winner: Equatable {
    /// Where the value is in the row, unless it is stored apart; all of a cell that is not of heads.
    var payload: Range<Int>
    /// The head, if its value is kept apart.
    var apart: HeadID?
  }

  /// The greatest head of a cell, or the whole of one that is not of heads; nil if it is absent. The other
  /// heads are not read.
  ///
  /// - Parameter start: where a cell begins that is not after it; the first, unless said.
  static func winner(
    of cell: CellNumber, in row: RawSpan, from start: Int = headerBytes
  ) throws(FormatError) -> Winner? {
    guard cell.isOfHeads else {
      let body = try place(of: cell, in: row).body
      return body.isEmpty ? nil : Winner(payload: body)
    }
    switch plainPlace(of: cell, in: row, from: start) {
    case .value(let payload): return Winner(payload: payload)
    case .absent: return nil
    case .unknown: break
    }
    if !row.isEmpty { _ = try recordNumber(of: row) }
    let body = try place(of: cell, in: row).body
    return body.isEmpty ? nil : try winner(in: body, of: row)
  }

  /// The first head in a cell's body, which is the greatest.
  private static func winner(in body: Range<Int>, of row: RawSpan) throws(FormatError) -> Winner {
    var reader = ByteReader(row.extracting(..<body.upperBound), at: body.lowerBound)
    guard try reader.readVarint("row") > 0 else {
      throw FormatError(.damaged, at: body.lowerBound, in: "cell", expected: "heads", found: "none")
    }
    let head = try nextHead(&reader, in: row)
    return Winner(payload: head.payload, apart: head.isApart ? head.head.id : nil)
  }

  /// Goes from cell to cell of a row, ascending, and gives the greatest head of each.
  struct WinnerWalk: ~Escapable {
    private var reader: PlainReader
    private var last = -1

    /// - Parameter start: where a cell begins.
    @_lifetime(copy row) @inline(__always)
    init(_ row: RawSpan, from start: Int = headerBytes) throws(FormatError) {
      if !isPlain(row), !row.isEmpty { _ = try recordNumber(of: row) }
      reader = PlainReader(row, at: min(start, row.byteCount))
    }

    @inline(__always) @_lifetime(self: copy self)
    mutating func next() throws(FormatError) -> (number: CellNumber, winner: Winner)? {
      guard reader.offset < reader.row.byteCount else { return nil }
      let start = reader.offset
      let (number, byteCount) = reader.cell()
      guard !reader.failed, number > last, let known = UInt32(exactly: number) else {
        throw FormatError(
          .damaged, at: start, in: "record row", expected: "cells in ascending order", found: "other bytes")
      }
      last = Int(known)
      let body = Range(uncheckedBounds: (reader.offset, reader.offset &+ byteCount))
      guard CellNumber(rawValue: known).isOfHeads else {
        reader.offset = body.upperBound
        return (CellNumber(rawValue: known), Winner(payload: body))
      }
      let payload = reader.firstPayload(before: body.upperBound)
      reader.offset = body.upperBound
      reader.failed = false
      if let payload { return (CellNumber(rawValue: known), Winner(payload: payload)) }
      return (CellNumber(rawValue: known), try RecordRow.winner(in: body, of: reader.row))
    }
  }

  @_lifetime(reader: copy reader)
  private static func nextHead(
    _ reader: inout ByteReader, in row: RawSpan
  ) throws(FormatError) -> InlineHead {
    let start = reader.position
    let head = try reader.readHead()
    let payloadBytes = try reader.readCount("row")
    let payload = try reader.readBytes(payloadBytes, "row")
    let isApart =
      payloadBytes > 0
      && row.unsafeLoad(fromByteOffset: payload.lowerBound, as: UInt8.self) == Cell.apartMark
    return InlineHead(head: head, entry: start..<payload.upperBound, payload: payload, isApart: isApart)
  }

  /// Appends the cell that says by which transaction the record was created, nil for none that is known.
  static func append(creation head: Head?, to row: inout ByteWriter) {
    var creation = ByteWriter()
    if let head { Creation.append(head, to: &creation) } else { creation.append(Creation.noneBytes) }
    row.append(varint: UInt64(CellNumber.creation.rawValue))
    row.append(varint: UInt64(creation.count))
    row.append(creation.span)
  }

  /// A new row, without cells but for the creation, which is none yet.
  static func makeHeader(recordNumber: UInt32, into row: inout [UInt8]) {
    row.removeAll(keepingCapacity: true)
    row.append(1)
    row.append(0)
    withUnsafeBytes(of: recordNumber.littleEndian) { row.append(contentsOf: $0) }
    row.append(UInt8(CellNumber.creation.rawValue))
    row.append(UInt8(Creation.noneBytes.count))
    row.append(contentsOf: Creation.noneBytes)
  }
}
