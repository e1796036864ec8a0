/// The unpacked body of a segment: its transactions, each after its byte count (bytes: ``SegmentFormat``).
package enum SegmentBody {
  /// Appends a transaction of at most ``Limits/transactionBytesMax`` bytes.
  package static func append(_ transaction: RawSpan, to writer: inout ByteWriter) {
    precondition(
      1...Limits.transactionBytesMax ~= transaction.byteCount,
      "a transaction of \(transaction.byteCount) bytes")
    writer.append(count: transaction.byteCount)
    writer.append(transaction)
  }

  /// How many bytes a transaction of `count` bytes takes in a body.
  package static func byteCount(ofTransactionOf count: Int) -> Int {
    ByteWriter.varintByteCount(UInt64(count)) + count
  }

  /// Finds the transactions in a body. It does not check their bytes.
  ///
  /// - Complexity: O(count)
  package static func transactions(in body: RawSpan, count: Int) throws(FormatError) -> [Range<Int>] {
    var reader = ByteReader(body)
    // Each takes at least two bytes.
    guard count <= reader.remaining / 2 else {
      throw reader.fail(
        .truncated, at: 0, "segment.body", expected: "\(count) transactions",
        found: "\(reader.remaining) bytes")
    }
    var ranges: [Range<Int>] = []
    ranges.reserveCapacity(count)
    for _ in 0..<count {
      let byteCount = try reader.readCount("segment.transaction", max: Limits.transactionBytesMax)
      ranges.append(try reader.readBytes(byteCount, "segment.transaction"))
    }
    try reader.finish("segment.body")
    return ranges
  }
}
