/// An entry of a branch or leaf page.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 2 | low half of the value's size, or low bits of the child's page number |
/// | 2 | 2 | high half of it |
/// | 4 | 2 | flags, or high bits of the child's page number |
/// | 6 | 2 | size of the key |
/// | 8 | | key, then value: the bytes, or the number of the page where a long one begins |
struct PageNode {
  var keyStart: Int
  var keyBytes: Int
  var flags: UInt16
  var child: UInt64
  var valueBytes: Int

  /// How many bytes come before the key.
  static let headerBytes = 8

  /// The value is on pages of its own (F_BIGDATA).
  static let long: UInt16 = 0x01

  /// The value is the record of a table (F_SUBDATA).
  static let table: UInt16 = 0x02

  /// Reads an entry's header at an offset, or gives nil if the header or the key does not lie within the page.
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

  /// Where the value begins, or the page number of a long one.
  var valueStart: Int { keyStart + keyBytes }

  /// How many bytes of the page the value takes.
  var inlineValueBytes: Int { flags & Self.long != 0 ? 8 : valueBytes }
}
