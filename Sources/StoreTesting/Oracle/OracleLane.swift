package import OperationFormat

/// One identity of a store, a replica and an epoch, as the oracle knows it.
package struct OracleLane: Hashable, Sendable {
  package var replica: ReplicaID
  package var epoch: UInt32
  /// The lane that this identity continues; nil for a first one.
  package var parent: Parent?

  /// A place in another lane.
  package struct Parent: Hashable, Sendable {
    package var lane: Int
    /// The last sequence of it that was held.
    package var through: Int

    package init(lane: Int, through: Int) {
      self.lane = lane
      self.through = through
    }
  }

  package init(replica: ReplicaID, epoch: UInt32, parent: Parent? = nil) {
    self.replica = replica
    self.epoch = epoch
    self.parent = parent
  }
}
