/// A segment as it is sent (bytes: ``SegmentFormat``).
package enum SegmentFrame {
  /// The most bytes of a segment.
  static let bytesMax =
    SegmentHeader.headerBytesMax + Limits.segmentSealedBytesMax + 2 * SegmentFormat.signatureBytes
    + ContentHash.byteCount

  /// Returns a segment's bytes.
  ///
  /// - Parameters:
  ///   - packedBody: the body, with the size that the header says.
  ///   - signatures: the signature of the header's device, then that of the former place's, as far as there
  ///     are such devices.
  /// - Throws: ``FormatError`` as ``SegmentHeader/validate()``.
  /// - Complexity: O(n)
  package static func encode(
    _ header: SegmentHeader, packedBody: RawSpan, signatures: [UInt8] = []
  ) throws(FormatError) -> [UInt8] {
    precondition(
      UInt64(packedBody.byteCount) == header.packedBytes, "a body of \(packedBody.byteCount) bytes")
    precondition(signatures.count == header.signatureBytes, "signatures of \(signatures.count) bytes")
    var writer = ByteWriter()
    writer.reserve(
      SegmentHeader.headerBytesMax + packedBody.byteCount + signatures.count + ContentHash.byteCount)
    try header.encode(into: &writer)
    writer.append(packedBody)
    writer.append(signatures)
    let hash = ContentHash(of: writer.span)
    hash.write(to: &writer)
    return writer.bytes
  }

  /// Decodes the segment that fills `bytes`. It checks no signature.
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
    let signatures = try reader.readBytes(header.signatureBytes, "segment.signatures")
    let stored = try ContentHash.read(from: &reader, "segment.hash")
    try reader.finish("segment")
    guard stored == ContentHash(of: bytes.extracting(0..<signatures.upperBound)) else {
      throw reader.fail(
        .damaged, at: signatures.upperBound, "segment.hash", expected: "the hash of the bytes before it",
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

extension SegmentHeader {
  /// The size of the signatures after the body.
  fileprivate var signatureBytes: Int {
    ((device == nil ? 0 : 1) + (former?.device == nil ? 0 : 1)) * SegmentFormat.signatureBytes
  }
}
