/// A segment as it travels (bytes: ``SegmentFormat``).
package enum SegmentFrame {
  /// The most bytes of a segment.
  package static let bytesMax =
    SegmentHeader.headerBytesMax + Limits.segmentPackedBytesMax + ContentHash.byteCount

  /// Returns a segment's bytes.
  ///
  /// - Parameter packedBody: the body, as long as the header says.
  /// - Throws: ``FormatError`` as ``SegmentHeader/validate()``.
  /// - Complexity: O(n)
  package static func encode(
    _ header: SegmentHeader, packedBody: RawSpan
  ) throws(FormatError) -> [UInt8] {
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

  /// Reads a segment that takes all of `bytes`.
  ///
  /// - Returns: its header, and where its packed body lies.
  /// - Throws: ``FormatError`` as ``readHeader(_:)``; `damaged` if the hash does not fit.
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

  /// Reads the header of a segment of which `bytes` is the start, ``SegmentHeader/headerBytesMax`` bytes or all.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the header's checksum does not fit, `newerFormat` for a later
  ///   version, or a codec or key that this one does not know.
  package static func readHeader(_ bytes: RawSpan) throws(FormatError) -> SegmentHeader {
    var reader = ByteReader(bytes)
    return try SegmentHeader.read(from: &reader)
  }
}
