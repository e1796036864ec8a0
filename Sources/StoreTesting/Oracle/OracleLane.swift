import OperationFormat

/// One identity of a store, a replica and an epoch, as the oracle knows it.
struct OracleLane: Hashable, Sendable {
  var replica: ReplicaID
  var epoch: UInt32
  /// The lane that this identity continues; nil for a first one.
  var parent: Parent?

  /// A place in another lane.
  struct Parent: Hashable, Sendable {
    var lane: Int
    /// The last sequence of that lane that its store had.
    var through: Int
  }

  init(replica: ReplicaID, epoch: UInt32, parent: Parent? = nil) {
    self.replica = replica
    self.epoch = epoch
    self.parent = parent
  }
}
