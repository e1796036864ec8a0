import LMDB
import OperationFormat

extension LMDBTransaction {
  /// Whether a table has an entry whose key begins with a prefix.
  ///
  /// - Parameter start: the first key that counts; the prefix itself unless given.
  borrowing func hasEntry(in table: Table, under prefix: [UInt8], from start: [UInt8]? = nil) throws -> Bool {
    var cursor = try openCursor(table, within: prefix)
    let start = start ?? prefix
    return try cursor.seek(atOrAfter: start.span.bytes)
      && cursor.withEntry { key, _ in key.hasPrefix(prefix) }
  }

  /// Calls a closure with the entries of a table whose keys begin with a prefix, in key order, until it
  /// returns false. The spans are in the memory map; they are valid in the closure.
  ///
  /// - Parameter start: the first key that is read; the prefix itself unless given.
  @inline(__always)
  borrowing func forEachEntry(
    in table: Table, under prefix: [UInt8], from start: [UInt8]? = nil,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    var cursor = try openCursor(table, within: prefix)
    let start = start ?? prefix
    var isThere = try cursor.seek(atOrAfter: start.span.bytes)
    while isThere {
      let wantsMore = try cursor.withEntry { key, row in try key.hasPrefix(prefix) && body(key, row) }
      guard wantsMore else { return }
      isThere = try cursor.next()
    }
  }

  /// Deletes some of the entries of a table whose keys begin with a prefix.
  ///
  /// - Parameter left: how many it may delete; less by those that it has deleted.
  borrowing func deleteEntries(in table: Table, under prefix: [UInt8], _ left: inout Int) throws {
    var cursor = try openCursor(table, within: prefix)
    while left > 0, try cursor.seek(atOrAfter: prefix.span.bytes),
      cursor.withEntry({ key, _ in key.hasPrefix(prefix) })
    {
      try cursor.deleteCurrent()
      left -= 1
    }
  }
}
