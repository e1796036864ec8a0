/// Precedes a segment in a remote log of files or objects: the segment's offset, and its time of receipt
/// (bytes: ``SegmentFormat``).
package struct SegmentEnvelope: Hashable, Sendable {
  /// The size of the envelope before the segment: reading this many bytes is enough to decode it.
  package static let headerBytes = 4 + 2 + 3 * 8 + 4
  /// The most bytes of a segment and its envelope.
  package static let bytesMax = headerBytes + SegmentFrame.bytesMax

  /// The segment's offset in its zone's log, from 1.
  package var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil if the remote does not record that.
  package var receivedMilliseconds: UInt64?
  /// The size of the segment, in bytes.
  package var segmentBytes: Int

  /// Returns a segment in its envelope.
  ///
  /// - Parameters:
  ///   - offset: its offset in its zone's log, from 1.
  ///   - receivedMilliseconds: when it was received, in milliseconds since 1970, if the remote records that;
  ///     not the greatest number.
  ///   - segment: a whole segment's bytes, which are not checked.
  /// - Complexity: O(n)
  package static func encode(
    offset: UInt64, receivedMilliseconds: UInt64?, segment: RawSpan
  ) -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    precondition(receivedMilliseconds != .max, "the greatest number is not a time")
    precondition(segment.byteCount <= SegmentFrame.bytesMax, "a segment of \(segment.byteCount) bytes")
    var writer = ByteWriter()
    writer.reserve(headerBytes + segment.byteCount)
    writer.append(magic: FrameKind.envelope.magic)
    writer.append(SegmentFormat.envelopeVersion)
    writer.append(0)
    writer.append(littleEndian: offset)
    writer.append(littleEndian: receivedMilliseconds.map { $0 + 1 } ?? 0)
    writer.append(littleEndian: UInt64(segment.byteCount))
    writer.appendChecksum()
    writer.append(segment)
    return writer.bytes
  }

  /// Decodes the envelope that fills `bytes`. It does not check the segment inside.
  ///
  /// - Returns: its offset, its time of receipt, and the range of the segment in `bytes`.
  /// - Throws: ``FormatError`` as ``readHeader(_:)``; `truncated` if the segment is incomplete,
  ///   `trailingBytes` if something follows it.
  package static func read(
    _ bytes: RawSpan
  ) throws(FormatError) -> (offset: UInt64, receivedMilliseconds: UInt64?, segment: Range<Int>) {
    let envelope = try readHeader(bytes)
    var reader = ByteReader(bytes, at: headerBytes)
    let segment = try reader.readBytes(envelope.segmentBytes, "envelope.segment")
    try reader.finish("envelope")
    return (envelope.offset, envelope.receivedMilliseconds, segment)
  }

  /// Decodes the envelope from the first ``headerBytes`` of `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `truncated` if there are fewer
  ///   bytes, `newerFormat` for a later version, `limitExceeded` if the segment is too large.
  package static func readHeader(_ bytes: RawSpan) throws(FormatError) -> SegmentEnvelope {
    var prefix = ByteReader(bytes)
    try prefix.readMagic(.envelope, "envelope")
    _ = try prefix.readBytes(headerBytes - prefix.position, "envelope")
    var reader = try Framing.open(
      bytes.extracting(0..<headerBytes), .envelope, version: SegmentFormat.envelopeVersion, "envelope")
    let offset = try reader.readOffset("envelope.offset")
    let received = try reader.readLittleEndian("envelope.receivedMilliseconds", as: UInt64.self)
    let countStart = reader.position
    let byteCount = try reader.readLittleEndian("envelope.segmentBytes", as: UInt64.self)
    guard byteCount <= UInt64(SegmentFrame.bytesMax) else {
      throw reader.fail(
        .limitExceeded, at: countStart, "envelope.segmentBytes",
        expected: "at most \(SegmentFrame.bytesMax)", found: "\(byteCount)")
    }
    return SegmentEnvelope(
      offset: offset, receivedMilliseconds: received == 0 ? nil : received - 1,
      segmentBytes: Int(byteCount))
  }
}
