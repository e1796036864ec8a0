/// The whole format of a transaction, in the order of its bytes: a header, then a body.
///
/// Integers are unsigned LEB128 varints in their shortest form, unless a width is given. A text is its byte
/// count (varint) and its UTF-8. Logs and segments keep the body as it is; a log stores the header's fields
/// in its own way.
///
/// ## The header
///
/// Who made the transaction, where, and what its maker had seen: ``TransactionHeader``.
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | flags: 1 base, 2 parent; the other bits are 0 |
/// | 16 | replica, big-endian |
/// | 1–5 | epoch: at most 2^32 − 1 |
/// | 1–10 | sequence: from 1 |
/// | 1–130 | zone's owner: text of 0 to 128 bytes; empty: the owner of the log |
/// | 2–130 | zone's name: text of 1 to 128 bytes |
/// | 17–26 | with the flag 1, base: incarnation, 16 bytes big-endian; offset, from 1 |
/// | 18–31 | with the flag 2, parent: replica, 16 bytes big-endian; epoch and sequence as above |
///
/// ## The body
///
/// What the transaction does, and nothing that depends on where it is kept: ``BodyEncoder``, ``BodyDecoder``.
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | flags: 1 write id, 2 author, 4 label, 8 schema version; the other bits are 0 |
/// | 8 | timestamp, little-endian |
/// | 8 | with the flag 1, write id, little-endian |
/// | 1–257 | with the flag 2, author: text of at most 255 bytes |
/// | 1–1,026 | with the flag 4, label: text of at most 1,024 bytes |
/// | 1–10 | with the flag 8, schema version |
/// | 1–3 | count of names: at most 196,608 |
/// | | names: texts of 1 to 255 bytes |
/// | 1–3 | count of operations: 1 to 65,536 |
/// | | operations: kind, from 1; byte count of the payload; payload |
///
/// Names differ from each other. If all kinds are known, each name is used, and names are in the order of
/// their first use; an operation uses its record, its type and its field, in this order. A name that is used
/// as a type or a field has at most 128 bytes. The payload of a known kind has no bytes after its last part.
/// Header and body take at most 8 MiB together.
///
/// ## The payload of an operation
///
/// A record, type or field is the index of its name in the table of names, from 0.
///
/// | kind | operation | payload |
/// |---|---|---|
/// | 1 | create | record, type |
/// | 2 | delete | record |
/// | 3 | set | record, type, field; value |
/// | 4 | add | record, type, field; value, an integer or a decimal |
/// | 5 | insert | record, type, field; value, an element of a set |
/// | 6 | remove | record, type, field; value, an element of a set |
/// | 7 | put | record, type, field; key, value |
/// | 8 | remove key | record, type, field; key |
/// | 9 | insert elements | record, type, field; origin, count of values from 1, values |
/// | 10 | move element | record, type, field; unit, origin |
/// | 11 | replace element | record, type, field; unit, value |
/// | 12 | remove elements | record, type, field; count of runs from 1, runs |
/// | 13 | insert text | record, type, field; origin, text of 1 byte to 1 MiB |
/// | 14 | remove text | record, type, field; count of runs from 1, runs |
/// | 15 | contribute | record, type, field; value |
/// | 16 | move away | record; the record's other place |
/// | 17 | move here | record, type; the record's other place |
/// | 18 | compact | an offset of the zone's log, from 1 |
///
/// The part after the field is the operand: ``FieldChange``. A key is a text of at most 255 bytes. Any other
/// kind belongs to a later version: its payload is kept byte for byte.
///
/// ## A unit, an origin, a run
///
/// A unit is an element of a list, or a Unicode scalar of a text: ``UnitReference``. An origin is the unit
/// after which something is inserted, or none for the start.
///
/// | bytes | field |
/// |---|---|
/// | 1–3 | maker: 0 none (an origin only); 1 the transaction's own replica and epoch; 2 a maker that follows; from 3 on, the makers that followed before in this operation |
/// | 17–21 | with 2, the maker: replica, 16 bytes big-endian; epoch |
/// | 1–10 | unless 0, the number among the units that its maker inserted in the cell, from 0 |
///
/// A run is its first unit, then a count from 1: ``UnitSpan``. A maker is written at most once in an
/// operation, and at most 1,024 are written.
///
/// ## The other place of a record that moves
///
/// ``RecordID/encodeOtherPlace(into:)``
///
/// | bytes | field |
/// |---|---|
/// | 1–130 | zone's owner: text of 0 to 128 bytes; empty: the owner of the zone that the bytes are in |
/// | 2–130 | zone's name: text of 1 to 128 bytes |
/// | 2–257 | record's name in that zone: text of 1 to 255 bytes |
///
/// ## A value
///
/// One byte of ``ValueTag``, then the bytes of that tag. A value is at most 32 deep and takes at most 1 MiB.
///
/// | tag | value | bytes after the tag |
/// |---|---|---|
/// | 0 | null | |
/// | 1 | false | |
/// | 2 | true | |
/// | 3 | int | zigzag varint of 64 bits |
/// | 4 | double | its bits, 8 bytes little-endian; any NaN is 0x7ff8000000000000 |
/// | 5 | decimal | exponent: zigzag varint; coefficient: zigzag varint of 128 bits; the normal form only |
/// | 6 | string | text |
/// | 7 | bytes | byte count; the bytes |
/// | 8 | date | microseconds since 1970, 8 bytes little-endian |
/// | 9 | UUID | 16 bytes, big-endian |
/// | 10 | reference | rule: 0 to 2; zone flag: 0 or 1; with 1, zone's owner and name as above; record: text of 1 to 255 bytes |
/// | 11 | asset | SHA-256, 32 bytes; byte count |
/// | 12 | array | count; values |
/// | 13 | map | count; for each entry key and value; keys strictly ascending by their bytes |
enum TransactionFormat {
  static let headerVersion: UInt8 = 1
  static let baseFlag: UInt8 = 1
  static let parentFlag: UInt8 = 2
  static let headerFlagsMask = baseFlag | parentFlag

  static let bodyVersion: UInt8 = 1
  static let writeIDFlag: UInt8 = 1
  static let authorFlag: UInt8 = 2
  static let labelFlag: UInt8 = 4
  static let schemaVersionFlag: UInt8 = 8
  static let bodyFlagsMask = writeIDFlag | authorFlag | labelFlag | schemaVersionFlag

  /// The maximum size of a body without its names and operations.
  static let bodyFieldsBytesMax =
    2 + 8 + 8 + 2 + Limits.authorBytesMax + 2 + Limits.labelBytesMax + 10 + 3 + 3

  /// Throws unless a transaction may have this size.
  static func checkSize(_ byteCount: Int) throws(FormatError) {
    try checkByteCount(byteCount, in: "transaction", max: Limits.transactionBytesMax)
  }
}
