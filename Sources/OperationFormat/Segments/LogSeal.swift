/// The end of a zone's log. It has the offset after the last segment, so that nothing can be appended after
/// it.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRSE` |
/// | 1 | version: 1 |
/// | 1 | flags: 0 |
/// | 8 | offset in the zone's log, from 1, little-endian |
/// | 1 | kind: 1 deleted, 2 purged, 3 reset |
/// | 4 | CRC-32C of the bytes before, little-endian |
package struct LogSeal: Hashable, Sendable {
  /// Why a log ends.
  package enum Kind: UInt8, Sendable {
    /// A user deleted the zone.
    case deleted = 1
    /// The remote discarded the log.
    case purged = 2
    /// The remote discarded the log, and asks stores to send everything again.
    case reset = 3
  }

  /// Its offset in the zone's log, from 1: the one after the last segment.
  package var offset: UInt64
  /// Why the log ends.
  package var kind: Kind

  package init(offset: UInt64, kind: Kind) {
    self.offset = offset
    self.kind = kind
  }

  /// Returns the seal's bytes.
  package func encode() -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    var writer = ByteWriter()
    writer.append(magic: FrameKind.seal.magic)
    writer.append(Self.version)
    writer.append(0)
    writer.append(littleEndian: offset)
    writer.append(kind.rawValue)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the seal that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `newerFormat` for a later
  ///   version or a kind that this version does not know.
  package static func read(_ bytes: RawSpan) throws(FormatError) -> LogSeal {
    var reader = try Framing.open(bytes, .seal, versions: version...version, "seal")
    let offset = try reader.readOffset("seal.offset")
    let kind = try readKind(from: &reader)
    try reader.finish("seal")
    return LogSeal(offset: offset, kind: kind)
  }

  private static func readKind(from reader: inout ByteReader) throws(FormatError) -> Kind {
    let start = reader.position
    let number = try reader.readUInt8("seal.kind")
    guard let kind = Kind(rawValue: number) else {
      throw reader.fail(
        number == 0 ? .invalid : .newerFormat, at: start, "seal.kind", expected: "1 to 3", found: "\(number)")
    }
    return kind
  }

  private static let version: UInt8 = 1
}
