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
    precondition(1...Self.newestVersion ~= version, "a header of version \(version)")
    precondition(version > 1 || (!isSealed && device == nil && former == nil), "flags of version 2")
    guard isSealed == (keyID > 0) else {
      throw Self.fail(
        "segment.keyID",
        expected: isSealed ? "1 or more, for a sealed body" : "0, for a body that is not sealed",
        found: UInt64(keyID), version == 1 ? .newerFormat : .invalid)
    }
    try zone.check("segment.zone")
    try validateStatement()
    if isSealed { return try validateSealed() }
    try validateContent()
    try validateSizes(packedBytesMax: packedBytesMax)
  }

  /// Checks what is outside a sealed body too.
  private func validateStatement() throws(FormatError) {
    guard version == 1 || zone.owner.byteCount == 0 else {
      throw FormatError(
        .invalid, at: 0, in: "segment.zone.owner", expected: "none: the owner of the log", found: "one")
    }
    guard sequences.lowerBound > 0 else {
      throw Self.fail("segment.sequences", expected: "1 or more", found: sequences.lowerBound)
    }
    guard (base == 0) == (baseProof == .zero) else {
      throw FormatError(
        .invalid, at: 0, in: "segment.baseProof",
        expected: base == 0 ? "none without a base" : "the hash of the log at \(base)", found: "\(baseProof)")
    }
  }

  private func validateSealed() throws(FormatError) {
    // Each transaction has at least one operation.
    guard sequences.upperBound - sequences.lowerBound < UInt64(Limits.segmentOperationsMax) else {
      throw Self.fail(
        "segment.sequences", expected: "at most \(Limits.segmentOperationsMax) transactions",
        found: sequences.upperBound - sequences.lowerBound, .limitExceeded)
    }
    guard packedBytes <= UInt64(Limits.segmentSealedBytesMax) else {
      throw Self.fail(
        "segment.packedBytes", expected: "at most \(Limits.segmentSealedBytesMax)", found: packedBytes,
        .limitExceeded)
    }
    guard [.none, .zstandard, .shared].contains(codec) else {
      throw Self.fail("segment.codec", expected: "0 to 2", found: UInt64(codec.rawValue), .newerFormat)
    }
  }

  private func validateContent() throws(FormatError) {
    let (first, last) = (sequences.lowerBound, sequences.upperBound)
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
