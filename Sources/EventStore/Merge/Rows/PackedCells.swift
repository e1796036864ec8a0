import OperationFormat

/// Goes from cell to cell of a row of version 2.
///
/// The commonest cell is only an encoded value: the register of the next name's number, with one head, whose
/// stamp is that of the head before it, and whose operation follows that head's. It begins with the value's
/// tag, under 16, and ends where the value does.
///
/// A cell whose first byte is 16 to 127 has a value behind that byte, and passes over names: the byte minus
/// 15. All else is as above.
///
/// Any other cell:
///
/// | bytes | what |
/// |---|---|
/// | 1 | 128 + which parts follow: 1 number, 2 index, 4 byte count; + the stamp: 0 that of the head before, 8 it follows, 16 the least that no head had before, 24 the first; + the form: 0 one head, 32 heads, 64 other content |
/// | varint | its number minus the expected one, zigzag. Expected is the register of the name after that of the cell before, or after the type's |
/// | varint | stamp's number |
/// | varint | index of the operation |
/// | varint | byte count of the rest; without it this is a value whose first bytes tell it: see ``Value/end(ofValueAt:in:)`` |
/// | … | one payload, heads as in ``PackedRow``, or what version 1 has behind its byte count |
///
/// The expected index follows that of the head before; if the cell says a stamp, it is 0, or that of the
/// existence for the first stamp. Heads of cells that have several are not counted as before. At the first
/// cell, the head before has the first stamp, and is so long before the existence's operation that each cell
/// of the row has an operation in between: ``HeadOrderInRow``.
struct PackedCells: ~Escapable {
  enum Form {
    case head, heads
    /// What version 1 has behind its byte count.
    case other
  }

  struct Cell {
    var number: CellNumber
    /// The first byte, if it is one of ``Mark``; else 0.
    var marker: UInt8
    /// Where the parts are that tell stamp and index.
    var start: Int
    /// The payload of its one head; else all heads, or all of its content.
    var payload: Range<Int>

    @inline(__always) var form: Form {
      switch marker & Mark.form {
      case 0: .head
      case Mark.heads: .heads
      default: .other
      }
    }

    /// Whether the payload is a value that ended where its first bytes tell.
    @inline(__always) var hasValueExtent: Bool { marker & (Mark.byteCount | Mark.form) == 0 }
  }

  /// The bits of a first byte from 128 on.
  enum Mark {
    static let isMark: UInt8 = 0x80
    static let number: UInt8 = 1
    static let index: UInt8 = 2
    static let byteCount: UInt8 = 4
    static let stamp: UInt8 = 0x18
    static let stampFollows: UInt8 = 8
    static let newStamp: UInt8 = 0x10
    static let firstStamp: UInt8 = 0x18
    static let form: UInt8 = 0x60
    static let heads: UInt8 = 0x20
    static let other: UInt8 = 0x40
  }

  /// The first bytes that pass over names.
  static let passing: ClosedRange<UInt8> = 16...127

  private var reader: PlainReader
  /// The number of the cell before; 0 at the first.
  private var before: UInt32 = 0
  private var expected: UInt32

  @_lifetime(copy row) @inline(__always)
  init(_ row: RawSpan, from start: FieldStart) {
    reader = PlainReader(row, at: start.offset)
    expected = start.expected
  }

  /// The register of the name after that of a cell.
  @inline(__always)
  static func expected(after number: UInt32) -> UInt32 { (number | 0xf) &+ 1 }

  /// Whether the walk ended before the row.
  @inline(__always) var hasFailed: Bool { reader.failed }

  /// Throws if the walk ended before the row.
  @inline(__always)
  func finish() throws(FormatError) {
    if reader.failed { throw PackedRow.damaged(at: reader.offset) }
  }

  /// How many cells are left, up to the first that is damaged.
  func count() -> Int {
    var cells = self
    var count = 0
    while cells.next() != nil { count += 1 }
    return count
  }

  /// The next cell; nil at the end, and for one that is damaged: see ``finish()``.
  @inline(__always) @_lifetime(self: copy self)
  mutating func next() -> Cell? {
    let start = reader.offset
    guard start < reader.row.byteCount else { return nil }
    let first = reader.row.unsafeLoad(fromByteOffset: start, as: UInt8.self)
    guard first < Self.passing.lowerBound else { return marked(first) }
    guard expected > before, let end = Value.end(ofValueAt: start, in: reader.row) else { return fail() }
    let cell = Cell(
      number: CellNumber(rawValue: expected), marker: 0, start: start,
      payload: Range(uncheckedBounds: (start, end)))
    reader.offset = end
    before = expected
    expected = Self.expected(after: expected)
    return cell
  }

  @_lifetime(self: copy self)
  private mutating func fail() -> Cell? {
    reader.failed = true
    return nil
  }

  @inline(never) @_lifetime(self: copy self)
  private mutating func marked(_ first: UInt8) -> Cell? {
    reader.offset += 1
    var number = Int64(expected)
    let marker = first < Mark.isMark ? 0 : first
    if first < Mark.isMark {
      number += Int64(first - Self.passing.lowerBound + 1) << 4
    } else if first & Mark.number != 0 {
      number &+= unzigzag(reader.varint())
    }
    guard !reader.failed, let known = UInt32(exactly: number), known > before else { return fail() }
    let start = reader.offset
    if marker & Mark.stamp == Mark.stampFollows { _ = reader.varint() }
    if marker & Mark.index != 0 { _ = reader.varint() }
    var end: Int?
    if marker & Mark.byteCount != 0 {
      let byteCount = reader.count()
      end = reader.failed ? nil : reader.offset + byteCount
    } else {
      end = Value.end(ofValueAt: reader.offset, in: reader.row)
    }
    let parts = Mark.stamp | Mark.index | Mark.byteCount
    let isWhole =
      marker & Mark.form == 0 || marker & Mark.form != Mark.form && marker & parts == Mark.byteCount
    guard isWhole, !reader.failed, let end else { return fail() }
    let cell = Cell(
      number: CellNumber(rawValue: known), marker: marker, start: start, payload: reader.offset..<end)
    guard cell.form == .other || cell.number.isOfHeads else { return fail() }
    reader.offset = end
    before = known
    expected = Self.expected(after: known)
    return cell
  }
}
