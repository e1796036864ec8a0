public import EventStore
internal import OperationFormat

/// The list of an asset's chunks at a remote. It is put last: an asset with a manifest is whole.
///
/// The bytes of an asset determine its manifest: all chunks but the last have ``chunkBytes``.
///
/// | bytes | what |
/// |---|---|
/// | 4 | `TRAM` |
/// | 1 | version, 1 |
/// | 1 | flags, 0 |
/// | 32 | the asset's hash |
/// | varint | its byte count, at most 2⁴⁰ |
/// | 32 × | the hash of each chunk |
/// | 4 | CRC-32C of all bytes before it, little-endian |
public struct AssetManifest: Hashable, Sendable {
  /// The size of a chunk, 4 MiB; the last one has the rest.
  public static let chunkBytes = 4 << 20
  /// The largest asset that remotes take: 1 TiB, so that a manifest is read whole.
  public static let assetBytesMax: UInt64 = 1 << 40
  /// The largest manifest.
  public static let bytesMax = 52 + ContentHash.byteCount * Int(assetBytesMax / UInt64(chunkBytes))
  private static let magic: [UInt8] = Array("TRAM".utf8)
  private static let version: UInt8 = 1

  public let asset: AssetReference
  /// The hash of each chunk, in order: as many as ``chunkCount(of:)`` says.
  public let chunks: [ContentHash]

  /// Creates a manifest; nil if the number of chunks is not that of the asset.
  public init?(asset: AssetReference, chunks: [ContentHash]) {
    guard asset.byteCount <= Self.assetBytesMax, UInt64(chunks.count) == Self.chunkCount(of: asset) else {
      return nil
    }
    self.asset = asset
    self.chunks = chunks
  }

  /// How many chunks an asset has; none if it is empty.
  public static func chunkCount(of asset: AssetReference) -> UInt64 {
    let (whole, rest) = asset.byteCount.quotientAndRemainder(dividingBy: UInt64(chunkBytes))
    return rest > 0 ? whole + 1 : whole
  }

  /// How many bytes a chunk of an asset has; 0 beyond the last one.
  public static func byteCount(ofChunk index: UInt64, of asset: AssetReference) -> Int {
    let (start, overflow) = index.multipliedReportingOverflow(by: UInt64(chunkBytes))
    guard !overflow, start < asset.byteCount else { return 0 }
    return Int(min(UInt64(chunkBytes), asset.byteCount - start))
  }

  /// The manifest encoded.
  public var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(Self.magic + [Self.version, 0])
    asset.hash.write(to: &writer)
    writer.append(varint: asset.byteCount)
    for chunk in chunks { chunk.write(to: &writer) }
    writer.append(littleEndian: crc32c(writer.span))
    return writer.bytes
  }

  /// Decodes a manifest.
  ///
  /// - Throws: `FormatError` for any bytes that are not exactly a manifest.
  public init(decoding bytes: RawSpan) throws(FormatError) {
    var reader = ByteReader(bytes)
    let magic = try reader.readBytes(Self.magic.count, "manifest.magic")
    guard equalBytes(reader.bytes(in: magic), Self.magic.span.bytes) else {
      throw reader.fail(.invalid, at: 0, "manifest.magic", expected: "TRAM", found: "other bytes")
    }
    let version = try reader.readUInt8("manifest.version")
    let flags = try reader.readUInt8("manifest.flags")
    guard version == Self.version, flags == 0 else {
      throw reader.fail(
        .newerFormat, at: 4, "manifest.version", expected: "version 1.0", found: "\(version).\(flags)")
    }
    let hash = try ContentHash.read(from: &reader, "manifest.hash")
    let byteCount = try reader.readVarint("manifest.byteCount", in: 0...Self.assetBytesMax)
    let asset = AssetReference(hash: hash, byteCount: byteCount)
    let count = Self.chunkCount(of: asset)
    guard UInt64(reader.remaining) == count * UInt64(ContentHash.byteCount) + 4 else {
      throw reader.fail(
        .invalid, at: reader.position, "manifest.chunks", expected: "\(count) hashes and a checksum",
        found: "\(reader.remaining) bytes")
    }
    var chunks: [ContentHash] = []
    chunks.reserveCapacity(Int(count))
    for _ in 0..<count { chunks.append(try ContentHash.read(from: &reader, "manifest.chunk")) }
    let end = reader.position
    let checksum: UInt32 = try reader.readLittleEndian("manifest.checksum")
    let found = crc32c(bytes.extracting(..<end))
    guard checksum == found else {
      throw reader.fail(
        .damaged, at: end, "manifest.checksum", expected: "CRC-32C \(checksum)", found: "\(found)")
    }
    self.asset = asset
    self.chunks = chunks
  }
}
