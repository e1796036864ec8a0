/// Where a zone's log begins at a remote: the entries before an offset were removed, because a snapshot at that offset
/// stands for them.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRLF` |
/// | 1 | version: 1, or 2 if the entry at the offset is not there either |
/// | 1 | flags: 0 |
/// | 16 | incarnation of the zone's log, big-endian |
/// | 8 | offset of the first entry that the log has, from 1, little-endian |
/// | 16 | maker of the snapshot at that offset, big-endian |
/// | 32 | hash of that entry |
/// | 32 | the log's chain there |
/// | 4 | CRC-32C of the bytes before, little-endian |
package struct LogFloor: Hashable, Sendable {
  /// The life of the zone's log.
  package var incarnation: IncarnationID
  /// The offset of the first entry that the log has, from 1.
  package var offset: UInt64
  /// The replica that made the snapshot at that offset.
  package var maker: ReplicaID
  /// The hash of that entry.
  package var hash: ContentHash
  /// The log's chain there.
  package var chain: LogChain
  /// Whether the log has that entry. Where a store has begun the log with a snapshot alone, it has not.
  package var hasEntry: Bool

  package init(
    _ incarnation: IncarnationID, offset: UInt64, maker: ReplicaID, hash: ContentHash, chain: LogChain,
    hasEntry: Bool = true
  ) {
    self.hasEntry = hasEntry
    self.incarnation = incarnation
    self.offset = offset
    self.maker = maker
    self.hash = hash
    self.chain = chain
  }

  /// The most bytes of a floor.
  package static let bytesMax = 128

  /// Returns its bytes.
  package func encode() -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    var writer = ByteWriter()
    writer.append(magic: FrameKind.floor.magic)
    writer.append(hasEntry ? Self.versions.lowerBound : Self.versions.upperBound)
    writer.append(0)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(littleEndian: offset)
    writer.append(bigEndian: maker.rawValue)
    hash.write(to: &writer)
    chain.hash.write(to: &writer)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the floor that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `newerFormat` for a later version.
  package static func read(_ bytes: RawSpan) throws(FormatError) -> LogFloor {
    var reader = try Framing.open(bytes, .floor, versions: versions, "floor")
    var version = ByteReader(bytes, at: 4)
    let hasEntry = try version.readUInt8("floor.version") == versions.lowerBound
    let incarnation = try IncarnationID.read(from: &reader, "floor.incarnation")
    let offset = try reader.readOffset("floor.offset")
    let maker = try ReplicaID.read(from: &reader, "floor.maker")
    let hash = try ContentHash.read(from: &reader, "floor.hash")
    let chain = LogChain(hash: try ContentHash.read(from: &reader, "floor.chain"))
    try reader.finish("floor")
    return LogFloor(
      incarnation, offset: offset, maker: maker, hash: hash, chain: chain, hasEntry: hasEntry)
  }

  /// The second one says that the log does not have the entry.
  private static let versions: ClosedRange<UInt8> = 1...2
}
