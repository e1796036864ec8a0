import LMDB
import OperationFormat

/// The header of the segment that a zone is shipping, in this store's numbers. It is stored before the first
/// try, so that every retry ships the same segment.
struct CutRow: Hashable, Sendable {
  /// The version of the segment's header: a cut of an earlier program keeps it.
  var version: UInt8
  var incarnation: IncarnationNumber
  var replica: ReplicaNumber
  var epoch: UInt32
  var sequences: ClosedRange<UInt64>
  var base: UInt64
  var baseProof: ContentHash
  var operationCount: UInt64
  var timestamps: ClosedRange<Timestamp>
  var codec: SegmentHeader.Codec
  var keyID: UInt32
  var unpackedBytes: UInt64
  var packedBytes: UInt64
  var contentHash: ContentHash
  var previousHash: ContentHash
  /// The greatest base that its transactions name, if that is beyond their limit: see `FormerPlace`; else 0.
  var formerBase: UInt64

  init(_ header: SegmentHeader, _ incarnation: IncarnationNumber, _ replica: ReplicaNumber) {
    version = header.version
    self.incarnation = incarnation
    self.replica = replica
    epoch = header.epoch
    sequences = header.sequences
    base = header.base
    baseProof = header.baseProof
    operationCount = header.operationCount
    timestamps = header.timestamps
    codec = header.codec
    keyID = header.keyID
    unpackedBytes = header.unpackedBytes
    packedBytes = header.packedBytes
    contentHash = header.contentHash
    previousHash = header.previousHash
    formerBase = header.limit == nil ? 0 : header.former?.base ?? 0
  }

  /// The header with identities for numbers.
  func header(
    _ zone: ZoneID, _ incarnation: IncarnationID, _ replica: ReplicaID
  ) -> SegmentHeader {
    SegmentHeader(
      version: version, zone: version == 1 ? zone : ZoneID(name: zone.name), incarnation: incarnation,
      replica: replica, epoch: epoch, sequences: sequences, base: base, baseProof: baseProof,
      operationCount: operationCount, timestamps: timestamps, codec: codec, keyID: keyID,
      unpackedBytes: unpackedBytes, packedBytes: packedBytes, contentHash: contentHash,
      previousHash: previousHash, former: formerBase == 0 ? nil : .lost(incarnation, base: formerBase))
  }

  // | bytes | what |
  // |---|---|
  // | 1 | version of the segment's header: 2, or 1 |
  // | varint ×5 | incarnation's and replica's number, epoch, first and last sequence |
  // | varint, 32 | base, and the hash of the chain there; with version 1 that of the segment there |
  // | varint | operations |
  // | 8 ×2 | least and greatest timestamp, little-endian |
  // | 1 | codec |
  // | varint ×3 | key, unpacked and packed bytes |
  // | 32 ×2 | hash of the content, and of the replica's segment before |
  // | varint | greatest base that its transactions name; absent unless that is beyond their limit |

  func append(to writer: inout ByteWriter) {
    writer.append(version)
    writer.append(varint: UInt64(incarnation.rawValue))
    writer.append(varint: UInt64(replica.rawValue))
    writer.append(varint: UInt64(epoch))
    writer.append(varint: sequences.lowerBound)
    writer.append(varint: sequences.upperBound)
    writer.append(varint: base)
    writer.append(baseProof)
    writer.append(varint: operationCount)
    writer.append(littleEndian: timestamps.lowerBound.rawValue)
    writer.append(littleEndian: timestamps.upperBound.rawValue)
    writer.append(codec.rawValue)
    writer.append(varint: UInt64(keyID))
    writer.append(varint: unpackedBytes)
    writer.append(varint: packedBytes)
    writer.append(contentHash)
    writer.append(previousHash)
    if formerBase > 0 { writer.append(varint: formerBase) }
  }

  init(_ row: RawSpan) throws(FormatError) {
    var reader = ByteReader(row)
    version = try reader.readVersion(upTo: SegmentHeader.newestVersion, "cut row")
    incarnation = IncarnationNumber(rawValue: try reader.readUInt32Varint("cut.incarnation"))
    replica = ReplicaNumber(rawValue: try reader.readUInt32Varint("cut.replica"))
    epoch = try reader.readUInt32Varint("cut.epoch")
    let first = try reader.readVarint("cut.first")
    sequences = first...(try reader.readVarint("cut.last", in: first...UInt64.max))
    base = try reader.readVarint("cut.base")
    baseProof = try ContentHash.read(from: &reader, "cut.baseProof")
    operationCount = try reader.readVarint("cut.operationCount")
    let least = try reader.readLittleEndian("cut.timestamp", as: UInt64.self)
    let greatest = try reader.readLittleEndian("cut.timestamp", as: UInt64.self)
    guard least <= greatest else {
      throw reader.fail(
        .invalid, at: reader.position - 8, "cut.timestamp", expected: "\(least) or more", found: "\(greatest)"
      )
    }
    timestamps = Timestamp(rawValue: least)...Timestamp(rawValue: greatest)
    codec = SegmentHeader.Codec(rawValue: try reader.readUInt8("cut.codec"))
    keyID = try reader.readUInt32Varint("cut.keyID")
    unpackedBytes = try reader.readVarint("cut.unpackedBytes")
    packedBytes = try reader.readVarint("cut.packedBytes")
    contentHash = try ContentHash.read(from: &reader, "cut.contentHash")
    previousHash = try ContentHash.read(from: &reader, "cut.previousHash")
    formerBase = reader.remaining > 0 ? try reader.readVarint("cut.formerBase") : 0
    try reader.finish("cut row")
  }
}
