package import OperationFormat

/// One line of an exported log: all that a store needs to be made anew from it, in the order in which it is
/// exported.
package enum ExportedLine: Hashable, Sendable {
  /// Which store it was.
  case header(StoreIdentity)
  case policy(type: Name, ExistencePolicy)
  /// A zone that was deleted, which the remote is still to be told.
  case deletion(ZoneID, IncarnationID)
  case zone(ZoneID, ZoneAttachment, token: ExportedToken?, base: Base?, assets: AssetPolicy)
  case segment(ExportedSegment)
  case contested(ExportedContest)
  case transaction(LogEntry)
}

/// A zone's token with the hash of the segment it lies on.
package struct ExportedToken: Hashable, Sendable {
  package var base: Base
  package var hash: ContentHash

  package init(base: Base, hash: ContentHash) {
    self.base = base
    self.hash = hash
  }
}

/// A segment of a remote log that a store has folded or shipped. One whose sequences are 0 to 0 stands for an entry that
/// was given up, and the hash is its tombstone's.
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

  package init(
    zone: ZoneID, place: Base, replica: ReplicaID, epoch: UInt32, sequences: ClosedRange<UInt64>,
    hash: ContentHash, receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil
  ) {
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

/// A lane that a store was to ship for another one, and that had seen what the zone's log has lost since.
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
