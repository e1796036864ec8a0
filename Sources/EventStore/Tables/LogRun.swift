import OperationFormat

// A row of the log for consecutive entries of one lane; its key is the position of the first:
//
// | bytes | what |
// |---|---|
// | 1 | version, 3; a row of version 1 is one entry, one of version 2 stands for removed ones |
// | varint | zone's number |
// | varint | replica's number |
// | varint | epoch |
// | varint | sequence of the first entry |
// | varint | number of the incarnation of the first base, 0 where there is none |
// | varint | count of entries, from 1 |
// | … | the entries as a run in rows, as in all formats; its identities are numbers of this store |
// | 4 | CRC-32C over the key and all bytes before this, little-endian |

/// A row of the log that holds consecutive entries of one lane.
///
/// An entry takes a few bytes more in a run than what it has of its own: see ``RunEncoder``. In the run, the
/// number of a replica or an incarnation represents its identity, and the zone has no name.
struct LogRun: ~Copyable {
  private var header: LogRunHeader
  private var encoder: RunEncoder
  private var transaction: ByteWriter

  /// A run with more bytes takes no other entry. Six full rows fill a page, and each is read in some 10 µs.
  static let runBytesMax = 640
  /// A larger body has a row of its own.
  static let bodyBytesMax = 128
  /// A row with more bytes takes no other entry, and its entry shares none: its bytes need not be read.
  static let rowBytesMax = 1024
  /// The most bytes of all entries of a row together, decoded. What is written has less than a fourth of it.
  static let decodedBytesMax = 1 << 20

  /// Starts the run of this entry, without it.
  init(startingWith header: LogEntryHeader) { self.init(LogRunHeader(startingWith: header)) }

  /// Reads a row, to append to it.
  ///
  /// - Complexity: O(n) in the size of the row
  init(_ row: RawSpan, at position: Position) throws(FormatError) {
    var reader = try LogRunReader(row, at: position)
    var run = LogRun(startingWith: reader.header)
    try reader.readAll { (entry, body) throws(FormatError) in run.append(entry, body: body) }
    self = run
  }

  /// Starts a run without entries that begins as another one.
  private init(startingWith header: LogRunHeader) {
    var header = header
    header.count = 0
    self.init(header)
  }

  private init(_ header: LogRunHeader) {
    self.header = header
    encoder = RunEncoder(header.context, layout: .rows)
    transaction = ByteWriter()
  }

  /// How many entries it has.
  var count: Int { header.count }

  // MARK: Writing

  /// Whether an entry can share a row: its body is small, and it has nothing that no writer writes.
  static func takes(_ entry: LogEntryHeader, body: RawSpan) -> Bool {
    body.byteCount <= bodyBytesMax && entry.sequence > 0 && (entry.base.map { $0.offset > 0 } ?? true)
      && (entry.parent.map { $0.sequence > 0 } ?? true)
  }

  /// Whether a body repeats enough of the one before it that sharing its row is worth the time: a third of what
  /// follows the timestamp, as when someone types. So no other commit gets slower.
  static func isAlike(_ body: RawSpan, _ before: RawSpan) -> Bool {
    let start = 10
    guard body.byteCount > start, before.byteCount > start else { return false }
    let rest = body.extracting(start...)
    return 3 * sharedPrefix(rest, before.extracting(start...)) >= rest.byteCount
  }

  /// Whether an entry that ``takes(_:body:)`` accepts is the next one of the lane, and there is space for it.
  func accepts(_ entry: LogEntryHeader) -> Bool {
    header.isFollowed(by: entry) && encoder.byteCount <= Self.runBytesMax
  }

  /// Whether there is space for several entries whose bodies have as many bytes together.
  func hasSpace(for bodyBytes: Int) -> Bool { encoder.byteCount + bodyBytes <= Self.runBytesMax }

  /// Appends the next entry.
  mutating func append(_ entry: LogEntryHeader, body: RawSpan) {
    precondition(header.isFollowed(by: entry), "an entry of another lane")
    var bytes = ByteWriter()
    swap(&bytes, &transaction)
    bytes.removeAll()
    entry.numbered.encode(into: &bytes)
    bytes.append(body)
    encoder.append(bytes.span, arrivalDelay: entry.arrivalDelay)
    swap(&bytes, &transaction)
    header.count += 1
  }

  /// Writes the row, which has the position of the first entry as its key, into an empty writer.
  func write(at position: Position, to writer: inout ByteWriter) {
    precondition(count > 0 && writer.count == 0, "a row without entries, or bytes before it")
    header.append(to: &writer)
    let run = encoder.rows
    writer.append(run)
    writer.append(littleEndian: LogEntryCodec.checksum(of: writer.span, at: position))
  }

  // MARK: Reading

  /// Whether a row of the log is one of these, by its first byte.
  static func isRun(_ row: RawSpan) -> Bool {
    row.byteCount > 0 && row.unsafeLoad(fromByteOffset: 0, as: UInt8.self) == LogRunHeader.version
  }

  /// The positions of a row's entries.
  static func positions(of row: RawSpan, at position: Position) throws(FormatError) -> ClosedRange<Position> {
    let header = try LogRunHeader.read(row, at: position).header
    return position...Position(rawValue: position.rawValue + UInt64(header.count - 1))
  }

  /// Whether an entry is the next one of a row's lane, and there is space for it in the row.
  static func accepts(
    _ entry: LogEntryHeader, in row: RawSpan, at position: Position
  ) throws(FormatError) -> Bool {
    let (header, run) = try LogRunHeader.read(row, at: position)
    return header.isFollowed(by: entry) && run.count <= runBytesMax
  }

  /// Splits a row in two: the entries before one, and that and the entries after it.
  ///
  /// - Parameter index: from 1 to the last entry's.
  static func split(
    _ row: RawSpan, at position: Position, before index: Int
  ) throws(FormatError) -> (first: [UInt8], second: [UInt8]) {
    var reader = try LogRunReader(row, at: position)
    precondition(1..<reader.left ~= index, "entry \(index) of \(reader.left)")
    var first = LogRun(startingWith: reader.header)
    var second: LogRun?
    try reader.readAll { (entry, body) throws(FormatError) in
      if first.count < index { return first.append(entry, body: body) }
      if second == nil { second = LogRun(startingWith: entry) }
      second!.append(entry, body: body)
    }
    let after = Position(rawValue: position.rawValue + UInt64(index))
    return (first.row(at: position), second!.row(at: after))
  }

  private func row(at position: Position) -> [UInt8] {
    var writer = ByteWriter()
    write(at: position, to: &writer)
    return writer.bytes
  }
}
