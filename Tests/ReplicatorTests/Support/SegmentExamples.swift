import EventStore
import OperationFormat
import StoreTesting

@testable import Replicator

/// Cuts and segments for the suites about segments.
enum SegmentExamples {
  static let incarnation = IncarnationID(rawValue: 0xa11)
  static let replica = ReplicaID(rawValue: 0xb0b)
  static let zone = ZoneID(name: "notes")

  /// The hash of the segment at an offset in these tests.
  static func hash(at offset: UInt64) -> ContentHash {
    let text = "segment \(offset)".utf8Span.span
    return ContentHash(of: text.bytes)
  }

  static func transaction(
    _ sequence: UInt64, zone: ZoneID = zone, replica: ReplicaID = replica, epoch: UInt32 = 1,
    base: UInt64 = 0, incarnation: IncarnationID = incarnation, timestamp: UInt64? = nil,
    operations: [LogOperation]? = nil
  ) throws(FormatError) -> [UInt8] {
    try LogTransaction(
      replica: replica, epoch: epoch, sequence: sequence, zone: zone,
      base: base == 0 ? nil : Base(incarnation: incarnation, offset: base),
      timestamp: Timestamp(rawValue: timestamp ?? 1000 + sequence),
      operations: operations
        ?? [
          .create(record: "note-1", type: "Note"),
          .set(record: "note-1", type: "Note", field: "title", value: .string("Milk and \(sequence) more")),
        ]
    ).encoded()
  }

  /// Transactions with consecutive sequences, each with a base that is not lower than the one before.
  static func transactions(_ count: Int, from first: UInt64 = 1) throws -> [[UInt8]] {
    try (0..<UInt64(count)).map { try transaction(first + $0, base: $0 / 2) }
  }

  static func cut(_ transactions: [[UInt8]], isStored: Bool = false) throws -> SegmentCut {
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation, baseProof: { hash(at: $0) }, previousHash: .zero)
    return SegmentCut(header: header, isStored: isStored, transactions: transactions)
  }

  /// A segment with the given header; only its sizes and hashes are made to match these transactions.
  ///
  /// The content hash matches too, unless the header's was set to the base's.
  static func segment(_ header: SegmentHeader, _ transactions: [[UInt8]]) throws -> [UInt8] {
    var body = ByteWriter()
    for transaction in transactions { SegmentBody.append(transaction.span.bytes, to: &body) }
    return try segment(header, body: body.bytes)
  }

  /// The same, with any bytes as the body.
  static func segment(_ header: SegmentHeader, body: [UInt8]) throws -> [UInt8] {
    var header = header
    header.unpackedBytes = UInt64(body.count)
    header.packedBytes = header.unpackedBytes
    if header.contentHash != header.baseProof { header.contentHash = ContentHash(ofBytes: body) }
    return try SegmentFrame.encode(header, packedBody: body.span.bytes)
  }

  /// A segment with the given packed body. Its size and the hash of the whole match, whatever else the header
  /// says.
  static func segment(_ header: SegmentHeader, packedBody: [UInt8]) throws -> [UInt8] {
    var naive = header
    naive.packedBytes = UInt64(packedBody.count)
    return try SegmentFrame.encode(naive, packedBody: packedBody.span.bytes)
  }
}

extension ContentHash {
  init(ofBytes bytes: [UInt8]) {
    let span = bytes.span
    self.init(of: span.bytes)
  }
}

/// The error that a segment's bytes give; nil for none.
func unpackingError(_ bytes: [UInt8]) -> FormatError? {
  do throws(FormatError) {
    _ = try SegmentPacker.unpack(bytes)
    return nil
  } catch {
    return error
  }
}
