@testable import OperationFormat

/// Segments, tokens and events that several suites use.
enum FrameExamples {
  static let incarnation = IncarnationID(rawValue: 0xffee_ddcc_bbaa_9988_7766_5544_3322_1100)
  static let zone = ZoneID(owner: "ann", name: "notes")

  /// The header of a segment of an earlier program that has only `Examples.minimal`.
  static var plainHeader: SegmentHeader {
    let body = plainBody
    return SegmentHeader(
      version: 1, zone: ZoneID(name: "z"), incarnation: IncarnationID(rawValue: 5),
      replica: ReplicaID(rawValue: 1),
      epoch: 0, sequences: 1...1, base: 0, baseProof: .zero, operationCount: 1,
      timestamps: Timestamp(rawValue: 0)...Timestamp(rawValue: 0), unpackedBytes: UInt64(body.count),
      packedBytes: UInt64(body.count), contentHash: ContentHash(ofBytes: body), previousHash: .zero)
  }

  static var plainBody: [UInt8] {
    let transaction = NaiveTransaction(Examples.minimal).bytes
    return NaiveTransaction.varint(UInt64(transaction.count)) + transaction
  }

  /// The transactions of the golden segments of version 2.
  static let transactions = makeTransactions(ZoneID(name: "notes"))
  /// Those of the packed golden segment of version 1, which state their zone's owner.
  static let packedTransactions = makeTransactions(zone)

  private static func makeTransactions(_ zone: ZoneID) -> [LogTransaction] {
    func transaction(_ sequence: UInt64, base: UInt64, _ timestamp: Timestamp) -> LogTransaction {
      LogTransaction(
        replica: ReplicaID(rawValue: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff), epoch: 300,
        sequence: sequence, zone: zone, base: Base(incarnation: incarnation, offset: base),
        timestamp: timestamp, operations: [])
    }
    // The clock went back between the two.
    var first = transaction(7, base: 4, Timestamp(milliseconds: 1_631_231_046_500, counter: 0))
    first.operations = [.create(record: "note-1", type: "Note")]
    var second = transaction(8, base: 5, Timestamp(milliseconds: 1_631_231_046_000, counter: 3))
    second.operations = [
      .set(
        record: "note-1", type: "Note", field: "title", value: .string(String(repeating: "a", count: 200))),
      .delete(record: "note-1"),
    ]
    (first.statesOwner, second.statesOwner) = (zone.owner != "", zone.owner != "")
    return [first, second]
  }

  static let body: [UInt8] = transactions.flatMap { transaction in
    let bytes = NaiveTransaction(transaction).bytes
    return NaiveTransaction.varint(UInt64(bytes.count)) + bytes
  }

  /// The header of a segment of ``transactions``, not packed.
  static var header: SegmentHeader {
    SegmentHeader(
      zone: ZoneID(name: "notes"), incarnation: incarnation, replica: transactions[0].replica, epoch: 300,
      sequences: 7...8, base: 5, baseProof: ContentHash(ofText: "chain"), operationCount: 3,
      timestamps: transactions[1].timestamp...transactions[0].timestamp, unpackedBytes: UInt64(body.count),
      packedBytes: UInt64(body.count), contentHash: ContentHash(ofBytes: body),
      previousHash: ContentHash(ofText: "previous"))
  }

  /// The same, offered again and signed twice.
  static var reofferedHeader: SegmentHeader {
    var header = header
    header.device = DeviceID(rawValue: 77)
    header.former = FormerPlace(
      incarnation: IncarnationID(rawValue: 9), offset: 300, base: 4,
      baseChain: ContentHash(ofText: "former chain"), previousHash: ContentHash(ofText: "former previous"),
      device: DeviceID(rawValue: 78))
    return header
  }

  /// The same, sealed and signed, with a body of 80 bytes.
  static var sealedHeader: SegmentHeader {
    var header = header
    (header.isSealed, header.keyID, header.device) = (true, 3, DeviceID(rawValue: 77))
    (header.operationCount, header.unpackedBytes, header.packedBytes) = (0, 0, 80)
    header.timestamps = Timestamp(rawValue: 0)...Timestamp(rawValue: 0)
    header.contentHash = ContentHash(ofText: "hmac")
    return header
  }

  /// The header of the packed golden segment, of version 1.
  static var packedHeader: SegmentHeader {
    var body: [UInt8] = []
    for transaction in packedTransactions {
      let bytes = NaiveTransaction(transaction).bytes
      body += NaiveTransaction.varint(UInt64(bytes.count)) + bytes
    }
    return SegmentHeader(
      version: 1, zone: zone, incarnation: incarnation, replica: packedTransactions[0].replica, epoch: 300,
      sequences: 7...8, base: 5, baseProof: ContentHash(ofText: "base"), operationCount: 3,
      timestamps: packedTransactions[1].timestamp...packedTransactions[0].timestamp, codec: .zstandard,
      unpackedBytes: UInt64(body.count), packedBytes: 186, contentHash: ContentHash(ofBytes: body),
      previousHash: ContentHash(ofText: "previous"))
  }

  static let changeToken = ChangeToken(
    zone: zone, incarnation: incarnation, offset: 1000, hash: ContentHash(ofText: "segment 1000"),
    chain: LogChain(hash: ContentHash(ofText: "chain 1000")))
  /// That of an earlier program, which has no chain.
  static let firstChangeToken = ChangeToken(
    zone: zone, incarnation: incarnation, offset: 1000, hash: ContentHash(ofText: "segment 1000"))
  static let startToken = ChangeToken.start(of: ZoneID(name: "z"), IncarnationID(rawValue: 5))
  static let databaseToken = DatabaseToken(
    remote: RemoteID(rawValue: 0x0011_2233_4455_6677_8899_aabb_ccdd_eeff), offset: 300,
    hash: ContentHash(ofText: "event 300"))

  static let created = PlacedEvent(
    event: ZoneEvent(kind: .created, zone: ZoneID(name: "z"), incarnation: IncarnationID(rawValue: 5)),
    offset: 1, previous: .zero)
  static let unknownEvent = PlacedEvent(
    event: ZoneEvent(kind: ZoneEvent.Kind(rawValue: 200), zone: zone, incarnation: incarnation),
    offset: 0x0102_0304_0506_0708, previous: ContentHash(ofText: "another event"))

  static let seals = [
    LogSeal(offset: 259, kind: .deleted), LogSeal(offset: 1, kind: .purged),
    LogSeal(offset: 3, kind: .reset),
  ]

  static let tombstones = [
    LogTombstone(
      incarnation: incarnation, offset: 258, milliseconds: 1_631_231_046_000,
      content: LogTombstone.Content(
        byteCount: 300, hash: ContentHash(ofBytes: [UInt8](repeating: 0, count: 300))), note: "power cut"),
    LogTombstone(incarnation: nil, offset: 2, milliseconds: 0, content: nil),
  ]
}
