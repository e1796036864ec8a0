import LMDB
package import OperationFormat

// A row of the log where entries were that are gone: with their zone, or since they were issued again, or since the
// remote's log has them no more. Its key is the position of the first, 8 bytes,
// big-endian, so positions stay dense, and an entry that was lost can be told from one that was removed:
//
// | bytes | what |
// |---|---|
// | 1 | version, 2 |
// | varint | how many entries, from 1 |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

extension LogEntryCodec {
  private static let removedVersion: UInt8 = 2

  package static func appendRemoved(_ run: ClosedRange<Position>, to writer: inout ByteWriter) {
    writer.append(removedVersion)
    writer.append(varint: run.upperBound.rawValue - run.lowerBound.rawValue + 1)
    writer.append(littleEndian: checksum(of: writer.span, at: run.lowerBound))
  }

  /// The run of removed entries that a row of the log stands for; nil for the row of an entry.
  package static func removedRun(
    _ row: RawSpan, at position: Position
  ) throws(FormatError) -> ClosedRange<Position>? {
    guard row.byteCount > checksumBytes, row.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == removedVersion
    else { return nil }
    var reader = ByteReader(try checked(row, at: position))
    _ = try reader.readUInt8("removed entries")
    let count = try reader.readVarint("removed entries", in: 1...UInt64.max)
    try reader.finish("removed entries")
    let (last, overflows) = position.rawValue.addingReportingOverflow(count - 1)
    guard !overflows, last < .max else {
      throw FormatError(
        .invalid, at: 1, in: "removed entries", expected: "at most \(UInt64.max - position.rawValue)",
        found: "\(count)")
    }
    return position...Position(rawValue: last)
  }

  /// The zone of an entry, without a look at its checksum.
  static func zone(ofUnchecked entry: RawSpan) throws(FormatError) -> ZoneNumber {
    var reader = ByteReader(entry)
    _ = try reader.readUInt8("log entry")
    return ZoneNumber(rawValue: try reader.readUInt32Varint("zone"))
  }
}

extension Tables {
  /// The run of removed entries that a position lies in; nil if it lies in none.
  package func removedRun(
    at position: Position, _ transaction: borrowing LMDBTransaction
  ) throws -> ClosedRange<Position>? {
    var cursor = try transaction.openCursor(log)
    guard try cursor.seek(atMost: TableKey.log(position).span) else { return nil }
    let run = try cursor.withEntry { key, row in
      try LogEntryCodec.removedRun(row, at: Position(rawValue: try key.bigEndian64(at: 0)))
    }
    guard let run, run.contains(position) else { return nil }
    return run
  }
}

extension TableStorage {
  /// Puts one row in the place of a run of entries, and of the removed ones on both sides.
  func removeEntries(_ entries: ClosedRange<Position>) throws {
    var (first, last) = (entries.lowerBound, entries.upperBound)
    for position in first.rawValue...last.rawValue {
      try removeLogRow(Position(rawValue: position))
    }
    if first.rawValue > 1,
      let before = try tables.removedRun(at: Position(rawValue: first.rawValue - 1), transaction)
    {
      first = before.lowerBound
    }
    if last.rawValue < .max, let after = try tables.removedRun(at: last.next, transaction) {
      try removeLogRow(after.lowerBound)
      last = after.upperBound
    }
    try put(.log(first), in: tables.log) { LogEntryCodec.appendRemoved(first...last, to: &$0) }
  }

  private func removeLogRow(_ position: Position) throws {
    let key = TableKey.log(position)
    _ = try transaction.delete(key.span, in: tables.log)
  }
}

extension StoreError {
  static func removed(_ position: Position) -> StoreError {
    StoreError(
      .positionUnknown, "the log's entry at position \(position) was removed with its zone",
      hint: "continue with the positions after it")
  }
}
