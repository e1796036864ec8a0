package import OperationFormat

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
enum Creation: Equatable {
  /// The row has no such cell.
  case unknown
  case none
  case made(Stamp)

  /// The cell of ``none``.
  static let noneBytes: [UInt8] = [0]

  /// - Throws: `damaged`.
  init(cell: RawSpan) throws(FormatError) {
    if cell.byteCount == 0 {
      self = .unknown
    } else if equalBytes(cell, Self.noneBytes.span.bytes) {
      self = .none
    } else {
      var reader = PlainReader(cell, at: 0)
      guard let stamp = reader.stamp(), reader.offset == cell.byteCount else {
        throw FormatError(
          .damaged, at: 0, in: "record row", expected: "by which transaction the record was created",
          found: "other bytes")
      }
      self = .made(stamp)
    }
  }

  var stamp: Stamp? { if case .made(let stamp) = self { stamp } else { nil } }

  static func append(_ head: Head, to writer: inout ByteWriter) {
    writer.append(littleEndian: head.timestamp.rawValue)
    writer.append(varint: UInt64(head.id.replica.rawValue))
    writer.append(varint: UInt64(head.id.epoch))
    writer.append(varint: head.id.sequence)
  }
}

extension RecordRow {
  /// The transaction that created the record of a row of version 1, as a head without its operation's index; nil if
  /// it is not known, or there is none yet.
  package static func creation(in row: RawSpan) throws(FormatError) -> Head? {
    try Creation(cell: row.extracting(place(of: .creation, in: row).body)).stamp?.head(0)
  }
}

extension StoredRow {
  /// By which transaction the record was created.
  func creation() throws(FormatError) -> Creation {
    if isPacked { return try PackedRow(checked: bytes).creation(in: bytes) }
    return try Creation(cell: bytes.extracting(RecordRow.place(of: .creation, in: bytes).body))
  }
}

extension PackedRow {
  /// By which transaction the record was created.
  func creation(in row: RawSpan) throws(FormatError) -> Creation {
    switch creationForm {
    case .unknown: .unknown
    case .none: .none
    case .first, .follows: .made(try stamp(creationStamp, in: row))
    }
  }
}
