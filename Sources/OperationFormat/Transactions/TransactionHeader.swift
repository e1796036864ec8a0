/// What of a transaction its context tells too: who made it, where, and what its maker had seen.
///
/// A transaction is its header and then its body (see ``BodyDecoder``). Logs and segments keep the body as it
/// is and the header's fields in their own way.
///
/// | bytes | field |
/// |---|---|
/// | 1 | version: 1 |
/// | 1 | flags: 1 base, 2 parent; the other bits are 0 |
/// | 16 | replica, big-endian |
/// | 1–5 | epoch: varint, at most 2^32 − 1 |
/// | 1–10 | sequence: varint, from 1 |
/// | 1–130 | zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 17–26 | with the flag 1, base: incarnation, 16 bytes big-endian; offset: varint, from 1 |
/// | 18–31 | with the flag 2, parent: replica, 16 bytes big-endian; epoch and sequence as above |
package struct TransactionHeader: Hashable, Sendable {
  package var replica: ReplicaID
  package var epoch: UInt32
  package var sequence: UInt64
  package var zone: ZoneID
  package var base: Base?
  package var parent: TransactionID?

  package init(
    replica: ReplicaID, epoch: UInt32, sequence: UInt64, zone: ZoneID, base: Base? = nil,
    parent: TransactionID? = nil
  ) {
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    self.zone = zone
    self.base = base
    self.parent = parent
  }

  /// The identity of the transaction.
  package var id: TransactionID { TransactionID(replica: replica, epoch: epoch, sequence: sequence) }

  /// Throws unless the header can be encoded.
  package func check() throws(FormatError) {
    try zone.check("transaction.zone")
    try Self.checkIsFromOne(sequence, "transaction.sequence")
    if let base { try Self.checkIsFromOne(base.offset, "transaction.base.offset") }
    if let parent { try Self.checkIsFromOne(parent.sequence, "transaction.parent.sequence") }
  }

  private static func checkIsFromOne(_ number: UInt64, _ subject: StaticString) throws(FormatError) {
    guard number > 0 else {
      throw FormatError(.invalid, at: 0, in: "\(subject)", expected: "1 or more", found: "0")
    }
  }

  /// Appends the encoded header, which must pass ``check()``.
  package func encode(into writer: inout ByteWriter) {
    do throws(FormatError) { try check() } catch { preconditionFailure("\(error)") }
    writer.append(Self.version)
    writer.append((base == nil ? 0 : Self.baseFlag) | (parent == nil ? 0 : Self.parentFlag))
    Self.encode(id, into: &writer)
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    if let base {
      writer.append(bigEndian: base.incarnation.rawValue)
      writer.append(varint: base.offset)
    }
    if let parent { Self.encode(parent, into: &writer) }
  }

  /// Reads a header.
  package static func read(from reader: inout ByteReader) throws(FormatError) -> TransactionHeader {
    let flags = try reader.readVersionAndFlags(
      "transaction", version: version, flagsMask: baseFlag | parentFlag)
    let id = try readID(
      from: &reader, replica: "transaction.replica", epoch: "transaction.epoch",
      sequence: "transaction.sequence")
    let zone = try ZoneID.read(from: &reader, owner: "transaction.zone.owner", name: "transaction.zone.name")
    var header = TransactionHeader(replica: id.replica, epoch: id.epoch, sequence: id.sequence, zone: zone)
    if flags & baseFlag != 0 {
      let incarnation = try IncarnationID.read(from: &reader, "transaction.base.incarnation")
      let offset = try reader.readVarint("transaction.base.offset", in: 1 ... .max)
      header.base = Base(incarnation: incarnation, offset: offset)
    }
    if flags & parentFlag != 0 {
      header.parent = try readID(
        from: &reader, replica: "transaction.parent.replica", epoch: "transaction.parent.epoch",
        sequence: "transaction.parent.sequence")
    }
    return header
  }

  private static let version: UInt8 = 1
  private static let baseFlag: UInt8 = 1
  private static let parentFlag: UInt8 = 2

  private static func encode(_ id: TransactionID, into writer: inout ByteWriter) {
    writer.append(bigEndian: id.replica.rawValue)
    writer.append(varint: UInt64(id.epoch))
    writer.append(varint: id.sequence)
  }

  private static func readID(
    from reader: inout ByteReader, replica: StaticString, epoch: StaticString, sequence: StaticString
  ) throws(FormatError) -> TransactionID {
    TransactionID(
      replica: try ReplicaID.read(from: &reader, replica),
      epoch: UInt32(try reader.readVarint(epoch, in: 0...UInt64(UInt32.max))),
      sequence: try reader.readVarint(sequence, in: 1 ... .max))
  }
}

extension ByteReader {
  /// Reads a version byte, which must be `version`, and flags, of which only those in the mask may be set.
  mutating func readVersionAndFlags(
    _ subject: StaticString, version: UInt8, flagsMask: UInt8
  ) throws(FormatError) -> UInt8 {
    let start = position
    let found = try readUInt8(subject)
    guard found == version else {
      throw fail(
        found > version ? .newerFormat : .invalid, at: start, subject, expected: "version \(version)",
        found: "\(found)")
    }
    let flags = try readUInt8(subject)
    guard flags & ~flagsMask == 0 else {
      throw fail(
        .newerFormat, at: start + 1, subject, expected: "flags among \(flagsMask)", found: "\(flags)")
    }
    return flags
  }
}
