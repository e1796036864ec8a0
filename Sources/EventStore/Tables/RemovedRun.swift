import OperationFormat

// A row of the log that stands for removed entries: their zone was removed, or they were issued again, or the
// remote's log lost them. Its key is the position of the first one, 8 bytes, big-endian. So a removed entry
// differs from a lost one:
//
// | bytes | what |
// |---|---|
// | 1 | version, 2 |
// | varint | how many entries, from 1 |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

extension LogEntryCodec {
  private static let removedVersion: UInt8 = 2

  static func appendRemoved(_ run: ClosedRange<Position>, to writer: inout ByteWriter) {
    writer.append(removedVersion)
    writer.append(varint: run.upperBound.rawValue - run.lowerBound.rawValue + 1)
    writer.append(littleEndian: checksum(of: writer.span, at: run.lowerBound))
  }

  /// The run of removed entries that a row of the log stands for; nil for an entry.
  static func removedRun(
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
}
