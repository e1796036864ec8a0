package import OperationFormat

/// Which transactions of a zone this store wrote, as far as its own lanes tell.
///
/// A store's directory that is copied makes two stores with one identity. Once both have written, one of them takes
/// another epoch, which continues what both have: from there on each has lanes of its own.
package struct WrittenHere: Hashable, Sendable {
  /// Who wrote a transaction.
  package enum Writer: Hashable, Sendable {
    case thisStore
    /// A store with the same identity: a copy of this one, or the one that this is a copy of.
    case copy
    case other
  }

  private let replica: ReplicaID
  /// The epoch under which this store writes now.
  package let epoch: UInt32
  /// The earlier epochs that the present one continues, each with its last sequence that is this store's.
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

  /// The last sequence of an epoch of this store's identity that this store wrote; 0 if it wrote none. Of its present
  /// epoch there is no last one.
  package func lastSequence(in epoch: UInt32) -> UInt64 {
    epoch == self.epoch ? .max : earlier[epoch] ?? 0
  }
}

extension ReadTransaction {
  /// Which transactions of a zone this store wrote.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func writtenHere(in zone: ZoneID) throws -> WrittenHere {
    let (number, row) = try readView.zones.visible(zone)
    return try readView.lanes.writtenHere(in: number, row, identity)
  }
}

extension LaneTable {
  func writtenHere(in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity) throws -> WrittenHere {
    let epoch = row.ownEpoch(identity)
    var earlier: [UInt32: UInt64] = [:]
    if let own = try replicas.number(of: identity.replica) {
      // A lane may continue those of other replicas too.
      for lane in try lineage(of: own, epoch, in: zone) where lane.replica == own {
        earlier[lane.epoch] = max(earlier[lane.epoch] ?? 0, lane.through)
      }
    }
    return WrittenHere(identity.replica, epoch: epoch, earlier: earlier)
  }
}
