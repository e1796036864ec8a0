import OperationFormat

/// The fields of a row before its run.
struct LogRunHeader {
  static let version: UInt8 = 3

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

  private init(_ reader: inout ByteReader, at position: Position) throws(FormatError) {
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
    guard count > 0, UInt64(count) <= .max - firstSequence, UInt64(count) <= .max - position.rawValue else {
      throw FormatError(
        .invalid, at: 0, in: "log entry", expected: "sequences and positions of 64 bits",
        found: "\(count) from \(firstSequence) on")
    }
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

  /// Whether an entry is the next one of the lane.
  func isFollowed(by entry: LogEntryHeader) -> Bool {
    entry.zone == zone && entry.replica == replica && entry.epoch == epoch
      && entry.sequence == firstSequence &+ UInt64(count)
  }

  var context: RunContext {
    RunContext(
      replica: ReplicaID(rawValue: UInt128(replica.rawValue)), epoch: epoch, firstSequence: firstSequence,
      zone: LogEntryHeader.anyZone, incarnation: IncarnationID(rawValue: UInt128(incarnation.rawValue)))
  }
}

extension LogRunHeader {
  /// Checks a row's CRC, and reads its fields; the run is at the range.
  static func read(
    _ row: RawSpan, at position: Position
  ) throws(FormatError) -> (header: LogRunHeader, run: Range<Int>) {
    let checked = try LogEntryCodec.checked(row, at: position)
    var reader = ByteReader(checked)
    let header = try LogRunHeader(&reader, at: position)
    return (header, reader.position..<checked.byteCount)
  }
}

extension LogEntryHeader {
  /// Represents the zone, which the row says once.
  static let anyZone = ZoneID(name: "z")

  /// The header of a transaction, with numbers for identities.
  var numbered: TransactionHeader {
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
  init(
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
