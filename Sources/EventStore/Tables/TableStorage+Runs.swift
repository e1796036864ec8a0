package import LMDB
import OperationFormat

extension TableStorage: RunStorage {
  package func withRun<R>(_ key: RawSpan, _ body: (RawSpan) throws -> R) throws -> R? {
    touchedRows += 1
    return try transaction.withValue(of: key, in: tables.runs, body)
  }

  package func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    touchedRows += 1
    return try tables.withLastRun(atMost: key, prefixBytes: prefixBytes, transaction, body)
  }

  package func forEachRun(
    under prefix: RawSpan, _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    try tables.forEachRun(under: prefix, transaction, body)
  }

  package func writeRun(_ row: RawSpan, _ key: RawSpan) throws {
    try transaction.put(row, for: key, in: tables.runs)
  }

  package func deleteRun(_ key: RawSpan) throws {
    _ = try transaction.delete(key, in: tables.runs)
  }
}

/// Look-ups in the rows of sequences.
extension Tables {
  package func withLastRun<R>(
    atMost key: RawSpan, prefixBytes: Int, _ transaction: borrowing Transaction,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> R
  ) throws -> R? {
    var cursor = try transaction.openCursor(runs)
    guard try cursor.seek(atMost: key) else { return nil }
    return try cursor.withEntry { found, row in
      guard found.byteCount >= prefixBytes,
        equalBytes(found.extracting(..<prefixBytes), key.extracting(..<prefixBytes))
      else { return nil }
      return try body(found, row)
    }
  }

  package func forEachRun(
    under prefix: RawSpan, _ transaction: borrowing Transaction,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Void
  ) throws {
    let prefix = prefix.bytes
    var cursor = try transaction.openCursor(runs)
    var isThere = try cursor.seek(atOrAfter: prefix.span.bytes)
    while isThere {
      let isUnder = try cursor.withEntry { key, row in
        guard key.hasPrefix(prefix) else { return false }
        try body(key, row)
        return true
      }
      guard isUnder else { return }
      isThere = try cursor.next()
    }
  }
}
