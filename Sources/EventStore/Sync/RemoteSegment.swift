package import OperationFormat

/// A segment of a zone's remote log, as the replicator gives it to the store.
package struct RemoteSegment: Sendable {
  package var zone: ZoneID
  var incarnation: IncarnationID
  /// Its place in the zone's remote log, from 1.
  package var offset: UInt64
  var hash: ContentHash
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  var receivedMilliseconds: UInt64?
  /// The greatest offset that any of its transactions had seen; 0 if none had seen any, or it is not said.
  var base: UInt64
  /// Up to where transactions have seen the log that name a greater base; nil unless it was offered again: see
  /// `FormerPlace`.
  package var limit: UInt64?
  /// What shows that its writer had seen the log up to ``base``: see `SegmentHeader.baseProof`; nil if it is
  /// not said.
  var baseProof: ContentHash?
  /// The version of its header.
  var version: UInt8
  /// The hash of its replica's segment before it; nil if it is not said.
  var previousHash: ContentHash?
  /// The hash of its statement, which continues the log's chain; of a tombstone, of its bytes. Nil if it is not
  /// said: then it counts as that of a segment of an earlier program.
  package var statement: ContentHash?
  /// The log's chain there, as the remote states it.
  package var statedChain: LogChain?
  /// The canonical bytes of its transactions: consecutive ones of one replica and epoch.
  package var transactions: [[UInt8]]
  /// Its writer and its sequences, as its header says; nil where only its transactions say so.
  package var writer: StoreIdentity?
  package var saidSequences: ClosedRange<UInt64>?
  /// The bytes of transactions of its writer that are in earlier segments, by their sequences: those that the store knows
  /// by a snapshot alone, and that the segment repeats. See `StoreError.neededOffset`.
  package var earlier: [UInt64: [UInt8]] = [:]
  /// The offsets of earlier entries that it repeats, and that the remote does not have any more.
  package var goneEntries: Set<UInt64> = []
  /// Why it is invalid for everyone, where that was found when it was unpacked. It has no transactions then.
  package var rejection: SegmentRejection?
  /// Whether it stands for an entry that was given up at the remote: it has no transactions, and the
  /// tombstone's hash.
  package var isQuarantined = false

  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, base: UInt64 = 0, baseProof: ContentHash? = nil,
    version: UInt8 = SegmentHeader.newestVersion, previousHash: ContentHash? = nil, transactions: [[UInt8]],
    statement: ContentHash? = nil
  ) {
    self.statement = statement
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.base = base
    self.baseProof = baseProof
    self.version = version
    self.previousHash = previousHash
    self.transactions = transactions
  }

  /// What stands for an entry that was given up.
  package static func quarantined(
    _ zone: ZoneID, _ incarnation: IncarnationID, at offset: UInt64, tombstone: ContentHash
  ) -> RemoteSegment {
    var segment = RemoteSegment(
      zone: zone, incarnation: incarnation, offset: offset, hash: tombstone, receivedMilliseconds: nil,
      transactions: [])
    segment.isQuarantined = true
    segment.statement = tombstone
    return segment
  }
}

extension RemoteSegment {
  /// Transactions as a segment of an earlier program has them, or a later one: the header states the zone's owner, or not.
  func transactions(_ indices: ClosedRange<Int>, statingOwner: Bool) throws(FormatError) -> [[UInt8]] {
    var restated: [[UInt8]] = []
    for bytes in transactions[indices] {
      var reader = ByteReader(bytes.span.bytes)
      var header = try TransactionHeader.read(from: &reader, in: zone)
      header.statesOwner = statingOwner
      var writer = ByteWriter()
      header.encode(into: &writer)
      writer.append(bytes.span.bytes.extracting(reader.position...))
      restated.append(writer.bytes)
    }
    return restated
  }
}

/// The remote's answer that a segment that this store has shipped is at an offset.
package struct Acknowledgement: Sendable {
  var zone: ZoneID
  var incarnation: IncarnationID
  var offset: UInt64
  var hash: ContentHash
  var receivedMilliseconds: UInt64?
  /// The log's chain there, as the remote states it.
  var statedChain: LogChain?
  /// The sequences of the segment's transactions.
  var sequences: ClosedRange<UInt64>
  /// The lane that they are of; nil for the store's present own one.
  var writer: StoreIdentity?
  /// The header that was shipped; nil where it is not said.
  var header: SegmentHeader?

  package init(
    zone: ZoneID, incarnation: IncarnationID, offset: UInt64, hash: ContentHash,
    receivedMilliseconds: UInt64?, statedChain: LogChain? = nil, sequences: ClosedRange<UInt64>,
    writer: StoreIdentity? = nil, header: SegmentHeader? = nil
  ) {
    self.statedChain = statedChain
    self.writer = writer
    self.header = header
    self.zone = zone
    self.incarnation = incarnation
    self.offset = offset
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.sequences = sequences
  }
}

/// What folding remote segments did.
package struct IngestReport: Hashable, Sendable {
  /// Transactions that were new.
  package var folded = 0
  /// Transactions that the store had, and whose bytes are the same.
  package var known = 0
  /// Transactions whose heads got an earlier effective timestamp, and changed a winner by it.
  package var retimed = 0
  /// Cells that got a second head, which their other heads had not seen.
  package var conflicts = 0
  /// Segments that every replica rejects.
  package var rejected = 0
  /// Branches of lanes that were issued again, since the log has another one.
  package var forks = 0
  /// Others' transactions that were removed, since their log, which was read again, does not have them.
  package var removed = 0
  /// Segments that were too much for one commit, and those that came behind them: the zone's log was folded
  /// again with them, beside the present records.
  package var foldedBeside = 0
  /// How many of the segments were folded, from the first on: fewer than were given where they were much
  /// work.
  package var segments = 0
  /// Up to where the zone of the last segment is folded now; nil if there was no segment.
  package var token: ChangeToken?
  /// Where a floor has taken effect by it: how many bytes of the log a new snapshot would stand for now; else 0.
  package var snapshotDueBytes: UInt64 = 0

  package init() {}
}
