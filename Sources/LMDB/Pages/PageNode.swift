/// An entry of a branch or leaf page.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 2 | low half of the value's size, or low bits of the child's page number |
/// | 2 | 2 | high half of it |
/// | 4 | 2 | flags, or high bits of the child's page number |
/// | 6 | 2 | size of the key |
/// | 8 | | key, then value: the bytes, or for a long value the number of its first page |
struct PageNode {
  var keyStart: Int
  var keyBytes: Int
  var flags: UInt16
  var child: UInt64
  var valueBytes: Int

  /// The size of what precedes the key, in bytes.
  static let headerBytes = 8

  /// The value is on its own pages (F_BIGDATA).
  static let long: UInt16 = 0x01

  /// The value is the record of a table (F_SUBDATA).
  static let table: UInt16 = 0x02

  /// Reads an entry's header at an offset; nil if the header or the key is not inside the page.
  init?(_ page: borrowing RawSpan, at offset: Int, pageBytes: Int) {
    guard offset >= PageHeader.byteCount, offset <= pageBytes - Self.headerBytes, offset % 2 == 0 else {
      return nil
    }
    let low: UInt16 = page.number(at: offset)
    let high: UInt16 = page.number(at: offset + 2)
    flags = page.number(at: offset + 4)
    keyBytes = Int(page.number(at: offset + 6, as: UInt16.self))
    keyStart = offset + Self.headerBytes
    valueBytes = Int(low) | Int(high) << 16
    child = UInt64(low) | UInt64(high) << 16 | UInt64(flags) << 32
    if keyStart + keyBytes > pageBytes { return nil }
  }

  /// Where the value begins, or for a long value its page number.
  var valueStart: Int { keyStart + keyBytes }

  /// How many bytes the value takes in the page.
  var inlineValueBytes: Int { flags & Self.long != 0 ? 8 : valueBytes }
}
