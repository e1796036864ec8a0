import LMDB
import OperationFormat

/// A row that ends with the CRC-32C of its key and its content: 4 bytes, little-endian.
///
/// All rows of `sequences`, `segments`, `placements`, `zones`, `replicas`, `incarnations` and `names` have
/// one: they say what was sent. Without it, a flipped bit could leave committed work unsent under a status
/// that says “in sync”. Rows of records need none: a rebuild makes them again from the log.
enum CheckedRow {
  static let checksumBytes = 4

  static func checksum(of content: RawSpan, under key: RawSpan) -> UInt32 {
    crc32c(content, continuing: crc32c(key))
  }

  /// A row's content, if its checksum matches.
  @_lifetime(copy row)
  static func content(of row: RawSpan, under key: RawSpan) throws(FormatError) -> RawSpan {
    let end = row.byteCount - checksumBytes
    guard end >= 0 else {
      throw FormatError(
        .truncated, at: row.byteCount, in: "row", expected: "a checksum", found: "\(row.byteCount) bytes")
    }
    let content = row.extracting(..<end)
    let stored = UInt32(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self))
    let found = checksum(of: content, under: key)
    guard stored == found else {
      throw FormatError(.damaged, at: end, in: "row", expected: "CRC-32C \(stored)", found: "\(found)")
    }
    return content
  }
}

extension ByteWriter {
  mutating func append(_ hash: ContentHash) { hash.write(to: &self) }

  /// Ends a row with its checksum.
  mutating func appendChecksum(under key: RawSpan) {
    append(littleEndian: CheckedRow.checksum(of: span, under: key))
  }
}

extension LMDBTransaction {
  /// Lends the content of a checked row; nil if there is no such key.
  borrowing func withCheckedValue<R>(
    of key: TableKey, in table: Table, _ body: (RawSpan) throws -> R
  ) throws -> R? {
    let bytes = key.span
    return try withValue(of: bytes, in: table) { row in try body(CheckedRow.content(of: row, under: bytes)) }
  }
}

extension Cursor {
  /// Moves to the greatest entry whose key is at most `key`.
  mutating func seek(atMost key: RawSpan) throws(LMDBError) -> Bool {
    if try seek(to: key) { return true }
    return try seek(before: key)
  }

  /// Lends the key and the content of the current entry, a checked row.
  borrowing func withCheckedEntry<R>(_ body: (_ key: RawSpan, _ row: RawSpan) throws -> R) throws -> R {
    try withEntry { key, row in try body(key, CheckedRow.content(of: row, under: key)) }
  }
}
