/// The header of a segment, which holds consecutive transactions of one replica in one zone (bytes:
/// `SegmentFormat`).
public struct SegmentHeader: Hashable, Sendable {
  /// How the body is packed.
  public struct Codec: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// As it is.
    public static let none = Codec(rawValue: 0)
    /// A Zstandard frame (RFC 8878).
    public static let zstandard = Codec(rawValue: 1)
    /// A run of transactions, which share what they have alike, in a Zstandard frame.
    public static let shared = Codec(rawValue: 2)
  }

  public var zone: ZoneID
  /// The incarnation of the remote log that the segment was made for.
  public var incarnation: IncarnationID
  public var replica: ReplicaID
  public var epoch: UInt32
  /// The sequences of its transactions, without gaps.
  public var sequences: ClosedRange<UInt64>
  /// The greatest offset of ``incarnation`` that any of its transactions had seen; 0 if none had seen any.
  public var base: UInt64
  /// The content hash of the segment at ``base``; ``ContentHash/zero`` where that is 0.
  public var baseHash: ContentHash
  /// The number of operations in all its transactions.
  public var operationCount: UInt64
  /// The least and the greatest timestamp of its transactions.
  public var timestamps: ClosedRange<Timestamp>
  public var codec: Codec
  /// Which key the body is encrypted with; 0 for none, the only one that this version knows.
  public var keyID: UInt64
  /// The sizes of the body in bytes: unpacked here, packed below.
  public var unpackedBytes: UInt64
  public var packedBytes: UInt64
  /// The hash of the unpacked body. Together with replica, epoch and sequences, it identifies the segment.
  public var contentHash: ContentHash
  /// The content hash of this replica's previous segment in the incarnation; ``ContentHash/zero`` for the
  /// first.
  public var previousHash: ContentHash

  public init(
    zone: ZoneID, incarnation: IncarnationID, replica: ReplicaID, epoch: UInt32,
    sequences: ClosedRange<UInt64>, base: UInt64, baseHash: ContentHash, operationCount: UInt64,
    timestamps: ClosedRange<Timestamp>, codec: Codec = .none, keyID: UInt64 = 0, unpackedBytes: UInt64,
    packedBytes: UInt64, contentHash: ContentHash, previousHash: ContentHash
  ) {
    self.zone = zone
    self.incarnation = incarnation
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.base = base
    self.baseHash = baseHash
    self.operationCount = operationCount
    self.timestamps = timestamps
    self.codec = codec
    self.keyID = keyID
    self.unpackedBytes = unpackedBytes
    self.packedBytes = packedBytes
    self.contentHash = contentHash
    self.previousHash = previousHash
  }

  /// How many transactions it has.
  public var transactionCount: UInt64 { sequences.upperBound - sequences.lowerBound + 1 }
}
