/// One of the first two pages of a data file, from which all other pages are reached. Transaction n writes
/// page n mod 2.
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 16 | page header |
/// | 16 | 4 | magic: 0xBEEFC0DE |
/// | 20 | 4 | version: 1 |
/// | 24 | 8 | address of a fixed map: not used |
/// | 32 | 8 | size of the map in bytes |
/// | 40 | 48 | record of the free list |
/// | 88 | 48 | record of the table of tables |
/// | 136 | 8 | number of the last page in use |
/// | 144 | 8 | transaction id |
struct MetaPage: Hashable {
  var pageBytes: Int
  var freeList: TreeRecord
  var tables: TreeRecord
  var lastPage: UInt64
  var transactionID: UInt64

  /// How many bytes of the page are in use.
  static let byteCount = 152

  private static let magic: UInt32 = 0xBEEF_C0DE
  private static let version: UInt32 = 1

  /// The page sizes that LMDB allows, in bytes.
  private static let pageBytesRange = 512...32_768

  /// The result of reading a meta page.
  enum Reading {
    case meta(MetaPage)
    case noMagic
    case otherVersion(UInt32)
    case damaged
  }

  /// Reads meta page 0 or 1 from its first bytes.
  static func read(_ bytes: borrowing RawSpan, number: UInt64) -> Reading {
    guard bytes.byteCount >= byteCount, bytes.number(at: 16) == magic else { return .noMagic }
    let version: UInt32 = bytes.number(at: 20)
    if version != Self.version { return .otherVersion(version) }
    let header = PageHeader(bytes)
    let meta = MetaPage(
      pageBytes: Int(bytes.number(at: 40, as: UInt32.self)),
      freeList: TreeRecord(bytes, at: 40), tables: TreeRecord(bytes, at: 88),
      lastPage: bytes.number(at: 136), transactionID: bytes.number(at: 144))
    let isSound =
      header.number == number && header.flags == PageHeader.meta
      && pageBytesRange.contains(meta.pageBytes) && meta.pageBytes.nonzeroBitCount == 1
    return isSound ? .meta(meta) : .damaged
  }

  /// Whether the fields of the newest meta page, page `number`, are consistent with each other.
  func isPossible(number: UInt64) -> Bool {
    // Flags of the free list's record: integer keys, and the flags with which the environment was created.
    freeList.flags & ~0x4001 == 0x0008 && tables.flags == 0 && tables.pad == 0
      && freeList.isPossible && tables.isPossible
      && lastPage >= 1 && lastPage < UInt64(Int.max / pageBytes)
      && (transactionID & 1 == number || transactionID == 0)
  }
}
