/// The first 16 bytes of each page.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 8 | page number |
/// | 8 | 2 | pad |
/// | 10 | 2 | flags |
/// | 12 | 2 | lower: end of the array of offsets to the entries |
/// | 14 | 2 | upper: start of the entries |
/// | 12 | 4 | instead, on the first page of a long value: how many pages it takes |
struct PageHeader {
  var number: UInt64
  var flags: UInt16
  var lower: UInt16
  var upper: UInt16
  var pageCount: UInt32

  /// The size of a header in bytes.
  static let byteCount = 16

  static let branch: UInt16 = 0x01
  static let leaf: UInt16 = 0x02
  static let overflow: UInt16 = 0x04
  static let meta: UInt16 = 0x08

  /// Reads the header of a page.
  init(_ bytes: borrowing RawSpan) {
    number = bytes.number(at: 0)
    flags = bytes.number(at: 10)
    lower = bytes.number(at: 12)
    upper = bytes.number(at: 14)
    pageCount = bytes.number(at: 12)
  }

  /// How many entries a branch or leaf page claims to have.
  var entryCount: Int { (Int(lower) - Self.byteCount) / 2 }
}
