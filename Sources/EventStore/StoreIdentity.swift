public import OperationFormat

/// A store's identity: which replica it is, and in which epoch of it.
public struct StoreIdentity: Hashable, Sendable {
  public let replica: ReplicaID
  /// Counts the lives of a replica: it grows when a store was copied or restored.
  public let epoch: UInt32

  public init(replica: ReplicaID, epoch: UInt32) {
    self.replica = replica
    self.epoch = epoch
  }
}
