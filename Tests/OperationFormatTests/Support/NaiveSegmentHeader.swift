@testable import OperationFormat

/// A segment header's bytes, built field by field in the most obvious way. It is the oracle of the encoder,
/// and it can break each rule of the format separately. Byte count and checksum are always correct.
struct NaiveSegmentHeader {
  var magic = Array("TRSG".utf8)
  var version: UInt8
  var flags: UInt8 = 0
  var owner: [UInt8]
  var zone: [UInt8]
  var incarnation: [UInt8]
  var replica: [UInt8]
  var epoch: [UInt8]
  var first: [UInt8]
  var last: [UInt8]
  var base: [UInt8]
  var baseProof: [UInt8]
  var operationCount: [UInt8]
  var least: UInt64
  var greatest: UInt64
  var codec: UInt8
  var keyID: [UInt8]
  var unpackedBytes: [UInt8]
  var packedBytes: [UInt8]
  var contentHash: [UInt8]
  var previousHash: [UInt8]
  var device: [UInt8]
  var former: [UInt8]
  var isSealed: Bool
  var more: [UInt8] = []

  init(_ header: SegmentHeader) {
    version = header.version
    isSealed = header.isSealed
    flags = (isSealed ? 1 : 0) + (header.device == nil ? 0 : 2) + (header.former == nil ? 0 : 4)
    owner = header.version == 1 ? NaiveTransaction.text(header.zone.owner.rawValue) : []
    zone = NaiveTransaction.text(header.zone.name.rawValue)
    incarnation = NaiveTransaction.bigEndian(header.incarnation.rawValue)
    replica = NaiveTransaction.bigEndian(header.replica.rawValue)
    epoch = NaiveTransaction.varint(UInt64(header.epoch))
    first = NaiveTransaction.varint(header.sequences.lowerBound)
    last = NaiveTransaction.varint(header.sequences.upperBound)
    base = NaiveTransaction.varint(header.base)
    baseProof = header.base == 0 ? [] : header.baseProof.bytes
    operationCount = NaiveTransaction.varint(header.operationCount)
    least = header.timestamps.lowerBound.rawValue
    greatest = header.timestamps.upperBound.rawValue
    codec = header.codec.rawValue
    keyID = NaiveTransaction.varint(UInt64(header.keyID))
    unpackedBytes = NaiveTransaction.varint(header.unpackedBytes)
    packedBytes = NaiveTransaction.varint(header.packedBytes)
    contentHash = header.contentHash.bytes
    previousHash = header.previousHash.bytes
    device = header.device.map { NaiveTransaction.bigEndian($0.rawValue) } ?? []
    former = header.former.map(Self.former) ?? []
  }

  private static func former(_ place: FormerPlace) -> [UInt8] {
    let start = NaiveTransaction.bigEndian(place.incarnation.rawValue) + NaiveTransaction.varint(place.offset)
    let base = NaiveTransaction.varint(place.base) + (place.base == 0 ? [] : place.baseChain.bytes)
    let device = place.device.map { [1] + NaiveTransaction.bigEndian($0.rawValue) } ?? [0]
    return start + base + place.previousHash.bytes + NaiveTransaction.varint(UInt64(place.keyID)) + device
  }

  var fields: [UInt8] {
    let inside =
      operationCount + NaiveTransaction.littleEndian(least) + NaiveTransaction.littleEndian(greatest)
    let start = owner + zone + incarnation + replica + epoch + first + last + base + baseProof
    return start + (isSealed ? [] : inside) + [codec] + keyID + (isSealed ? [] : unpackedBytes) + packedBytes
      + contentHash + previousHash + device + former + more
  }

  var bytes: [UInt8] { Self.bytes(magic + [version, flags], fields) }

  /// Adds byte count and checksum to fields.
  static func bytes(_ start: [UInt8], _ fields: [UInt8]) -> [UInt8] {
    let count = start.count + 2 + fields.count + 4
    return withChecksum(start + [UInt8(count & 255), UInt8(count >> 8)] + fields + [0, 0, 0, 0])
  }
}
