import LMDB
import OperationFormat

/// The rows of the index of references.
extension TableStorage {
  package func readReference(_ key: ReferenceKey) throws -> [UInt8]? {
    try transaction.withValue(of: key.bytes.span.bytes, in: tables.references) { $0.bytes }
  }

  package func writeReference(_ row: RawSpan, _ key: ReferenceKey) throws {
    try transaction.put(row, for: key.bytes.span.bytes, in: tables.references)
  }

  package func deleteReference(_ key: ReferenceKey) throws {
    _ = try transaction.delete(key.bytes.span.bytes, in: tables.references)
  }
}

extension Tables {
  /// Calls a closure with each row of the index of references under a prefix, in key order, until it returns false.
  func forEachReference(
    under prefix: ReferenceKey, _ transaction: borrowing Transaction,
    _ body: (_ key: RawSpan, _ row: RawSpan) throws -> Bool
  ) throws {
    var cursor = try transaction.openCursor(references)
    var isThere = try cursor.seek(atOrAfter: prefix.bytes.span.bytes)
    while isThere {
      let goesOn = try cursor.withEntry { key, row in
        try key.hasPrefix(prefix.bytes) && body(key, row)
      }
      guard goesOn else { return }
      isThere = try cursor.next()
    }
  }
}
