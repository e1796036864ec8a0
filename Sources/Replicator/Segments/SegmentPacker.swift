package import EventStore
package import OperationFormat

/// Packs a cut into a segment, and unpacks a segment into transactions.
package enum SegmentPacker {
  /// Whether an error of ``unpack(_:)`` says that a segment which arrived whole is malformed for every reader. A
  /// later version may understand what this one does not, and a key, a signature or memory may come.
  static func isMalformed(_ error: FormatError) -> Bool {
    ![.newerFormat, .outOfMemory, .keyUnknown, .signatureMissing].contains(error.code)
  }

  /// Packs a cut.
  ///
  /// The codec of a stored header is kept as long as it makes the body smaller. Sizes and codec of the result
  /// may differ from the cut's header, if the library packs differently than before: then the caller stores
  /// the header again. Sequences and content hash, which name the segment, never differ.
  ///
  /// - Parameter cut: the cut.
  /// - Throws: ``FormatError`` with `limitExceeded` if the body is too large, even packed; `damaged` if the
  ///   header describes other transactions, as one that was stored may after damage.
  /// - Complexity: O(n) in the size
  package static func pack(_ cut: SegmentCut) throws(FormatError) -> PackedSegment {
    var body = ByteWriter()
    body.reserve(
      cut.transactions.reduce(0) { $0 + SegmentBody.byteCount(ofTransactionOf: $1.count) })
    for transaction in cut.transactions { SegmentBody.append(transaction.span.bytes, to: &body) }
    guard UInt64(body.count) == cut.header.unpackedBytes,
      ContentHash(of: body.span) == cut.header.contentHash
    else {
      throw FormatError(
        .damaged, at: 0, in: "cut.contentHash", expected: "the hash of the transactions that were cut",
        found: "another")
    }
    var header = cut.header
    for codec in cut.isStored ? [header.codec] : [.shared, .zstandard] {
      guard let packed = pack(body.span, cut, codec) else { continue }
      header.codec = codec
      header.packedBytes = UInt64(packed.count)
      let bytes = try SegmentFrame.encode(header, packedBody: packed.span.bytes)
      return PackedSegment(
        header: header, bytes: bytes, formerReceivedMilliseconds: cut.formerReceivedMilliseconds)
    }
    header.codec = .none
    header.packedBytes = header.unpackedBytes
    let bytes = try SegmentFrame.encode(header, packedBody: body.span)
    return PackedSegment(
      header: header, bytes: bytes, formerReceivedMilliseconds: cut.formerReceivedMilliseconds)
  }

  /// The packed body; nil if it would not be smaller.
  private static func pack(
    _ body: RawSpan, _ cut: SegmentCut, _ codec: SegmentHeader.Codec
  ) -> [UInt8]? {
    switch codec {
    case .shared:
      var encoder = RunEncoder(RunContext(cut.header), layout: .columns)
      for transaction in cut.transactions { encoder.append(transaction.span.bytes) }
      var run = ByteWriter()
      let ends = encoder.appendColumns(to: &run)
      // A run of one transaction that is written as it is may be larger; a reader refuses that.
      guard run.count <= body.byteCount else { return nil }
      return Zstandard.pack(run.span, endingBlocksAt: ends, bytesMax: body.byteCount - 1)
    case .zstandard: return Zstandard.pack(body, bytesMax: body.byteCount - 1)
    default: return nil
    }
  }

  /// Unpacks a segment, and checks everything that its header says.
  ///
  /// - Parameter bytes: a whole segment, and nothing after it.
  /// - Throws: ``FormatError`` for anything else: `keyUnknown` if the body is sealed, `signatureMissing` if it
  ///   is sealed and not signed; `damaged` if a checksum or hash is wrong, `invalid`
  ///   if a transaction does not match the header, `newerFormat` for what a later version may understand. In
  ///   errors about transactions, offsets count from the start of the unpacked body.
  /// - Complexity: O(n) in the size; no more memory than the header's sizes, which are limited
  package static func unpack(_ bytes: [UInt8]) throws(FormatError) -> UnpackedSegment {
    let span = bytes.span
    let (header, packedBody) = try SegmentFrame.read(span.bytes)
    if header.isSealed {
      // A sealed zone has only signed segments: anybody who has the key could seal.
      guard header.device != nil else {
        throw FormatError(
          .signatureMissing, at: 0, in: "segment.device", expected: "a signed segment, as the body is sealed",
          found: "one without a signature")
      }
      throw FormatError(
        .keyUnknown, at: 0, in: "segment.keyID", expected: "a key that is here", found: "key \(header.keyID)")
    }
    let byteCount = Int(header.unpackedBytes)
    switch header.codec {
    case .shared:
      let run = try Zstandard.unpack(
        span.bytes.extracting(packedBody), sizes: 1...byteCount, origin: packedBody.lowerBound, "segment.body"
      )
      let body = try body(ofRun: run, header)
      return try unpack(body.span, header)
    case .zstandard:
      let body = try Zstandard.unpack(
        span.bytes.extracting(packedBody), sizes: byteCount...byteCount, origin: packedBody.lowerBound,
        "segment.body")
      return try unpack(body.span.bytes, header)
    default:
      return try unpack(span.bytes.extracting(packedBody), header)
    }
  }

  /// Decodes a run in columns to an unpacked body, which is never larger than the header says.
  private static func body(ofRun run: [UInt8], _ header: SegmentHeader) throws(FormatError) -> ByteWriter {
    let byteCount = Int(header.unpackedBytes)
    var body = ByteWriter()
    body.reserve(min(byteCount, 32 * run.count))
    let span = run.span
    var decoder = try RunDecoder(columns: span.bytes, RunContext(header), bytesMax: byteCount)
    var transaction = ByteWriter()
    for _ in 0..<header.transactionCount {
      transaction.removeAll()
      _ = try decoder.next(into: &transaction)
      body.append(counted: transaction)
    }
    try decoder.finish()
    guard body.count == byteCount else {
      throw FormatError(
        .invalid, at: 0, in: "segment.unpackedBytes", expected: "\(byteCount)", found: "\(body.count)")
    }
    return body
  }

  private static func unpack(
    _ body: RawSpan, _ header: SegmentHeader
  ) throws(FormatError) -> UnpackedSegment {
    let hash = ContentHash(of: body)
    guard hash == header.contentHash else {
      throw FormatError(
        .damaged, at: 0, in: "segment.contentHash", expected: "the hash of the unpacked body",
        found: "another")
    }
    let ranges = try SegmentBody.transactions(in: body, count: Int(header.transactionCount))
    var summary = SegmentSummary(incarnation: header.incarnation)
    var transactions: [[UInt8]] = []
    transactions.reserveCapacity(ranges.count)
    for range in ranges {
      let transaction = body.extracting(range)
      try summary.add(transaction, origin: range.lowerBound)
      transactions.append(transaction.withUnsafeBytes { Array($0) })
    }
    try header.check(summary)
    return UnpackedSegment(header: header, transactions: transactions, steps: summary.steps)
  }
}

extension RunContext {
  /// The context of the run in a segment.
  init(_ header: SegmentHeader) {
    self.init(
      replica: header.replica, epoch: header.epoch, firstSequence: header.sequences.lowerBound,
      zone: header.zone, incarnation: header.incarnation)
  }
}
