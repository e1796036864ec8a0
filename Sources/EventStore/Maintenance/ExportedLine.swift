package import OperationFormat

/// One line of an exported log, in the order of the export. The lines have all that is needed to make the
/// store again.
package enum ExportedLine: Hashable, Sendable {
  /// The store's identity.
  case header(StoreIdentity)
  case policy(type: Name, ExistencePolicy)
  /// A deleted zone that the remote still has to delete.
  case deletion(ZoneID, IncarnationID)
  case zone(ZoneID, ZoneAttachment, token: ExportedToken?, base: Base?, assets: AssetPolicy)
  case segment(ExportedSegment)
  case contested(ExportedContest)
  case limit(ExportedLimit)
  case reissued(ExportedReissue)
  case transaction(LogEntry)
}

/// A zone's token, with the hash of the segment at its offset.
package struct ExportedToken: Hashable, Sendable {
  package var base: Base
  package var hash: ContentHash

  package init(base: Base, hash: ContentHash) {
    self.base = base
    self.hash = hash
  }
}

/// A segment of a remote log that a store has folded or shipped. One with the sequences 0 to 0 stands for an
/// entry that was given up; then the hash is that of its tombstone.
package struct ExportedSegment: Hashable, Sendable {
  package var zone: ZoneID
  package var place: Base
  package var replica: ReplicaID
  package var epoch: UInt32
  package var sequences: ClosedRange<UInt64>
  package var hash: ContentHash
  package var receivedMilliseconds: UInt64?
  /// Why every replica rejects it; nil for one that was folded.
  package var rejection: SegmentRejection?
  /// The log's chain there; nil if it is not known.
  package var chain: LogChain?
  /// Whether the remote stated it.
  package var isChainStated: Bool
  /// Up to where its transactions have seen the log that name a greater base; nil if none does.
  package var limit: UInt64?

  package init(
    zone: ZoneID, place: Base, replica: ReplicaID, epoch: UInt32, sequences: ClosedRange<UInt64>,
    hash: ContentHash, receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil,
    chain: LogChain? = nil, isChainStated: Bool = true, limit: UInt64? = nil
  ) {
    self.limit = limit
    self.chain = chain
    self.isChainStated = isChainStated
    self.zone = zone
    self.place = place
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.rejection = rejection
  }
}

/// Transactions of a lane that had seen what a zone's log has lost, and were offered again.
package struct ExportedLimit: Hashable, Sendable {
  package var zone: ZoneID
  package var lane: StoreIdentity
  package var sequences: ClosedRange<UInt64>
  /// Up to where of which log they have seen it at most; the offset is 0 for nothing.
  package var base: Base

  package init(zone: ZoneID, lane: StoreIdentity, sequences: ClosedRange<UInt64>, base: Base) {
    (self.zone, self.lane, self.sequences, self.base) = (zone, lane, sequences, base)
  }
}

/// What a lane was before its store issued it again: see ``LaneFork``.
package struct ExportedReissue: Hashable, Sendable {
  package var zone: ZoneID
  package var lane: StoreIdentity
  package var former: StoreIdentity
  /// The first transaction of the former lane that is one of this lane, and how many are.
  package var first: UInt64
  package var count: UInt64
  /// Where the log has another branch of the former lane; nil if it only took no more of it.
  package var branch: Base?
  /// When, in milliseconds since 1970.
  package var milliseconds: Int64

  package init(
    zone: ZoneID, lane: StoreIdentity, former: StoreIdentity, first: UInt64, count: UInt64, branch: Base?,
    milliseconds: Int64
  ) {
    (self.zone, self.lane, self.former, self.first, self.count) = (zone, lane, former, first, count)
    (self.branch, self.milliseconds) = (branch, milliseconds)
  }
}

/// A lane that a store adopted to ship, and that had seen what the zone's log has lost since.
package struct ExportedContest: Hashable, Sendable {
  package var zone: ZoneID
  package var lane: StoreIdentity
  /// Its first transaction that cannot be shipped.
  package var first: UInt64
  /// The last offset that those from there on had seen and that the log still has; 0 for none.
  package var baseMax: UInt64

  package init(zone: ZoneID, lane: StoreIdentity, first: UInt64, baseMax: UInt64) {
    self.zone = zone
    self.lane = lane
    self.first = first
    self.baseMax = baseMax
  }
}
