import OperationFormat

// An entry of the log; its key is the position, 8 bytes, big-endian:
//
// | bytes | what |
// |---|---|
// | 1 | version, 1 |
// | varint | zone's number |
// | varint | replica's number |
// | varint | epoch |
// | varint | sequence |
// | varint | number of the base's incarnation, 0 where there is no base |
// | varint | base's offset; absent where there is no base |
// | varint | number of the parent's replica, 0 where there is no parent |
// | varint ×2 | parent's epoch and sequence; absent where there is no parent |
// | zigzag varint | time of arrival less the transaction's timestamp, in milliseconds |
// | … | body of the transaction, the same bytes as in a segment |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

/// Reads and writes entries of the log.
enum LogEntryCodec {
  static let checksumBytes = 4

  static func append(
    _ header: LogEntryHeader, body: RawSpan, at position: Position, to writer: inout ByteWriter
  ) {
    writer.append(1)
    writer.append(varint: UInt64(header.zone.rawValue))
    writer.append(varint: UInt64(header.replica.rawValue))
    writer.append(varint: UInt64(header.epoch))
    writer.append(varint: header.sequence)
    writer.append(varint: UInt64(header.baseIncarnation.rawValue))
    if header.base != nil { writer.append(varint: header.baseOffset) }
    writer.append(varint: UInt64(header.parentReplica.rawValue))
    if header.parent != nil {
      writer.append(varint: UInt64(header.parentEpoch))
      writer.append(varint: header.parentSequence)
    }
    writer.append(zigzag: header.arrivalDelay)
    writer.append(body)
    writer.append(littleEndian: checksum(of: writer.span, at: position))
  }

  /// Checks an entry's CRC and reads its header.
  ///
  /// - Returns: the header, and the range of the body in the entry.
  static func read(
    _ entry: RawSpan, at position: Position
  ) throws(FormatError) -> (header: LogEntryHeader, body: Range<Int>) {
    let checked = try checked(entry, at: position)
    var reader = ByteReader(checked)
    let version = try reader.readUInt8("row")
    guard version == 1 else {
      throw FormatError(
        .newerFormat, at: 0, in: "log entry", expected: "version 1", found: "\(version)")
    }
    let zone = ZoneNumber(rawValue: try reader.readUInt32Varint("zone"))
    let replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("replica"))
    let epoch = try reader.readUInt32Varint("epoch")
    let sequence = try reader.readVarint("row")
    let baseIncarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("base"))
    let base = baseIncarnation == .none ? nil : (baseIncarnation, try reader.readVarint("row"))
    let parentReplica = ReplicaNumber(rawValue: try reader.readUInt32Varint("parent"))
    let parent =
      parentReplica == .none
      ? nil : (parentReplica, try reader.readUInt32Varint("parent.epoch"), try reader.readVarint("row"))
    let arrivalDelay = try reader.readZigzag("row")
    let header = LogEntryHeader(
      zone: zone, replica: replica, epoch: epoch, sequence: sequence, base: base, parent: parent,
      arrivalDelay: arrivalDelay)
    return (header, reader.position..<checked.byteCount)
  }

  /// The zone of an entry. It does not check the checksum.
  static func zone(ofUnchecked entry: RawSpan) throws(FormatError) -> ZoneNumber {
    var reader = ByteReader(entry)
    _ = try reader.readUInt8("log entry")
    return ZoneNumber(rawValue: try reader.readUInt32Varint("zone"))
  }

  /// The bytes of a row before its CRC, which must match.
  @_lifetime(copy row)
  static func checked(_ row: RawSpan, at position: Position) throws(FormatError) -> RawSpan {
    guard row.byteCount > checksumBytes else {
      throw FormatError(
        .truncated, at: row.byteCount, in: "log entry", expected: "a checksum",
        found: "\(row.byteCount) bytes")
    }
    let end = row.byteCount - checksumBytes
    let stored = UInt32(littleEndian: row.unsafeLoadUnaligned(fromByteOffset: end, as: UInt32.self))
    let found = checksum(of: row.extracting(..<end), at: position)
    guard stored == found else {
      throw FormatError(
        .damaged, at: end, in: "log entry", expected: "CRC-32C \(stored)", found: "\(found)")
    }
    return row.extracting(..<end)
  }

  static func checksum(of bytes: RawSpan, at position: Position) -> UInt32 {
    let key: [1 of UInt64] = [position.rawValue.bigEndian]
    return crc32c(bytes, continuing: crc32c(key.span.bytes))
  }
}
