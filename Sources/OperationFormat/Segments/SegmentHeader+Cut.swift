extension SegmentHeader {
  /// Describes a cut: returns the header of the segment with these transactions, before its body is packed.
  ///
  /// Zone, replica and epoch are those of the first transaction, which must exist.
  ///
  /// - Parameters:
  ///   - transactions: the canonical bytes of consecutive transactions of one replica in one zone.
  ///   - incarnation: the incarnation of the target remote log. Bases in other incarnations do not count.
  ///   - version: the version of the header. An earlier one is for a segment that a log has so.
  ///   - baseProof: returns the hash of the chain at an offset of `incarnation`, for a header of version 1 the
  ///     content hash of the segment there. It is called at most once, for the greatest base.
  ///   - previousHash: the content hash of the replica's previous segment in `incarnation`.
  ///   - limit: up to where they have seen the log, if they are offered again because the log has lost them.
  /// - Throws: ``FormatError`` if the bytes are not such transactions; `limitExceeded` if there are too many
  ///   for a segment; and any error of `baseProof`.
  /// - Complexity: O(n) in the size
  package static func describing(
    _ transactions: [[UInt8]], incarnation: IncarnationID, version: UInt8 = newestVersion,
    baseProof: (UInt64) throws -> ContentHash, previousHash: ContentHash, limit: UInt64? = nil
  ) throws -> SegmentHeader {
    var summary = SegmentSummary(incarnation: incarnation)
    var unpackedBytes = 0
    for transaction in transactions {
      try summary.add(transaction.span.bytes, origin: unpackedBytes)
      unpackedBytes += SegmentBody.byteCount(ofTransactionOf: transaction.count)
    }
    guard let first = summary.first, let timestamps = summary.timestamps else {
      preconditionFailure("a cut without transactions")
    }
    let base = min(summary.base, limit ?? .max)
    var header = SegmentHeader(
      version: version, zone: first.zone, incarnation: incarnation, replica: first.replica,
      epoch: first.epoch,
      sequences: first.sequence...summary.lastSequence, base: base,
      baseProof: base == 0 ? .zero : try baseProof(base),
      operationCount: summary.operationCount, timestamps: timestamps, unpackedBytes: UInt64(unpackedBytes),
      packedBytes: UInt64(unpackedBytes), contentHash: contentHash(of: transactions),
      previousHash: previousHash)
    if base < summary.base { header.former = .lost(incarnation, base: summary.base) }
    try header.validate(packedBytesMax: Limits.segmentUnpackedBytesMax)
    return header
  }

  /// The content hash of a segment with these transactions.
  package static func contentHash(of transactions: [[UInt8]]) -> ContentHash {
    var hasher = ContentHasher()
    var prefix = ByteWriter()
    for transaction in transactions {
      prefix.removeAll()
      prefix.append(count: transaction.count)
      hasher.update(prefix.span)
      hasher.update(transaction.span.bytes)
    }
    return hasher.finish()
  }
}
