/// A segment's header in bytes. It has one form only, because it is what an encryption of the body will
/// authenticate.
///
/// | bytes | field |
/// |---|---|
/// | 4 | magic: `TRSG` |
/// | 1 | version: 1 |
/// | 1 | flags: 0 |
/// | 2 | byte count of the whole header, little-endian |
/// | 1–130 | zone's owner: byte count, varint; UTF-8, 0 to 128 bytes |
/// | 2–130 | zone's name: byte count, varint; UTF-8, 1 to 128 bytes |
/// | 16 | incarnation, big-endian |
/// | 16 | replica, big-endian |
/// | 1–5 | epoch: varint, at most 2^32 − 1 |
/// | 1–9 | first sequence: varint, from 1 |
/// | 1–9 | last sequence: varint, at most 2^63 − 1 |
/// | 1–10 | base: varint, 0 for none |
/// | 32 | with a base, the content hash of the segment there |
/// | 1–3 | count of operations: varint, 1 to 65,536 |
/// | 8 | least timestamp, little-endian |
/// | 8 | greatest timestamp, little-endian |
/// | 1 | codec: 0 none, 1 Zstandard |
/// | 1 | key id: varint, 0 for a body that is not encrypted |
/// | 1–4 | bytes of the unpacked body: varint |
/// | 1–4 | bytes of the packed body: varint |
/// | 32 | content hash: SHA-256 of the unpacked body |
/// | 32 | content hash of this replica's segment before it; zeros for the first |
/// | 4 | CRC-32C of the bytes before, little-endian |
///
/// Magic, version, flags, byte count and checksum stay where they are in later versions: so a damaged header is told
/// from a newer one.
extension SegmentHeader {
  /// The most bytes of a header, rounded up: so many from the start of a segment hold it.
  package static let headerBytesMax = 512

  static let version: UInt8 = 1
  /// Magic, version, flags and byte count.
  static let fixedBytes = 8

  /// Appends the encoded header.
  ///
  /// - Throws: ``FormatError`` as ``validate()``.
  package func encode(into writer: inout ByteWriter) throws(FormatError) {
    try validate()
    var body = ByteWriter()
    encodeFields(into: &body)
    let byteCount = Self.fixedBytes + body.count + Framing.checksumBytes
    precondition(byteCount <= Self.headerBytesMax, "a header of \(byteCount) bytes")
    let start = writer.count
    writer.append(magic: FrameKind.segment.magic)
    writer.append(Self.version)
    writer.append(0)
    writer.append(littleEndian: UInt16(byteCount))
    writer.append(body.span)
    writer.appendChecksum(from: start)
  }

  private func encodeFields(into writer: inout ByteWriter) {
    writer.append(name: zone.owner)
    writer.append(name: zone.name)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(bigEndian: replica.rawValue)
    writer.append(varint: UInt64(epoch))
    writer.append(varint: sequences.lowerBound)
    writer.append(varint: sequences.upperBound)
    writer.append(varint: base)
    if base > 0 { baseHash.write(to: &writer) }
    writer.append(varint: operationCount)
    writer.append(littleEndian: timestamps.lowerBound.rawValue)
    writer.append(littleEndian: timestamps.upperBound.rawValue)
    writer.append(codec.rawValue)
    writer.append(varint: keyID)
    writer.append(varint: unpackedBytes)
    writer.append(varint: packedBytes)
    contentHash.write(to: &writer)
    previousHash.write(to: &writer)
  }
}
