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

  /// The version of the header's bytes: 2, or 1 for a segment of an earlier program.
  public var version: UInt8
  /// Whether the body is encrypted. Then what the body has inside is not known outside: ``operationCount``,
  /// ``timestamps`` and ``unpackedBytes`` are 0.
  public var isSealed: Bool
  /// The zone's name. The owner is empty, which means the owner of the log: a segment does not depend on who
  /// looks at the zone. Only a header of version 1 may state an owner.
  public var zone: ZoneID
  /// The incarnation of the remote log that the segment was made for.
  public var incarnation: IncarnationID
  public var replica: ReplicaID
  public var epoch: UInt32
  /// The sequences of its transactions, without gaps.
  public var sequences: ClosedRange<UInt64>
  /// The greatest offset of ``incarnation`` that any of its transactions had seen; 0 if none had seen any.
  public var base: UInt64
  /// What shows that its writer had seen this log up to ``base``: the hash of the ``LogChain`` there. In a
  /// header of version 1 it is the content hash of the segment there. ``ContentHash/zero`` without a base.
  public var baseProof: ContentHash
  /// The number of operations in all its transactions.
  public var operationCount: UInt64
  /// The least and the greatest timestamp of its transactions.
  public var timestamps: ClosedRange<Timestamp>
  public var codec: Codec
  /// The epoch of the key that a sealed body is encrypted with, from 1; 0 for a body that is not sealed.
  public var keyID: UInt32
  /// The sizes of the body in bytes: unpacked here, packed below.
  public var unpackedBytes: UInt64
  public var packedBytes: UInt64
  /// The SHA-256 of the unpacked body; of a sealed one, its HMAC. Together with replica, epoch and sequences,
  /// it identifies the segment.
  public var contentHash: ContentHash
  /// The content hash of this replica's previous segment in the incarnation; ``ContentHash/zero`` for the
  /// first.
  public var previousHash: ContentHash
  /// The device whose signature follows the body; nil for a segment that is not signed.
  public var device: DeviceID?
  /// Where the segment was before, if it was offered again; else nil.
  public var former: FormerPlace?

  public init(
    version: UInt8 = Self.newestVersion, isSealed: Bool = false, zone: ZoneID, incarnation: IncarnationID,
    replica: ReplicaID, epoch: UInt32, sequences: ClosedRange<UInt64>, base: UInt64, baseProof: ContentHash,
    operationCount: UInt64, timestamps: ClosedRange<Timestamp>, codec: Codec = .none, keyID: UInt32 = 0,
    unpackedBytes: UInt64, packedBytes: UInt64, contentHash: ContentHash, previousHash: ContentHash,
    device: DeviceID? = nil, former: FormerPlace? = nil
  ) {
    self.version = version
    self.isSealed = isSealed
    self.zone = zone
    self.incarnation = incarnation
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.base = base
    self.baseProof = baseProof
    self.operationCount = operationCount
    self.timestamps = timestamps
    self.codec = codec
    self.keyID = keyID
    self.unpackedBytes = unpackedBytes
    self.packedBytes = packedBytes
    self.contentHash = contentHash
    self.previousHash = previousHash
    self.device = device
    self.former = former
  }

  /// The version that this program writes.
  public static let newestVersion: UInt8 = 2

  /// How many transactions it has.
  public var transactionCount: UInt64 { sequences.upperBound - sequences.lowerBound + 1 }
}
