extension SegmentHeader {
  /// Throws unless a segment may be sent with this header.
  ///
  /// - Throws: ``FormatError`` with `newerFormat` for a codec or a key that this version does not know,
  ///   `limitExceeded` if something is over a limit, `invalid` if fields contradict each other.
  func validate() throws(FormatError) {
    try validate(packedBytesMax: Limits.segmentPackedBytesMax)
  }

  /// Like ``validate()``; but a cut that is not packed yet may be as large as an unpacked body.
  func validate(packedBytesMax: Int) throws(FormatError) {
    guard keyID == 0 else {
      throw Self.fail(
        "segment.keyID", expected: "0, for a segment that is not encrypted", found: keyID, .newerFormat)
    }
    try zone.check("segment.zone")
    try validateContent()
    try validateSizes(packedBytesMax: packedBytesMax)
  }

  private func validateContent() throws(FormatError) {
    let (first, last) = (sequences.lowerBound, sequences.upperBound)
    guard first > 0 else { throw Self.fail("segment.sequences", expected: "1 or more", found: first) }
    guard 1...UInt64(Limits.segmentOperationsMax) ~= operationCount else {
      throw Self.fail(
        "segment.operationCount", expected: "1 to \(Limits.segmentOperationsMax)", found: operationCount,
        operationCount == 0 ? .invalid : .limitExceeded)
    }
    // Each transaction has at least one operation.
    guard last - first < operationCount else {
      throw Self.fail(
        "segment.sequences", expected: "no more transactions than the \(operationCount) operations",
        found: last - first + 1)
    }
    guard (base == 0) == (baseHash == .zero) else {
      throw FormatError(
        .invalid, at: 0, in: "segment.baseHash",
        expected: base == 0 ? "none without a base" : "the hash of the segment at \(base)",
        found: "\(baseHash)")
    }
  }

  private func validateSizes(packedBytesMax: Int) throws(FormatError) {
    guard unpackedBytes <= UInt64(Limits.segmentUnpackedBytesMax) else {
      throw Self.fail(
        "segment.unpackedBytes", expected: "at most \(Limits.segmentUnpackedBytesMax)", found: unpackedBytes,
        .limitExceeded)
    }
    guard packedBytes <= UInt64(packedBytesMax) else {
      throw Self.fail(
        "segment.packedBytes", expected: "at most \(packedBytesMax)", found: packedBytes, .limitExceeded)
    }
    guard unpackedBytes / 2 >= transactionCount else {
      throw Self.fail(
        "segment.unpackedBytes", expected: "room for \(transactionCount) transactions", found: unpackedBytes)
    }
    switch codec {
    case .none:
      guard packedBytes == unpackedBytes else {
        throw Self.fail("segment.packedBytes", expected: "\(unpackedBytes), as unpacked", found: packedBytes)
      }
    case .zstandard, .shared:
      guard packedBytes < unpackedBytes else {
        throw Self.fail(
          "segment.packedBytes", expected: "fewer than the \(unpackedBytes) unpacked", found: packedBytes)
      }
      // A block of a Zstandard frame gives at most 128 KiB and takes at least 4 bytes (RFC 8878, 3.1.1.2). The
      // unpacker checks what the frame of a run says.
      guard codec == .shared || unpackedBytes >> 15 <= packedBytes else {
        throw Self.fail(
          "segment.unpackedBytes", expected: "what \(packedBytes) bytes can be unpacked to",
          found: unpackedBytes)
      }
    default:
      throw Self.fail(
        "segment.codec", expected: "0 to 2", found: UInt64(codec.rawValue), .newerFormat)
    }
  }

  private static func fail(
    _ subject: String, expected: String, found: UInt64, _ code: FormatError.Code = .invalid
  ) -> FormatError {
    FormatError(code, at: 0, in: subject, expected: expected, found: "\(found)")
  }
}
