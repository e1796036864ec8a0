/// The body of a transaction: what it does, and nothing that depends on where it is kept.
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | flags: 1 write id, 2 author, 4 label, 8 schema version; the other bits are 0 |
/// | 8 | timestamp, little-endian |
/// | 8 | with the flag 1, write id, little-endian |
/// | 1–257 | with the flag 2, author: byte count, varint; UTF-8, at most 255 bytes |
/// | 1–1,026 | with the flag 4, label: byte count, varint; UTF-8, at most 1,024 bytes |
/// | 1–10 | with the flag 8, schema version: varint |
/// | 1–3 | count of names: varint, at most 196,608 |
/// | | names: byte count, varint; UTF-8, 1 to 255 bytes |
/// | 1–3 | count of operations: varint, 1 to 65,536 |
/// | | operations: kind, varint from 1; byte count of the payload, varint; payload (see ``OperationKind``) |
///
/// Names are distinct. When all kinds are known, each name is used and they stand in the order of their first
/// use, where an operation uses its record, its type and its field in this order. A payload of a known kind
/// is used up. A name that is used as a type or a field has at most 128 bytes. Header and body have at most 8
/// MiB together.
enum BodyFormat {
  static let version: UInt8 = 1
  static let writeIDFlag: UInt8 = 1
  static let authorFlag: UInt8 = 2
  static let labelFlag: UInt8 = 4
  static let schemaVersionFlag: UInt8 = 8
  static let flagsMask: UInt8 = 15

  /// The most bytes that everything but the names and the operations takes.
  static let fixedBytesMax = 2 + 8 + 8 + 2 + Limits.authorBytesMax + 2 + Limits.labelBytesMax + 10 + 3 + 3

  /// Throws unless a transaction of this size may be.
  static func checkSize(_ byteCount: Int) throws(FormatError) {
    try checkByteCount(byteCount, in: "transaction", max: Limits.transactionBytesMax)
  }
}
