// The bytes of a segment's header: see ``SegmentFormat``. `encode` and `writeFields` mirror `read` and
// `readFields`.

extension SegmentHeader {
  /// The most bytes of a header, rounded up: reading this many bytes of a segment is enough to decode the
  /// header.
  package static let headerBytesMax = 512

  /// Appends the encoded header.
  ///
  /// - Throws: ``FormatError`` as ``validate()``.
  func encode(into writer: inout ByteWriter) throws(FormatError) {
    try validate()
    var body = ByteWriter()
    writeFields(to: &body)
    let byteCount = SegmentFormat.headerFixedBytes + body.count + Framing.checksumBytes
    precondition(byteCount <= Self.headerBytesMax, "a header of \(byteCount) bytes")
    let start = writer.count
    writer.append(magic: FrameKind.segment.magic)
    writer.append(SegmentFormat.headerVersion)
    writer.append(0)
    writer.append(littleEndian: UInt16(byteCount))
    writer.append(body.span)
    writer.appendChecksum(from: start)
  }

  /// Decodes a header. Any bytes may follow it.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `newerFormat` for a later
  ///   version, or a codec or key that this version does not know.
  static func read(from reader: inout ByteReader) throws(FormatError) -> SegmentHeader {
    let start = reader.position
    let byteCount = try readByteCount(reader)
    let whole = try reader.readBytes(byteCount, "segment.header")
    let content = try Framing.checkedContent(
      of: reader.bytes(in: whole), origin: reader.origin + start, "segment.header")
    var fields = ByteReader(content, at: Framing.magicBytes, origin: reader.origin + start)
    _ = try fields.readVersionAndFlags("segment", version: SegmentFormat.headerVersion, flagsMask: 0)
    _ = try fields.readBytes(MemoryLayout<UInt16>.size, "segment.headerBytes")
    let header = try readFields(from: &fields)
    try fields.finish("segment.header")
    do throws(FormatError) {
      try header.validate()
    } catch {
      var placed = error
      placed.offset = reader.origin + start
      throw placed
    }
    return header
  }

  /// The byte count that a header states. No version may state more than ``headerBytesMax``.
  private static func readByteCount(_ reader: ByteReader) throws(FormatError) -> Int {
    var ahead = reader
    try ahead.readMagic(.segment, "segment")
    _ = try ahead.readBytes(2, "segment")
    let start = ahead.position
    let byteCount = Int(try ahead.readLittleEndian("segment.headerBytes", as: UInt16.self))
    guard SegmentFormat.headerFixedBytes + Framing.checksumBytes...headerBytesMax ~= byteCount else {
      throw ahead.fail(
        .damaged, at: start, "segment.headerBytes",
        expected: "\(SegmentFormat.headerFixedBytes + Framing.checksumBytes) to \(headerBytesMax)",
        found: "\(byteCount)")
    }
    return byteCount
  }

  private func writeFields(to writer: inout ByteWriter) {
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(bigEndian: replica.rawValue)
    writer.append(varint: UInt64(epoch))
    writer.append(varint: sequences.lowerBound)
    writer.append(varint: sequences.upperBound)
    writer.append(varint: base)
    if base > 0 { baseHash.write(to: &writer) }
    writer.append(varint: operationCount)
    writer.append(littleEndian: timestamps.lowerBound.rawValue)
    writer.append(littleEndian: timestamps.upperBound.rawValue)
    writer.append(codec.rawValue)
    writer.append(varint: keyID)
    writer.append(varint: unpackedBytes)
    writer.append(varint: packedBytes)
    contentHash.write(to: &writer)
    previousHash.write(to: &writer)
  }

  private static func readFields(from reader: inout ByteReader) throws(FormatError) -> SegmentHeader {
    let zone = try ZoneID.read(from: &reader, owner: "segment.zone.owner", name: "segment.zone.name")
    let incarnation = try IncarnationID.read(from: &reader, "segment.incarnation")
    let replica = try ReplicaID.read(from: &reader, "segment.replica")
    let epoch = UInt32(try reader.readVarint("segment.epoch", in: 0...UInt64(UInt32.max)))
    let first = try reader.readVarint("segment.firstSequence", in: 1 ... .max)
    let last = try reader.readVarint("segment.lastSequence", in: first ... .max)
    let base = try reader.readVarint("segment.base")
    let baseHash = base == 0 ? .zero : try ContentHash.read(from: &reader, "segment.baseHash")
    let operationCount = try reader.readVarint("segment.operationCount")
    let least: UInt64 = try reader.readLittleEndian("segment.leastTimestamp")
    let greatestStart = reader.position
    let greatest: UInt64 = try reader.readLittleEndian("segment.greatestTimestamp")
    guard least <= greatest else {
      throw reader.fail(
        .invalid, at: greatestStart, "segment.greatestTimestamp", expected: "\(least) or more",
        found: "\(greatest)")
    }
    return SegmentHeader(
      zone: zone, incarnation: incarnation, replica: replica, epoch: epoch, sequences: first...last,
      base: base, baseHash: baseHash, operationCount: operationCount,
      timestamps: Timestamp(rawValue: least)...Timestamp(rawValue: greatest),
      codec: Codec(rawValue: try reader.readUInt8("segment.codec")),
      keyID: try reader.readVarint("segment.keyID"),
      unpackedBytes: try reader.readVarint("segment.unpackedBytes"),
      packedBytes: try reader.readVarint("segment.packedBytes"),
      contentHash: try ContentHash.read(from: &reader, "segment.contentHash"),
      previousHash: try ContentHash.read(from: &reader, "segment.previousHash"))
  }
}
