import OperationFormat

/// By which transaction a record was first created: a cell of its row that merges by the least stamp.
///
/// | bytes | what |
/// |---|---|
/// | 8 | timestamp as the transaction has it, little-endian |
/// | varint | replica's number |
/// | varint | epoch |
/// | varint | sequence |
///
/// Of a record that only has operations of others yet, it is one byte, 0. A record that an earlier version has
/// folded has no such cell until a rebuild: it may have been created, whatever comes later.
package enum Creation {
  static let none: [UInt8] = [0]

  static func isNone(_ cell: RawSpan) -> Bool {
    cell.byteCount == 1 && cell.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == 0
  }

  /// Nil if the cell is damaged.
  static func stamp(in cell: RawSpan) -> Stamp? {
    var reader = PlainReader(cell, at: 0)
    guard let stamp = reader.stamp(), reader.offset == cell.byteCount else { return nil }
    return stamp
  }

  /// The creating operation, without its index; nil if the cell is damaged.
  package static func head(in cell: RawSpan) -> Head? { stamp(in: cell)?.head(0) }

  static func append(_ head: Head, to writer: inout ByteWriter) {
    writer.append(littleEndian: head.timestamp.rawValue)
    writer.append(varint: UInt64(head.id.replica.rawValue))
    writer.append(varint: UInt64(head.id.epoch))
    writer.append(varint: head.id.sequence)
  }
}
