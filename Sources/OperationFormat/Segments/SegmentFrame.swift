/// A segment as it is sent (bytes: ``SegmentFormat``).
package enum SegmentFrame {
  /// The most bytes of a segment.
  static let bytesMax =
    SegmentHeader.headerBytesMax + Limits.segmentPackedBytesMax + ContentHash.byteCount

  /// Returns a segment's bytes.
  ///
  /// - Parameter packedBody: the body, with the size that the header says.
  /// - Throws: ``FormatError`` as ``SegmentHeader/validate()``.
  /// - Complexity: O(n)
  package static func encode(_ header: SegmentHeader, packedBody: RawSpan) throws(FormatError) -> [UInt8] {
    precondition(
      UInt64(packedBody.byteCount) == header.packedBytes, "a body of \(packedBody.byteCount) bytes")
    var writer = ByteWriter()
    writer.reserve(
      SegmentHeader.headerBytesMax + packedBody.byteCount + ContentHash.byteCount)
    try header.encode(into: &writer)
    writer.append(packedBody)
    let hash = ContentHash(of: writer.span)
    hash.write(to: &writer)
    return writer.bytes
  }

  /// Decodes the segment that fills `bytes`.
  ///
  /// - Returns: its header, and the range of its packed body.
  /// - Throws: ``FormatError`` as ``readHeader(_:)``; `damaged` if the hash does not match.
  /// - Complexity: O(n)
  package static func read(
    _ bytes: RawSpan
  ) throws(FormatError) -> (header: SegmentHeader, body: Range<Int>) {
    var reader = ByteReader(bytes)
    let header = try SegmentHeader.read(from: &reader)
    let body = try reader.readBytes(Int(header.packedBytes), "segment.body")
    let stored = try ContentHash.read(from: &reader, "segment.hash")
    try reader.finish("segment")
    guard stored == ContentHash(of: bytes.extracting(0..<body.upperBound)) else {
      throw reader.fail(
        .damaged, at: body.upperBound, "segment.hash", expected: "the hash of the bytes before it",
        found: "another")
    }
    return (header, body)
  }

  /// Decodes the header of the segment that starts with `bytes`: ``SegmentHeader/headerBytesMax`` bytes, or
  /// the whole segment.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the header's checksum does not match, `newerFormat` for a
  ///   later version, or a codec or key that this version does not know.
  package static func readHeader(_ bytes: RawSpan) throws(FormatError) -> SegmentHeader {
    var reader = ByteReader(bytes)
    return try SegmentHeader.read(from: &reader)
  }
}
