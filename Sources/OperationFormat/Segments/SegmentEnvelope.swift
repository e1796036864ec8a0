/// What a remote log that keeps files or objects writes in front of a segment: its place, and when it came.
/// Bytes: ``SegmentFormat``.
package struct SegmentEnvelope: Hashable, Sendable {
  /// How many bytes lie in front of the segment: so many from the start of the file tell all of these.
  package static let headerBytes = 4 + 2 + 3 * 8 + 4
  /// The most bytes of a segment and its envelope.
  package static let bytesMax = headerBytes + SegmentFrame.bytesMax

  /// The segment's place in its zone's log, from 1.
  package var offset: UInt64
  /// When the remote first received it, in milliseconds since 1970; nil where the remote keeps no such times.
  package var receivedMilliseconds: UInt64?
  /// The size of the segment after it.
  package var segmentBytes: Int

  /// Returns a segment in its envelope.
  ///
  /// - Parameters:
  ///   - offset: its place in its zone's log, from 1.
  ///   - receivedMilliseconds: when it came, in milliseconds since 1970, if that is kept; not the greatest number.
  ///   - segment: a whole segment's bytes. They are not looked at.
  /// - Complexity: O(n)
  package static func encode(
    offset: UInt64, receivedMilliseconds: UInt64?, segment: RawSpan
  ) -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    precondition(receivedMilliseconds != .max, "a time that is not one")
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

  /// Reads an envelope that takes all of `bytes`. The segment in it is not looked at.
  ///
  /// - Returns: its offset, when it came, and where the segment lies in `bytes`.
  /// - Throws: ``FormatError`` as ``readHeader(_:)``; `truncated` if the segment is not whole, `trailingBytes` if
  ///   something follows it.
  package static func read(
    _ bytes: RawSpan
  ) throws(FormatError) -> (offset: UInt64, receivedMilliseconds: UInt64?, segment: Range<Int>) {
    let envelope = try readHeader(bytes)
    var reader = ByteReader(bytes, at: headerBytes)
    let segment = try reader.readBytes(envelope.segmentBytes, "envelope.segment")
    try reader.finish("envelope")
    return (envelope.offset, envelope.receivedMilliseconds, segment)
  }

  /// Reads what lies in front of the segment, from the first ``headerBytes`` of `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not fit, `truncated` if there are fewer bytes,
  ///   `newerFormat` for a later version, `limitExceeded` for a segment larger than one may be.
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
