import LMDB
import OperationFormat

/// The digest of a zone's state. It has identities instead of this store's numbers, so that replicas can
/// compare it.
///
/// SHA-256 over these bytes of each record that has heads, in the order of the records' names as bytes:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | record's name |
/// | varint | count of its cells with heads |
/// | … | existence, then the fields' cells in the order of their names, then their kinds |
///
/// and of each cell:
///
/// | bytes | what |
/// |---|---|
/// | varint, count | field's name, empty for the existence |
/// | varint | kind: 0 register or existence, 1 counter, 2 set, 3 map, 4 list, 5 text, 6 contributions |
/// | … | its heads |
///
/// or instead of the heads, of a set or a map:
///
/// | bytes | what |
/// |---|---|
/// | varint | count of the elements |
/// | … | of each element: the encoded element or the key (varint, count), and its heads |
///
/// of a list or a text for each of its parts, and 0 at the end:
///
/// | bytes | what |
/// |---|---|
/// | 1 | 1 |
/// | … | the first unit: replica (16, big-endian), epoch, number (varints) |
/// | varint | count of units |
/// | … | left origin, right origin, the element that was moved there: each 0 for none, else 1 and the unit |
/// | 1 | 1 if they are visible, else 0 |
/// | varint, count | the UTF-8 of a text that is visible |
/// | varint | count of the operations that made them |
/// | … | of each operation: sequence, index and count of units (varints) |
/// | varint | count of the elements among them |
/// | … | of each element: the unit's number (varint), the heads of its places, those of its values |
///
/// A part is as long as it can be: units of one replica's epoch with numbers that follow each other, each the
/// left origin of the next, with one right origin, all visible or none. A unit that an element was moved to
/// is a separate part. The payload of a place's head is the unit's number (varint).
///
/// and of heads:
///
/// | bytes | what |
/// |---|---|
/// | varint | their count |
/// | 8 | of each, greatest first: timestamp, little-endian |
/// | 16 | replica, big-endian |
/// | … | epoch, sequence, index (varints) |
/// | varint, count | payload |
///
/// The payload of an existence head is 0 for dead; 1 and the type's name (varint, count); or 2 and the zone's
/// owner, its name and the record's name (varint, count) where it moved to; of a set's element it is empty;
/// else it is the encoded value. Elements come in the order of their names: those of at most 128 bytes by
/// their bytes, then the others by their SHA-256.
enum StateDigest {
  static func digest(of zone: ZoneID, _ readView: ReadView) throws -> ContentHash {
    var digest = CellDigest()
    try readView.forEachRow(in: zone) { name, row, state in
      try row.withUnpacked { try append(name, $0, state, readView, to: &digest) }
      return true
    }
    return digest.finish()
  }

  /// Appends a record.
  static func append(
    _ name: Name, _ row: RawSpan, _ state: StateNumber, _ readView: ReadView, to digest: inout CellDigest
  ) throws {
    digest.writer.append(text: name.rawValue)
    if StoredRow(row).isUncreated { digest.writer.append(varint: UInt64.max) }
    let index = try CellIndex(row)
    let entries = try readView.cellsByName(index)
    digest.writer.append(count: entries.count)
    for (entry, name) in entries {
      digest.writer.append(text: name.rawValue)
      digest.writer.append(varint: UInt64(entry.cell.rawValue & 0xf))
      try index.withRow(of: entry, in: row) { row in
        let cell = CellReader(entry.cell, in: StoredRow(row), state, readView)
        let isKnown: Void? = try entry.cell.withKind { try $0.digest(of: cell, into: &digest) }
        // A kind of a newer version: its heads, as far as this version can read them.
        if isKnown == nil { try digest.append(cell.heads(), readView) }
      }
    }
    digest.flush()
  }
}
