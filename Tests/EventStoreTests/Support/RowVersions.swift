import EventStore
import OperationFormat

// What `#expect` and `#require` can call: they cannot hold a row that is not copied.

/// A record's row in version 2; nil if it stays as it is.
func packedRow(_ row: [UInt8]) -> [UInt8]? { StoredRow(row.span.bytes).repacked() }

/// A record's row in version 1.
func unpackedRow(_ row: [UInt8]) throws -> [UInt8] {
  try StoredRow(row.span.bytes).withUnpacked { row in row.withUnsafeBytes { Array($0) } }
}

/// The version of a record's row.
func version(ofRow row: [UInt8]) throws -> Int { try StoredRow(row.span.bytes).version }
