/// One of the two first pages of a data file, from which all others are reached. Transaction n writes page n mod 2.
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

  /// How many bytes of the page are used.
  static let byteCount = 152

  private static let magic: UInt32 = 0xBEEF_C0DE
  private static let version: UInt32 = 1

  /// The sizes that LMDB's pages can have, in bytes.
  private static let pageBytesRange = 512...32_768

  /// What reading a meta page can end with.
  enum Reading {
    case meta(MetaPage)
    case noMagic
    case otherVersion(UInt32)
    case damaged
  }

  /// Reads the meta page of the given number, 0 or 1, from its first bytes.
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

  /// Whether the fields of the newest meta page, which has the given number, can belong together.
  func isPossible(number: UInt64) -> Bool {
    // Flags of the free list's record: integer keys always, and what the environment was created with.
    freeList.flags & ~0x4001 == 0x0008 && tables.flags == 0 && tables.pad == 0
      && freeList.isPossible && tables.isPossible
      && lastPage >= 1 && lastPage < UInt64(Int.max / pageBytes)
      && (transactionID & 1 == number || transactionID == 0)
  }
}
