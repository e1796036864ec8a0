/// Marks an entry of a log that nobody can read any more. The remote's operator gave the entry up, and every
/// reader takes it as empty.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRTS` |
/// | 1 | version: 1 |
/// | 1 | flags: 0 |
/// | 16 | incarnation of the zone's log, big-endian; zeros for the list of zones |
/// | 8 | offset in the log, from 1, little-endian |
/// | 8 | when the entry was given up, in milliseconds since 1970, little-endian |
/// | 8 | byte count of the unreadable content, plus 1; 0 if nothing was there; little-endian |
/// | 32 | SHA-256 of the content's first bytes, as many as an entry may have; zeros if nothing was there |
/// | 1–1026 | note: byte count, varint; UTF-8, 0 to 1,024 bytes |
/// | 4 | CRC-32C of the bytes before, little-endian |
package struct LogTombstone: Hashable, Sendable {
  /// The most bytes of a tombstone.
  package static let bytesMax = 4 + 2 + 16 + 3 * 8 + ContentHash.byteCount + 2 + Limits.noteBytesMax + 4

  /// The unreadable content at the offset.
  package struct Content: Hashable, Sendable {
    package var byteCount: UInt64
    /// The hash of its first bytes, as many as an entry may have.
    package var hash: ContentHash

    package init(byteCount: UInt64, hash: ContentHash) {
      self.byteCount = byteCount
      self.hash = hash
    }
  }

  /// The incarnation of the zone's log; nil for the list of zones.
  package var incarnation: IncarnationID?
  /// Its offset in the log, from 1.
  package var offset: UInt64
  /// When the entry was given up, in milliseconds since 1970, by the operator's clock.
  package var milliseconds: UInt64
  /// The unreadable content; nil if nothing was at the offset although there were later entries.
  package var content: Content?
  /// The reason, for people; may be empty.
  package var note: String

  package init(
    incarnation: IncarnationID?, offset: UInt64, milliseconds: UInt64, content: Content?, note: String = ""
  ) {
    self.incarnation = incarnation
    self.offset = offset
    self.milliseconds = milliseconds
    self.content = content
    self.note = note
  }

  /// Whether it stands for the seal of a closed log that was opened again: then nothing was given up.
  package var passesSeal: Bool {
    incarnation.map { self == LogTombstone(passingSealOf: $0, at: offset) } ?? false
  }

  /// The tombstone of a closed log's seal, with which the log continues: every store makes the same bytes.
  package init(passingSealOf incarnation: IncarnationID, at offset: UInt64) {
    let seal = LogSeal(offset: offset, kind: .deleted).encode()
    self.init(
      incarnation: incarnation, offset: offset, milliseconds: 0,
      content: Content(byteCount: UInt64(seal.count), hash: ContentHash(of: seal.span.bytes)),
      note: "the zone was made again")
  }

  /// Returns the tombstone's bytes.
  ///
  /// - Throws: ``FormatError`` with `limitExceeded` if the note is too long.
  package func encode() throws(FormatError) -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    precondition(incarnation?.rawValue != 0, "an incarnation of zeros")
    precondition(content?.byteCount != .max, "a size that is none")
    guard note.utf8.count <= Limits.noteBytesMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "tombstone.note", expected: "at most \(Limits.noteBytesMax) bytes",
        found: "\(note.utf8.count)")
    }
    var writer = ByteWriter()
    writer.append(magic: FrameKind.tombstone.magic)
    writer.append(Self.version)
    writer.append(0)
    writer.append(bigEndian: incarnation?.rawValue ?? 0)
    writer.append(littleEndian: offset)
    writer.append(littleEndian: milliseconds)
    writer.append(littleEndian: content.map { $0.byteCount + 1 } ?? 0)
    (content?.hash ?? .zero).write(to: &writer)
    writer.append(text: note)
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the tombstone that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `newerFormat` for a later
  ///   version.
  package static func read(_ bytes: RawSpan) throws(FormatError) -> LogTombstone {
    var reader = try Framing.open(bytes, .tombstone, versions: version...version, "tombstone")
    let incarnation = IncarnationID(rawValue: try reader.readBigEndian("tombstone.incarnation"))
    let offset = try reader.readOffset("tombstone.offset")
    let milliseconds = try reader.readLittleEndian("tombstone.milliseconds", as: UInt64.self)
    let count = try reader.readLittleEndian("tombstone.byteCount", as: UInt64.self)
    let hashStart = reader.position
    let hash = try ContentHash.read(from: &reader, "tombstone.hash")
    guard (count == 0) == (hash == .zero) else {
      throw reader.fail(
        .invalid, at: hashStart, "tombstone.hash", expected: count == 0 ? "none" : "a hash",
        found: count == 0 ? "a hash" : "none")
    }
    let note = try reader.readString("tombstone.note", bytesMax: Limits.noteBytesMax)
    try reader.finish("tombstone")
    return LogTombstone(
      incarnation: incarnation.rawValue == 0 ? nil : incarnation, offset: offset, milliseconds: milliseconds,
      content: count == 0 ? nil : Content(byteCount: count - 1, hash: hash), note: note)
  }

  private static let version: UInt8 = 1
}
