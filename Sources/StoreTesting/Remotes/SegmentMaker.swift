internal import OperationFormat
public import Replicator

/// Makes the segments of one replica, one after the other, of transactions that are made up.
public struct SegmentMaker: Sendable {
  /// The zone, and the incarnation of its log.
  public let zone: ZoneID
  public let incarnation: IncarnationID
  public let replica: ReplicaID
  public let epoch: UInt32
  /// The sequence that the next segment begins with.
  public private(set) var nextSequence: UInt64 = 1
  private var previousHash = ContentHash.zero
  private var random: SeededRandom

  /// Creates a maker that begins at sequence 1.
  public init(
    _ zone: ZoneID, _ incarnation: IncarnationID, replica: ReplicaID, epoch: UInt32 = 0, seed: UInt64 = 0
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.replica = replica
    self.epoch = epoch
    random = SeededRandom(seed: seed ^ UInt64(truncatingIfNeeded: replica.rawValue))
  }

  /// Makes the next segment.
  ///
  /// - Parameters:
  ///   - transactions: how many it has.
  ///   - valueBytes: random bytes in each, which no packing makes smaller; at most 1 MiB.
  ///   - base: what each of them has seen, and the log's chain there; nil for nothing.
  public mutating func next(
    transactions: Int = 1, valueBytes: Int = 16, base: (offset: UInt64, chain: LogChain)? = nil
  ) throws -> PackedSegment {
    try advance(make(transactions, valueBytes, base, random: &random))
  }

  /// Makes the next segment of one transaction with these operations.
  ///
  /// - Parameters:
  ///   - base: what it has seen, and the log's chain there; nil for nothing.
  ///   - parent: what it continues.
  mutating func next(
    _ operations: [LogOperation], base: (offset: UInt64, chain: LogChain)? = nil,
    parent: TransactionID? = nil
  ) throws -> PackedSegment {
    let transaction = try transaction(nextSequence, operations, base: base?.offset, parent: parent)
    return try advance(pack([transaction], baseProof: base?.chain.hash ?? .zero))
  }

  private mutating func advance(_ segment: PackedSegment) -> PackedSegment {
    nextSequence = segment.header.sequences.upperBound + 1
    previousHash = segment.header.contentHash
    return segment
  }

  /// Makes other content for the sequence that comes next: two of these are a fork.
  public func fork(_ seed: UInt64) throws -> PackedSegment {
    var random = SeededRandom(seed: seed)
    return try make(1, 16, nil, random: &random)
  }

  private func make(
    _ count: Int, _ valueBytes: Int, _ base: (offset: UInt64, chain: LogChain)?, random: inout SeededRandom
  ) throws -> PackedSegment {
    var transactions: [[UInt8]] = []
    for index in 0..<UInt64(count) {
      let value = (0..<valueBytes).map { _ in UInt8.random(in: .min ... .max, using: &random) }
      transactions.append(
        try transaction(
          nextSequence + index,
          [.set(record: "record", type: "type", field: "field", value: .bytes(value))],
          base: base?.offset))
    }
    return try pack(transactions, baseProof: base?.chain.hash ?? .zero)
  }

  private func transaction(
    _ sequence: UInt64, _ operations: [LogOperation], base: UInt64?, parent: TransactionID? = nil
  ) throws -> [UInt8] {
    try LogTransaction(
      replica: replica, epoch: epoch, sequence: sequence, zone: zone,
      base: base.map { Base(incarnation: incarnation, offset: $0) }, parent: parent,
      timestamp: Timestamp(rawValue: (1_700_000_000_000 + sequence) << 16), operations: operations
    ).encoded()
  }

  private func pack(_ transactions: [[UInt8]], baseProof: ContentHash) throws -> PackedSegment {
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation, baseProof: { _ in baseProof }, previousHash: previousHash)
    return try SegmentPacker.pack(SegmentCut(header: header, isStored: false, transactions: transactions))
  }
}
