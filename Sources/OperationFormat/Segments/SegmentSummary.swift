/// Computes the fields of a segment's header that follow from its transactions.
///
/// Use it to describe a cut, and to check the transactions of a segment against its header. Add the
/// transactions in order.
package struct SegmentSummary: Sendable {
  /// The incarnation whose offsets count as a base.
  let incarnation: IncarnationID
  /// The header of the first transaction; nil before it.
  private(set) var first: TransactionHeader?
  /// The sequence of the last transaction; 0 before the first.
  private(set) var lastSequence: UInt64 = 0
  /// The greatest offset of ``incarnation`` that any of them had seen; 0 if none had seen any.
  private(set) var base: UInt64 = 0
  private(set) var operationCount: UInt64 = 0
  /// The least and the greatest timestamp; nil before the first transaction.
  private(set) var timestamps: ClosedRange<Timestamp>?

  /// The work of folding them: see ``FoldWork``.
  package var steps: Int { work.steps }

  private var decoder = BodyDecoder()
  private var work = FoldWork()

  package init(incarnation: IncarnationID) {
    self.incarnation = incarnation
  }

  /// Adds the next transaction, in its canonical bytes.
  ///
  /// - Parameter origin: the offset of `transaction` in the whole that is decoded; it is added to the offsets
  ///   of errors.
  /// - Throws: ``FormatError`` if the bytes are not a transaction, or not the next one of the same replica,
  ///   epoch and zone; `limitExceeded` if the segment then has too many operations.
  /// - Complexity: O(n) in the size
  package mutating func add(_ transaction: RawSpan, origin: Int = 0) throws(FormatError) {
    var reader = ByteReader(transaction, origin: origin)
    let header = try TransactionHeader.read(from: &reader)
    let body = reader.bytes(in: reader.position..<reader.end)
    try decoder.parse(body, origin: origin + reader.position)
    try decoder.checkMoves(in: header.zone, body, origin: origin + reader.position)
    if let first {
      try first.zone.checkIsSame(header.zone, at: origin, "transaction.zone")
      try checkIsSame(header.replica, first.replica, at: origin, "transaction.replica")
      try checkIsSame(header.epoch, first.epoch, at: origin, "transaction.epoch")
      guard header.sequence - 1 == lastSequence else {
        throw FormatError(
          .invalid, at: origin, in: "transaction.sequence", expected: "the one after \(lastSequence)",
          found: "\(header.sequence)")
      }
    } else {
      first = header
    }
    lastSequence = header.sequence
    if let seen = header.base, seen.incarnation == incarnation { base = max(base, seen.offset) }
    operationCount += UInt64(decoder.operations.count)
    guard operationCount <= UInt64(Limits.segmentOperationsMax) else {
      throw FormatError(
        .limitExceeded, at: origin, in: "segment.operationCount",
        expected: "at most \(Limits.segmentOperationsMax)", found: "\(operationCount)")
    }
    work.add(decoder, body)
    let least = min(timestamps?.lowerBound ?? decoder.timestamp, decoder.timestamp)
    let greatest = max(timestamps?.upperBound ?? decoder.timestamp, decoder.timestamp)
    timestamps = least...greatest
  }
}

/// Throws `.invalid` unless a number or an identity has the expected value.
package func checkIsSame<T: Equatable>(
  _ found: T, _ expected: T, at offset: Int, _ subject: StaticString
) throws(FormatError) {
  guard found == expected else {
    throw FormatError(.invalid, at: offset, in: "\(subject)", expected: "\(expected)", found: "\(found)")
  }
}

extension ZoneID {
  /// Throws `.invalid` unless both have the same name. Only bytes of an earlier format state an owner, and it
  /// depends on who wrote them: the owner is that of the log.
  package func checkHasName(
    of found: ZoneID, at offset: Int, _ subject: StaticString
  ) throws(FormatError) {
    guard found.name == name else {
      throw FormatError(
        .invalid, at: offset, in: "\(subject)", expected: "the expected zone", found: "another zone")
    }
  }

  /// Throws `.invalid` unless `found` is this zone. The error contains no zone's name, because names are user
  /// data.
  package func checkIsSame(_ found: ZoneID, at offset: Int, _ subject: StaticString) throws(FormatError) {
    guard found == self else {
      throw FormatError(
        .invalid, at: offset, in: "\(subject)", expected: "the expected zone", found: "another zone")
    }
  }
}

extension SegmentHeader {
  /// Throws `.invalid` unless the summary matches this header.
  package func check(_ summary: SegmentSummary) throws(FormatError) {
    guard let first = summary.first, let found = summary.timestamps else {
      preconditionFailure("a summary without transactions")
    }
    try zone.checkIsSame(first.zone, at: 0, "segment.zone")
    try checkIsSame(summary.incarnation, incarnation, at: 0, "segment.incarnation")
    try checkIsSame(first.replica, replica, at: 0, "segment.replica")
    try checkIsSame(first.epoch, epoch, at: 0, "segment.epoch")
    try checkIsSame(first.sequence, sequences.lowerBound, at: 0, "segment.firstSequence")
    try checkIsSame(summary.lastSequence, sequences.upperBound, at: 0, "segment.lastSequence")
    // What is offered again to its log has seen that up to the header's base: see `FormerPlace`.
    try checkIsSame(summary.base, limit == nil ? base : former?.base ?? base, at: 0, "segment.base")
    try checkIsSame(summary.operationCount, operationCount, at: 0, "segment.operationCount")
    try checkIsSame(found.lowerBound, timestamps.lowerBound, at: 0, "segment.leastTimestamp")
    try checkIsSame(found.upperBound, timestamps.upperBound, at: 0, "segment.greatestTimestamp")
  }
}
