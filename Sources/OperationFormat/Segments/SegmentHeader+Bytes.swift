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
    writer.append(version)
    writer.append(flags.rawValue)
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
    let (version, flags) = try readVersionAndFlags(from: &fields)
    _ = try fields.readBytes(MemoryLayout<UInt16>.size, "segment.headerBytes")
    let header = try readFields(from: &fields, version, flags)
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

  private static func readVersionAndFlags(
    from reader: inout ByteReader
  ) throws(FormatError) -> (UInt8, SegmentFormat.Flags) {
    let version = try reader.readUInt8("segment")
    guard 1...newestVersion ~= version else {
      throw reader.fail(
        version == 0 ? .invalid : .newerFormat, at: reader.position - 1, "segment",
        expected: "version 1 to \(newestVersion)", found: "\(version)")
    }
    let flags = try reader.readUInt8("segment")
    let known: SegmentFormat.Flags = version == 1 ? [] : .all
    guard known.isSuperset(of: SegmentFormat.Flags(rawValue: flags)) else {
      throw reader.fail(
        .newerFormat, at: reader.position - 1, "segment", expected: "flags among \(known.rawValue)",
        found: "\(flags)")
    }
    return (version, SegmentFormat.Flags(rawValue: flags))
  }

  private var flags: SegmentFormat.Flags {
    var flags: SegmentFormat.Flags = []
    if isSealed { flags.insert(.sealed) }
    if device != nil { flags.insert(.signed) }
    if former != nil { flags.insert(.reoffered) }
    return flags
  }

  private func writeFields(to writer: inout ByteWriter) {
    if version == 1 { writer.append(name: zone.owner) }
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(bigEndian: replica.rawValue)
    writer.append(varint: UInt64(epoch))
    writer.append(varint: sequences.lowerBound)
    writer.append(varint: sequences.upperBound)
    writer.append(varint: base)
    if base > 0 { baseProof.write(to: &writer) }
    if !isSealed {
      writer.append(varint: operationCount)
      writer.append(littleEndian: timestamps.lowerBound.rawValue)
      writer.append(littleEndian: timestamps.upperBound.rawValue)
    }
    writer.append(codec.rawValue)
    writer.append(varint: UInt64(keyID))
    if !isSealed { writer.append(varint: unpackedBytes) }
    writer.append(varint: packedBytes)
    contentHash.write(to: &writer)
    previousHash.write(to: &writer)
    if let device { writer.append(bigEndian: device.rawValue) }
    former?.write(to: &writer)
  }

  private static func readFields(
    from reader: inout ByteReader, _ version: UInt8, _ flags: SegmentFormat.Flags
  ) throws(FormatError) -> SegmentHeader {
    let isSealed = flags.contains(.sealed)
    let zone =
      version == 1
      ? try ZoneID.read(from: &reader, owner: "segment.zone.owner", name: "segment.zone.name")
      : ZoneID(name: Name(reader.string(in: try reader.readZoneName("segment.zone.name"))))
    let incarnation = try IncarnationID.read(from: &reader, "segment.incarnation")
    let replica = try ReplicaID.read(from: &reader, "segment.replica")
    let epoch = try reader.readVarint32("segment.epoch")
    let first = try reader.readVarint("segment.firstSequence", in: 1 ... .max)
    let last = try reader.readVarint("segment.lastSequence", in: first ... .max)
    let base = try reader.readVarint("segment.base")
    let baseProof = base == 0 ? .zero : try ContentHash.read(from: &reader, "segment.baseProof")
    let operationCount = isSealed ? 0 : try reader.readVarint("segment.operationCount")
    let timestamps =
      isSealed ? Timestamp(rawValue: 0)...Timestamp(rawValue: 0) : try readTimestamps(from: &reader)
    let codec = Codec(rawValue: try reader.readUInt8("segment.codec"))
    let keyID = try reader.readVarint32("segment.keyID")
    return SegmentHeader(
      version: version, isSealed: isSealed, zone: zone, incarnation: incarnation, replica: replica,
      epoch: epoch, sequences: first...last, base: base, baseProof: baseProof,
      operationCount: operationCount, timestamps: timestamps, codec: codec, keyID: keyID,
      unpackedBytes: isSealed ? 0 : try reader.readVarint("segment.unpackedBytes"),
      packedBytes: try reader.readVarint("segment.packedBytes"),
      contentHash: try ContentHash.read(from: &reader, "segment.contentHash"),
      previousHash: try ContentHash.read(from: &reader, "segment.previousHash"),
      device: flags.contains(.signed) ? try DeviceID.read(from: &reader, "segment.device") : nil,
      former: flags.contains(.reoffered) ? try FormerPlace.read(from: &reader) : nil)
  }

  private static func readTimestamps(
    from reader: inout ByteReader
  ) throws(FormatError) -> ClosedRange<Timestamp> {
    let least: UInt64 = try reader.readLittleEndian("segment.leastTimestamp")
    let start = reader.position
    let greatest: UInt64 = try reader.readLittleEndian("segment.greatestTimestamp")
    guard least <= greatest else {
      throw reader.fail(
        .invalid, at: start, "segment.greatestTimestamp", expected: "\(least) or more", found: "\(greatest)")
    }
    return Timestamp(rawValue: least)...Timestamp(rawValue: greatest)
  }
}

extension ByteReader {
  fileprivate mutating func readVarint32(_ subject: StaticString) throws(FormatError) -> UInt32 {
    UInt32(try readVarint(subject, in: 0...UInt64(UInt32.max)))
  }
}

extension FormerPlace {
  fileprivate func write(to writer: inout ByteWriter) {
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(varint: offset)
    writer.append(varint: base)
    if base > 0 { baseChain.write(to: &writer) }
    previousHash.write(to: &writer)
    writer.append(varint: UInt64(keyID))
    writer.append(device == nil ? 0 : 1)
    if let device { writer.append(bigEndian: device.rawValue) }
  }

  fileprivate static func read(from reader: inout ByteReader) throws(FormatError) -> FormerPlace {
    let incarnation = try IncarnationID.read(from: &reader, "segment.former.incarnation")
    let offset = try reader.readVarint("segment.former.offset", in: 0...Limits.placeMax)
    let base = try reader.readVarint(
      "segment.former.base", in: 0...(offset == 0 ? Limits.placeMax : offset - 1))
    return FormerPlace(
      incarnation: incarnation, offset: offset, base: base,
      baseChain: base == 0 ? .zero : try ContentHash.read(from: &reader, "segment.former.baseChain"),
      previousHash: try ContentHash.read(from: &reader, "segment.former.previousHash"),
      keyID: try reader.readVarint32("segment.former.keyID"),
      device: try reader.readVarint("segment.former.isSigned", in: 0...1) == 0
        ? nil : try DeviceID.read(from: &reader, "segment.former.device"))
  }
}
