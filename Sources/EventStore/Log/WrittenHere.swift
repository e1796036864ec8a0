package import OperationFormat

/// Which transactions of a zone this store wrote, and not a copy of it.
///
/// A copy of a store's directory is a second store with the same identity. Once both have written, one of
/// them takes another epoch, which continues what both have. From then on each has its own lanes.
package struct WrittenHere: Hashable, Sendable {
  /// Who wrote a transaction.
  package enum Writer: Hashable, Sendable {
    case thisStore
    /// A store with the same identity: a copy of this store, or the store that this one is a copy of.
    case copy
    case other
  }

  private let replica: ReplicaID
  /// The epoch under which this store writes now.
  package let epoch: UInt32
  /// The earlier epochs that the present one continues, each with the last sequence that this store wrote in
  /// it.
  private let earlier: [UInt32: UInt64]

  init(_ replica: ReplicaID, epoch: UInt32, earlier: [UInt32: UInt64]) {
    self.replica = replica
    self.epoch = epoch
    self.earlier = earlier
  }

  package func writer(of id: TransactionID) -> Writer {
    guard id.replica == replica else { return .other }
    return id.sequence <= lastSequence(in: id.epoch) ? .thisStore : .copy
  }

  /// The last sequence that this store wrote in an epoch of its identity; 0 if it wrote none, and
  /// `UInt64.max` in its present epoch.
  package func lastSequence(in epoch: UInt32) -> UInt64 {
    epoch == self.epoch ? .max : earlier[epoch] ?? 0
  }
}

extension LaneTable {
  func writtenHere(in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity) throws -> WrittenHere {
    let epoch = row.ownEpoch(identity)
    var earlier: [UInt32: UInt64] = [:]
    if let own = try replicas.number(of: identity.replica) {
      // A lane may continue lanes of other replicas.
      for lane in try lineage(of: own, epoch, in: zone) where lane.replica == own {
        earlier[lane.epoch] = max(earlier[lane.epoch] ?? 0, lane.sequence)
      }
    }
    return WrittenHere(identity.replica, epoch: epoch, earlier: earlier)
  }
}
