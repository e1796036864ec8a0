import OperationFormat

// A row of the log for consecutive entries of one lane; its key is the position of the first:
//
// | bytes | what |
// |---|---|
// | 1 | version, 2; a row of version 1 is one entry |
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

  /// A row with more bytes takes no other entry: so it needs no page of its own, and is read in some 20 µs.
  private static let bytesMax = 1400
  /// A larger body has a row of its own.
  private static let bodyBytesMax = 512

  /// Starts the run of this entry, without it.
  init(startingWith header: LogEntryHeader) { self.init(LogRunHeader(startingWith: header)) }

  /// Reads a row, to append to it.
  ///
  /// - Complexity: O(n) in the size of the row
  init(_ row: RawSpan, at position: Position) throws(FormatError) {
    self = try Self.part(of: row, at: position, 0..<Int.max)
  }

  /// Reads some entries of a row into a run of their own.
  private static func part(
    of row: RawSpan, at position: Position, _ entries: Range<Int>
  ) throws(FormatError) -> LogRun {
    let (whole, run) = try readHeader(row, at: position)
    let entries = entries.clamped(to: 0..<whole.count)
    var decoder = whole.decoder(row.extracting(run))
    var bytes = ByteWriter()
    for _ in 0..<entries.lowerBound { _ = try decoder.next(into: &bytes) }
    var header = whole
    header.firstSequence += UInt64(entries.lowerBound)
    header.count = entries.count
    var part = LogRun(header)
    for _ in entries {
      bytes.removeAll()
      let delay = try decoder.next(into: &bytes)
      part.encoder.append(bytes.span, arrivalDelay: delay)
    }
    if entries.upperBound == whole.count { try decoder.finish() }
    return part
  }

  private init(_ header: LogRunHeader) {
    self.header = header
    encoder = RunEncoder(header.context, layout: .rows)
  }

  /// How many entries it has.
  var count: Int { header.count }

  // MARK: Writing

  /// Whether an entry is the next one of the lane, and there is space for it.
  func accepts(_ entry: LogEntryHeader, body: RawSpan) -> Bool {
    guard entry.zone == header.zone, entry.replica == header.replica, entry.epoch == header.epoch,
      entry.sequence == header.firstSequence + UInt64(count)
    else { return false }
    return count == 0 || encoder.byteCount <= Self.bytesMax && body.byteCount <= Self.bodyBytesMax
  }

  /// Appends the next entry.
  mutating func append(_ entry: LogEntryHeader, body: RawSpan) {
    precondition(accepts(entry, body: body), "an entry of another lane, or a full row")
    var transaction = ByteWriter()
    entry.numbered.encode(into: &transaction)
    transaction.append(body)
    encoder.append(transaction.span, arrivalDelay: entry.arrivalDelay)
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

  /// How many entries a row holds.
  static func count(in row: RawSpan, at position: Position) throws(FormatError) -> Int {
    try readHeader(row, at: position).header.count
  }

  /// Reads one entry of a row.
  ///
  /// - Parameters:
  ///   - index: which one, from 0; there must be one.
  ///   - body: gets the body of its transaction.
  /// - Complexity: O(n) in the size of the row
  static func read(
    _ index: Int, of row: RawSpan, at position: Position, into body: inout ByteWriter
  ) throws(FormatError) -> LogEntryHeader {
    let (header, run) = try readHeader(row, at: position)
    precondition(0..<header.count ~= index, "entry \(index) of \(header.count)")
    var decoder = header.decoder(row.extracting(run))
    var bytes = ByteWriter()
    var delay: Int64 = 0
    for _ in 0...index {
      bytes.removeAll()
      delay = try decoder.next(into: &bytes)
    }
    var reader = ByteReader(bytes.span)
    let transaction = try TransactionHeader.read(from: &reader)
    body.append(reader.bytes(in: reader.position..<reader.end))
    return try LogEntryHeader(numbered: transaction, zone: header.zone, arrivalDelay: delay)
  }

  /// Splits a row in two: the entries before one, and that and the entries after it.
  ///
  /// - Parameter index: from 1 to the last entry's.
  static func split(
    _ row: RawSpan, at position: Position, before index: Int
  ) throws(FormatError) -> (first: [UInt8], second: [UInt8]) {
    let count = try count(in: row, at: position)
    precondition(1..<count ~= index, "entry \(index) of \(count)")
    let first = try part(of: row, at: position, 0..<index)
    let second = try part(of: row, at: position, index..<count)
    return (first.row(at: position), second.row(at: Position(rawValue: position.rawValue + UInt64(index))))
  }

  private func row(at position: Position) -> [UInt8] {
    var writer = ByteWriter()
    write(at: position, to: &writer)
    return writer.bytes
  }

  /// Checks a row's CRC, and reads what is before its run, which is at the range.
  private static func readHeader(
    _ row: RawSpan, at position: Position
  ) throws(FormatError) -> (header: LogRunHeader, run: Range<Int>) {
    let checked = try LogEntryCodec.checked(row, at: position)
    var reader = ByteReader(checked)
    let header = try LogRunHeader(&reader)
    return (header, reader.position..<checked.byteCount)
  }
}

/// The fields of a row before its run.
private struct LogRunHeader {
  static let version: UInt8 = 2

  var zone: ZoneNumber
  var replica: ReplicaNumber
  var epoch: UInt32
  var firstSequence: UInt64
  var incarnation: IncarnationNumber
  var count = 0

  /// The fields of a row that starts with an entry.
  init(startingWith header: LogEntryHeader) {
    (zone, replica, epoch) = (header.zone, header.replica, header.epoch)
    (firstSequence, incarnation) = (header.sequence, header.baseIncarnation)
  }

  init(_ reader: inout ByteReader) throws(FormatError) {
    let version = try reader.readUInt8("row")
    guard version == Self.version else {
      throw FormatError(
        .newerFormat, at: 0, in: "log entry", expected: "version \(Self.version)", found: "\(version)")
    }
    zone = ZoneNumber(rawValue: try reader.readUInt32Varint("zone"))
    replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("replica"))
    epoch = try reader.readUInt32Varint("epoch")
    firstSequence = try reader.readVarint("row")
    incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("base"))
    // Each takes more than a byte.
    count = try reader.readCount("row")
  }

  func append(to writer: inout ByteWriter) {
    writer.append(Self.version)
    writer.append(varint: UInt64(zone.rawValue))
    writer.append(varint: UInt64(replica.rawValue))
    writer.append(varint: UInt64(epoch))
    writer.append(varint: firstSequence)
    writer.append(varint: UInt64(incarnation.rawValue))
    writer.append(count: count)
  }

  var context: RunContext {
    RunContext(
      replica: ReplicaID(rawValue: UInt128(replica.rawValue)), epoch: epoch, firstSequence: firstSequence,
      zone: LogEntryHeader.anyZone, incarnation: IncarnationID(rawValue: UInt128(incarnation.rawValue)))
  }

  @_lifetime(copy run)
  func decoder(_ run: RawSpan) -> RunDecoder {
    // The checksum has shown that an encoder wrote these bytes, so they are no bomb.
    RunDecoder(rows: run, context, bytesMax: .max)
  }
}

extension LogEntryHeader {
  /// Represents the zone, which the row says once.
  fileprivate static let anyZone = ZoneID(name: "z")

  /// The header of a transaction, with numbers for identities.
  fileprivate var numbered: TransactionHeader {
    TransactionHeader(
      replica: ReplicaID(rawValue: UInt128(replica.rawValue)), epoch: epoch, sequence: sequence,
      zone: Self.anyZone,
      base: base.map {
        Base(incarnation: IncarnationID(rawValue: UInt128($0.incarnation.rawValue)), offset: $0.offset)
      },
      parent: parent.map {
        TransactionID(
          replica: ReplicaID(rawValue: UInt128($0.replica.rawValue)), epoch: $0.epoch, sequence: $0.sequence)
      })
  }

  /// Takes the numbers out of such a header.
  fileprivate init(
    numbered header: TransactionHeader, zone: ZoneNumber, arrivalDelay: Int64
  ) throws(FormatError) {
    let replica = ReplicaNumber(rawValue: try Self.number(header.replica.rawValue))
    var base: BaseNumbers?
    if let found = header.base {
      base = (IncarnationNumber(rawValue: try Self.number(found.incarnation.rawValue)), found.offset)
    }
    var parent: LaneParent?
    if let found = header.parent {
      parent = (ReplicaNumber(rawValue: try Self.number(found.replica.rawValue)), found.epoch, found.sequence)
    }
    self.init(
      zone: zone, replica: replica, epoch: header.epoch, sequence: header.sequence, base: base,
      parent: parent, arrivalDelay: arrivalDelay)
  }

  private static func number(_ identity: UInt128) throws(FormatError) -> UInt32 {
    guard let number = UInt32(exactly: identity) else {
      throw FormatError(
        .damaged, at: 0, in: "log entry", expected: "a number of an identity", found: "a greater one")
    }
    return number
  }
}
