import OperationFormat

/// Reads the entries of a row one after another.
struct LogRunReader: ~Copyable, ~Escapable {
  let header: LogRunHeader
  private var decoder: RunDecoder
  private var transaction = ByteWriter()
  private var index = 0

  /// Checks a row's CRC, and reads what is before its run.
  @_lifetime(copy row)
  init(_ row: RawSpan, at position: Position) throws(FormatError) {
    let (header, run) = try LogRunHeader.read(row, at: position)
    self.header = header
    decoder = RunDecoder(rows: row.extracting(run), header.context, bytesMax: LogRun.decodedBytesMax)
  }

  /// How many entries are left.
  var left: Int { header.count - index }

  /// Reads the entries that are left, and checks that the row ends after them.
  mutating func readAll(
    _ body: (LogEntryHeader, RawSpan) throws(FormatError) -> Void
  ) throws(FormatError) {
    var bytes = ByteWriter()
    while let entry = try next(into: &bytes) {
      try body(entry, bytes.span)
      bytes.removeAll()
    }
  }

  /// Reads the next entry, and appends the body of its transaction; nil after the last one.
  ///
  /// - Complexity: O(n) in the size of the entry
  mutating func next(into body: inout ByteWriter) throws(FormatError) -> LogEntryHeader? {
    guard left > 0 else {
      try decoder.finish()
      return nil
    }
    transaction.removeAll()
    let delay = try decoder.next(into: &transaction)
    var reader = ByteReader(transaction.span)
    let entry = try LogEntryHeader(
      numbered: try TransactionHeader.read(from: &reader), zone: header.zone, arrivalDelay: delay)
    guard entry.replica == header.replica, entry.epoch == header.epoch,
      entry.sequence == header.firstSequence + UInt64(index)
    else {
      throw FormatError(
        .invalid, at: 0, in: "log entry", expected: "sequence \(header.firstSequence + UInt64(index))",
        found: "another transaction")
    }
    body.append(reader.bytes(in: reader.position..<reader.end))
    index += 1
    return entry
  }
}
