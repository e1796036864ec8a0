/// LMDB's record of a tree. The meta pages hold those of the free list and of the table of tables; the table
/// of tables holds those of all other tables (MDB_db).
///
/// | offset | bytes | field |
/// |---|---|---|
/// | 0 | 4 | pad: in the free list's record the page size |
/// | 4 | 2 | flags |
/// | 6 | 2 | depth: 0 when empty |
/// | 8 | 8 | branch pages |
/// | 16 | 8 | leaf pages |
/// | 24 | 8 | overflow pages |
/// | 32 | 8 | entries |
/// | 40 | 8 | root: page number, all ones when empty |
///
/// All integers of the file are in the machine's byte order.
struct TreeRecord: Hashable {
  var pad: UInt32
  var flags: UInt16
  var depth: UInt16
  var branchPages: UInt64
  var leafPages: UInt64
  var overflowPages: UInt64
  var entries: UInt64
  var root: UInt64

  /// The size of a record in bytes.
  static let byteCount = 48

  /// The root of an empty tree.
  static let noRoot = UInt64.max

  /// The greatest depth of a tree: LMDB's cursors can go no deeper.
  static let depthMax = 32

  /// Reads a record, which must be inside the bytes.
  init(_ bytes: borrowing RawSpan, at offset: Int) {
    pad = bytes.number(at: offset)
    flags = bytes.number(at: offset + 4)
    depth = bytes.number(at: offset + 6)
    branchPages = bytes.number(at: offset + 8)
    leafPages = bytes.number(at: offset + 16)
    overflowPages = bytes.number(at: offset + 24)
    entries = bytes.number(at: offset + 32)
    root = bytes.number(at: offset + 40)
  }

  /// Whether the tree has no page.
  var isEmpty: Bool { root == Self.noRoot }

  /// How many pages the record says that the tree has, including those of long values.
  var pageCount: UInt64 { branchPages.addingSaturated(leafPages).addingSaturated(overflowPages) }

  /// Whether the fields are consistent with each other.
  var isPossible: Bool {
    if isEmpty {
      return depth == 0 && branchPages == 0 && leafPages == 0 && overflowPages == 0 && entries == 0
    }
    return depth >= 1 && depth <= Self.depthMax && leafPages > 0 && entries >= leafPages
  }
}

extension UInt64 {
  /// The sum, or the greatest number if the sum overflows.
  func addingSaturated(_ other: UInt64) -> UInt64 {
    let (sum, overflows) = addingReportingOverflow(other)
    return overflows ? .max : sum
  }
}

extension RawSpan {
  /// An integer in the machine's byte order; traps if it is not inside the bytes.
  @inline(__always)
  borrowing func number<T: FixedWidthInteger & BitwiseCopyable>(at offset: Int, as type: T.Type = T.self) -> T
  {
    precondition(offset >= 0 && offset <= byteCount - MemoryLayout<T>.size, "outside the bytes")
    return unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type)
  }
}
