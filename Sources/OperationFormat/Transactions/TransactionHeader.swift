/// The first part of a transaction: who made it, in which zone, and what its maker had seen (bytes:
/// ``TransactionFormat``).
///
/// Logs and segments keep the body as it is, and store the header's fields in their own way, because their
/// context repeats most of them.
package struct TransactionHeader: Hashable, Sendable {
  package var replica: ReplicaID
  package var epoch: UInt32
  package var sequence: UInt64
  /// The zone. Its bytes do not state the owner, which is the owner of the log that has the transaction: a
  /// header that was read has none, except one that an earlier program wrote.
  package var zone: ZoneID
  /// Whether the bytes state the zone's owner, as an earlier program wrote it.
  package var statesOwner = false
  package var base: Base?
  package var parent: TransactionID?

  package init(
    replica: ReplicaID, epoch: UInt32, sequence: UInt64, zone: ZoneID, statesOwner: Bool = false,
    base: Base? = nil, parent: TransactionID? = nil
  ) {
    self.statesOwner = statesOwner
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
  func check() throws(FormatError) {
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
    writer.append(TransactionFormat.headerVersion)
    writer.append(
      (base == nil ? 0 : TransactionFormat.baseFlag) | (parent == nil ? 0 : TransactionFormat.parentFlag))
    Self.encode(id, into: &writer)
    writer.append(name: statesOwner ? zone.owner : "")
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
      "transaction", version: TransactionFormat.headerVersion, flagsMask: TransactionFormat.headerFlagsMask)
    let id = try readID(
      from: &reader, replica: "transaction.replica", epoch: "transaction.epoch",
      sequence: "transaction.sequence")
    let zone = try ZoneID.read(from: &reader, owner: "transaction.zone.owner", name: "transaction.zone.name")
    var header = TransactionHeader(replica: id.replica, epoch: id.epoch, sequence: id.sequence, zone: zone)
    header.statesOwner = zone.owner.byteCount > 0
    if flags & TransactionFormat.baseFlag != 0 {
      let incarnation = try IncarnationID.read(from: &reader, "transaction.base.incarnation")
      let offset = try reader.readVarint("transaction.base.offset", in: 1 ... .max)
      header.base = Base(incarnation: incarnation, offset: offset)
    }
    if flags & TransactionFormat.parentFlag != 0 {
      header.parent = try readID(
        from: &reader, replica: "transaction.parent.replica", epoch: "transaction.parent.epoch",
        sequence: "transaction.parent.sequence")
    }
    return header
  }

  /// Reads the header of a transaction of a zone's log: it has the zone's owner, whether or not the bytes state
  /// one.
  package static func read(
    from reader: inout ByteReader, in zone: ZoneID
  ) throws(FormatError) -> TransactionHeader {
    var header = try read(from: &reader)
    (header.zone.owner, header.statesOwner) = (zone.owner, false)
    return header
  }

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
