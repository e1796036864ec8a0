/// Precedes a segment in a remote log of files or objects: the segment's offset, its time of receipt, and the
/// log's chain there, if its writer knew that (bytes: ``SegmentFormat``).
package struct SegmentEnvelope: Hashable, Sendable {
  /// The most bytes of an envelope before the segment: reading this many bytes is enough to decode it.
  package static let headerBytesMax = firstHeaderBytes + ContentHash.byteCount + Framing.checksumBytes
  /// The most bytes of a segment and its envelope.
  package static let bytesMax = headerBytesMax + SegmentFrame.bytesMax

  /// The segment's offset in its zone's log, from 1.
  package var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote does not record that.
  package var receivedMilliseconds: UInt64?
  /// The log's chain at the offset; nil in an envelope of version 1, which an earlier program
  /// wrote, or a writer that could not read the entry before.
  package var chain: LogChain?
  /// Whether its transactions were in an entry before, which the log has lost, or which was given up. Then the time is not
  /// later than what that entry stated, and says nothing about the remote's clock.
  package var isOfferedAgain = false
  /// The size of the segment, in bytes.
  package var segmentBytes: Int

  /// The size of the envelope itself.
  package var headerBytes: Int { chain == nil ? Self.firstHeaderBytes : Self.headerBytesMax }
  /// That of version 1, which has no chain.
  private static let firstHeaderBytes = 4 + 2 + 3 * 8 + Framing.checksumBytes
  /// The only flag.
  private static let offeredAgain: UInt8 = 1

  /// Returns a segment in its envelope.
  ///
  /// - Parameters:
  ///   - offset: its offset in its zone's log, from 1.
  ///   - receivedMilliseconds: when it was received, in milliseconds since 1970, if the remote records that;
  ///     not the greatest number.
  ///   - chain: the log's chain at the offset; nil writes an envelope of version 1.
  ///   - isOfferedAgain: whether its transactions were in an entry before.
  ///   - segment: a whole segment's bytes, which are not checked.
  /// - Complexity: O(n)
  package static func encode(
    offset: UInt64, receivedMilliseconds: UInt64?, chain: LogChain?, isOfferedAgain: Bool = false,
    segment: RawSpan
  ) -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    precondition(receivedMilliseconds != .max, "the greatest number is not a time")
    precondition(segment.byteCount <= SegmentFrame.bytesMax, "a segment of \(segment.byteCount) bytes")
    var writer = ByteWriter()
    writer.reserve(headerBytesMax + segment.byteCount)
    writer.append(magic: FrameKind.envelope.magic)
    writer.append(chain == nil ? 1 : SegmentFormat.envelopeVersion)
    writer.append(isOfferedAgain ? offeredAgain : 0)
    writer.append(littleEndian: offset)
    writer.append(littleEndian: receivedMilliseconds.map { $0 + 1 } ?? 0)
    writer.append(littleEndian: UInt64(segment.byteCount))
    writer.appendChecksum()
    if let chain {
      chain.hash.write(to: &writer)
      writer.appendChecksum()
    }
    writer.append(segment)
    return writer.bytes
  }

  /// Decodes the envelope that fills `bytes`. It does not check the segment inside.
  ///
  /// - Returns: the envelope, and the range of the segment in `bytes`.
  /// - Throws: ``FormatError`` as ``readHeader(_:)``; `truncated` if the segment is incomplete,
  ///   `trailingBytes` if something follows it.
  package static func read(
    _ bytes: RawSpan
  ) throws(FormatError) -> (envelope: SegmentEnvelope, segment: Range<Int>) {
    let envelope = try readHeader(bytes)
    var reader = ByteReader(bytes, at: envelope.headerBytes)
    let segment = try reader.readBytes(envelope.segmentBytes, "envelope.segment")
    try reader.finish("envelope")
    return (envelope, segment)
  }

  /// Decodes the envelope from the first bytes of `bytes`, ``headerBytesMax`` if there are so many.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `truncated` if there are fewer
  ///   bytes, `newerFormat` for a later version, `limitExceeded` if the segment is too large.
  package static func readHeader(_ bytes: RawSpan) throws(FormatError) -> SegmentEnvelope {
    var whole = ByteReader(bytes)
    try whole.readMagic(.envelope, "envelope")
    let version = try whole.readUInt8("envelope.version")
    let flags = try whole.readUInt8("envelope.flags")
    _ = try whole.readBytes(firstHeaderBytes - whole.position, "envelope")
    var reader = try Framing.open(
      bytes.extracting(0..<firstHeaderBytes), .envelope, versions: 1...SegmentFormat.envelopeVersion,
      flagsMask: offeredAgain, "envelope")
    let offset = try reader.readOffset("envelope.offset")
    let received = try reader.readLittleEndian("envelope.receivedMilliseconds", as: UInt64.self)
    let countStart = reader.position
    let byteCount = try reader.readLittleEndian("envelope.segmentBytes", as: UInt64.self)
    guard byteCount <= UInt64(SegmentFrame.bytesMax) else {
      throw reader.fail(
        .limitExceeded, at: countStart, "envelope.segmentBytes",
        expected: "at most \(SegmentFrame.bytesMax)", found: "\(byteCount)")
    }
    var envelope = SegmentEnvelope(
      offset: offset, receivedMilliseconds: received == 0 ? nil : received - 1,
      isOfferedAgain: flags == offeredAgain, segmentBytes: Int(byteCount))
    if version > 1 {
      envelope.chain = LogChain(hash: try ContentHash.read(from: &whole, "envelope.chain"))
      _ = try whole.readBytes(Framing.checksumBytes, "envelope")
      _ = try Framing.checkedContent(of: bytes.extracting(0..<whole.position), "envelope")
    }
    return envelope
  }
}
