/// What a snapshot is of, and what its parts are.
///
/// A snapshot is the state of a zone at an offset of its remote log: what a replica has that folded the entries up to there
/// and nothing else. All stores make the same bytes of it. They are stored in parts: see `SnapshotWriter`.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRSN` |
/// | 1 | version: 1; 3 with a floor, 2 if its content has all entries of the log nevertheless: former programs wrote it |
/// | 1 | flags: 0 |
/// | … | zone's name: byte count (varint), UTF-8 |
/// | 16 | incarnation of the zone's log, big-endian |
/// | 8 | offset in the zone's log, from 1, little-endian |
/// | 32 | hash of the entry there |
/// | 32 | the log's chain there |
/// | 32 | SHA-256 of the content |
/// | 32 | digest of the state |
/// | varint | of versions 2 and 3: the floor, from 1 |
/// | varint | count of the records |
/// | varint | count of the parts, from 1 |
/// | … | of each part: byte count of the content in it, byte count as it is stored (varints), SHA-256 as it is stored |
/// | 4 | CRC-32C of the bytes before, little-endian |
///
/// A part is stored as one Zstandard frame.
public struct SnapshotManifest: Hashable, Sendable {
  /// A part of the content.
  public struct Part: Hashable, Sendable {
    /// How many bytes of the content it has.
    public var byteCount: Int
    /// How many bytes it has as it is stored.
    public var storedBytes: Int
    /// The hash of the bytes that are stored.
    public var hash: ContentHash

    /// Describes a part of a snapshot.
    public init(byteCount: Int, storedBytes: Int, hash: ContentHash) {
      self.byteCount = byteCount
      self.storedBytes = storedBytes
      self.hash = hash
    }
  }

  /// The zone, without an owner: each user knows the owner as another one.
  public var zone: ZoneID
  /// The life of the zone's log that it is of.
  public var incarnation: IncarnationID
  /// The offset up to which the log is in it, from 1.
  public var offset: UInt64
  /// The hash of the entry there.
  public var hash: ContentHash
  /// The log's chain there.
  public var chain: LogChain
  /// The hash of the whole content. It names the snapshot.
  public var content: ContentHash
  /// The digest of the state.
  public var digest: ContentHash
  /// Up to which offset the records are folded together; nil if nothing is.
  public var floor: UInt64?
  /// Whether its content has all entries of the log, also those at or below the floor that nothing names any more.
  package var hasAllEntries: Bool
  /// How many records it has, those included that were deleted.
  public var records: UInt64
  /// The parts, in order.
  public var parts: [Part]

  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash, chain: LogChain,
    content: ContentHash, digest: ContentHash, floor: UInt64? = nil, hasAllEntries: Bool? = nil,
    records: UInt64,
    parts: [Part]
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.chain = chain
    self.content = content
    self.digest = digest
    self.floor = floor
    self.hasAllEntries = hasAllEntries ?? (floor == nil)
    self.records = records
    self.parts = parts
  }

  /// How many bytes the parts have as they are stored.
  public var storedBytes: UInt64 { parts.reduce(0) { $0 + UInt64($1.storedBytes) } }

  /// How many bytes the content has.
  public var byteCount: UInt64 { parts.reduce(0) { $0 + UInt64($1.byteCount) } }

  /// The greatest offset of one that does not have all entries.
  package static let offsetMax: UInt64 = 1 << 48

  /// The most bytes of a manifest.
  package static let bytesMax = 512 + Limits.snapshotPartsMax * (10 + ContentHash.byteCount)

  /// Returns its bytes.
  public func encode() -> [UInt8] {
    precondition(offset > 0, "offsets count from 1")
    var writer = ByteWriter()
    writer.append(magic: FrameKind.snapshot.magic)
    writer.append(floor == nil ? 1 : hasAllEntries ? 2 : 3)
    writer.append(0)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(littleEndian: offset)
    for hash in [hash, chain.hash, content, digest] { hash.write(to: &writer) }
    if let floor { writer.append(varint: floor) }
    writer.append(varint: records)
    writer.append(count: parts.count)
    for part in parts {
      writer.append(count: part.byteCount)
      writer.append(count: part.storedBytes)
      part.hash.write(to: &writer)
    }
    writer.appendChecksum()
    return writer.bytes
  }

  /// Decodes the manifest that fills `bytes`.
  ///
  /// - Throws: ``FormatError`` with `damaged` if the checksum does not match, `newerFormat` for a later version, `invalid`
  ///   or `limitExceeded` for what no program writes.
  public static func read(_ bytes: RawSpan) throws(FormatError) -> SnapshotManifest {
    var reader = try Framing.open(bytes, .snapshot, versions: 1...3, "snapshot")
    var start = ByteReader(bytes, at: 4)
    let version = try start.readUInt8("snapshot.version")
    let name = Name(try reader.readString("snapshot.zone", bytesMin: 1, bytesMax: Limits.nameBytesMax))
    let incarnation = try IncarnationID.read(from: &reader, "snapshot.incarnation")
    let offset = try reader.readOffset("snapshot.offset")
    let hash = try ContentHash.read(from: &reader, "snapshot.hash")
    let chain = try ContentHash.read(from: &reader, "snapshot.chain")
    let content = try ContentHash.read(from: &reader, "snapshot.content")
    let digest = try ContentHash.read(from: &reader, "snapshot.digest")
    let floor = version > 1 ? try reader.readVarint("snapshot.floor", in: 1...offset) : nil
    // Where all entries are there, their bytes bound it.
    guard version < 3 || offset <= offsetMax else {
      throw FormatError(
        .limitExceeded, at: 0, in: "snapshot.offset", expected: "at most \(offsetMax)", found: "\(offset)")
    }
    let records = try reader.readVarint("snapshot.records")
    let count = try reader.readVarint("snapshot.parts", in: 1...UInt64(Limits.snapshotPartsMax))
    let sizes = 1...UInt64(Limits.snapshotPartBytesMax)
    var parts: [Part] = []
    for _ in 0..<count {
      parts.append(
        Part(
          byteCount: Int(try reader.readVarint("snapshot.part.byteCount", in: sizes)),
          storedBytes: Int(try reader.readVarint("snapshot.part.storedBytes", in: sizes)),
          hash: try ContentHash.read(from: &reader, "snapshot.part.hash")))
    }
    try reader.finish("snapshot")
    return SnapshotManifest(
      zone: ZoneID(name: name), incarnation: incarnation, offset: offset, hash: hash,
      chain: LogChain(hash: chain), content: content, digest: digest, floor: floor,
      hasAllEntries: version < 3,
      records: records, parts: parts)
  }

  /// Up to which offset the content has only the entries that something names; 0 if it has all.
  package var foldedThrough: UInt64 { hasAllEntries ? 0 : floor ?? 0 }
}

extension SnapshotManifest.Part {
  /// Packs bytes of a content, and describes them.
  package static func pack(_ bytes: RawSpan) -> (part: SnapshotManifest.Part, stored: [UInt8])? {
    guard let stored = Zstandard.pack(bytes, bytesMax: Limits.snapshotPartBytesMax) else { return nil }
    let part = Self(
      byteCount: bytes.byteCount, storedBytes: stored.count, hash: ContentHash(of: stored.span.bytes))
    return (part, stored)
  }

  /// The content in the part's stored bytes.
  ///
  /// - Throws: ``FormatError`` with `damaged` if they are not what was stored.
  package func unpack(_ stored: RawSpan) throws(FormatError) -> [UInt8] {
    guard stored.byteCount == storedBytes, ContentHash(of: stored) == hash else {
      throw FormatError(
        .damaged, at: 0, in: "snapshot.part", expected: "\(storedBytes) bytes with the hash \(hash)",
        found: "\(stored.byteCount) bytes, or others")
    }
    return try Zstandard.unpack(stored, sizes: byteCount...byteCount, origin: 0, "snapshot.part")
  }
}
