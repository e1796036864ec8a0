import LMDB
import OperationFormat

/// The rows of elements, of units and of the index of references.
struct RowTable<Source: TableReading>: TableView {
  let source: Source

  func elements(under prefix: ElementKey) throws -> [(key: ElementKey, row: [UInt8])] {
    var found: [(key: ElementKey, row: [UInt8])] = []
    try forEachElement(under: prefix, from: prefix) { key, row in
      found.append((ElementKey(bytes: key.bytes), row.bytes))
      return true
    }
    return found
  }

  func forEachElement(
    under prefix: ElementKey, from key: ElementKey,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try transaction.forEachEntry(in: tables.elements, under: prefix.bytes, from: key.bytes, body)
  }

  func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    var cursor = try transaction.openCursor(tables.runs, within: key.extracting(..<prefixBytes).bytes)
    guard try cursor.seek(atMost: key) else { return nil }
    return try cursor.withEntry { found, row in
      guard found.byteCount >= prefixBytes,
        equalBytes(found.extracting(..<prefixBytes), key.extracting(..<prefixBytes))
      else { return nil }
      return try body(found, row)
    }
  }

  func forEachRun(
    under prefix: RawSpan,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    try transaction.forEachEntry(in: tables.runs, under: prefix.bytes) { key, row in
      try body(key, row)
      return true
    }
  }

  /// Calls a closure with each row of the index of references under a prefix, in key order, until it returns
  /// false.
  func forEachReference(
    under prefix: ReferenceKey,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    try transaction.forEachEntry(in: tables.references, under: prefix.bytes, body)
  }
}
