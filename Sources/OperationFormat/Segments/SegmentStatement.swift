/// What a segment's writer says about it, without how it is packed: its place in its writer's work, what the
/// writer had seen, and what the segment contains. Its hash continues the ``LogChain``, and a signature is
/// over it. So a segment that is packed again, or offered to another log, keeps its statement.
///
/// | bytes | field |
/// |---|---|
/// | 4 | `TRST` |
/// | 1 | version of the segment's header |
/// | 16 | incarnation, big-endian |
/// | 16 | replica, big-endian |
/// | 4 | epoch, big-endian |
/// | 8, 8 | first and last sequence, big-endian |
/// | 8 | base, big-endian |
/// | 32 | chain at the base; zeros without a base |
/// | 32 | content hash of this replica's segment before it; zeros for the first |
/// | 4 | key id, big-endian |
/// | 32 | content hash |
///
/// For a header of version 1, the base and the fields from the chain to the key id are zeros: a store that
/// read the log with an earlier version does not have them. Its content hash determines them.
public struct SegmentStatement: Hashable, Sendable {
  public var version: UInt8
  public var incarnation: IncarnationID
  public var replica: ReplicaID
  public var epoch: UInt32
  public var sequences: ClosedRange<UInt64>
  public var base: UInt64 = 0
  public var baseChain: ContentHash = .zero
  public var previousHash: ContentHash = .zero
  public var keyID: UInt32 = 0
  public var contentHash: ContentHash

  /// The statement of a segment with a header of version 1.
  package init(
    firstVersion incarnation: IncarnationID, _ replica: ReplicaID, _ epoch: UInt32,
    _ sequences: ClosedRange<UInt64>, _ contentHash: ContentHash
  ) {
    version = 1
    self.incarnation = incarnation
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.contentHash = contentHash
  }

  /// The statement's bytes.
  public var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.append(magic: "TRST")
    writer.append(version)
    writer.append(bigEndian: incarnation.rawValue)
    writer.append(bigEndian: replica.rawValue)
    writer.append(bigEndian: epoch)
    writer.append(bigEndian: sequences.lowerBound)
    writer.append(bigEndian: sequences.upperBound)
    writer.append(bigEndian: base)
    baseChain.write(to: &writer)
    previousHash.write(to: &writer)
    writer.append(bigEndian: keyID)
    contentHash.write(to: &writer)
    return writer.bytes
  }

  /// The hash that a ``LogChain`` is over.
  public var hash: ContentHash { ContentHash(of: bytes.span.bytes) }
}

extension SegmentHeader {
  /// The segment's statement in the log that it was made for.
  public var statement: SegmentStatement {
    var statement = SegmentStatement(
      firstVersion: incarnation, replica, epoch, sequences, contentHash)
    guard version > 1 else { return statement }
    statement.version = version
    statement.base = base
    statement.baseChain = baseProof
    statement.previousHash = previousHash
    statement.keyID = keyID
    return statement
  }

  /// The statement that its writer made about a segment which is offered again, in the log for which the
  /// writer had made it; nil for any other segment.
  public var formerStatement: SegmentStatement? {
    guard let former else { return nil }
    var statement = statement
    statement.incarnation = former.incarnation
    statement.base = former.base
    statement.baseChain = former.baseChain
    statement.previousHash = former.previousHash
    statement.keyID = former.keyID
    return statement
  }
}
