package import OperationFormat

/// Which transactions of a zone this store wrote, and not a copy of it.
///
/// A copy of a store's directory takes another identity when it is opened, which continues what both have. Where nobody
/// notices that it is a copy, both write under one identity until one of them takes another epoch. From then on each has
/// its own lanes.
package struct WrittenHere: Hashable, Sendable {
  /// Who wrote a transaction.
  package enum Writer: Hashable, Sendable {
    case thisStore
    /// A store with an identity that this one has or had: a copy of this store, or the store that this one is a copy of.
    case copy
    case other
  }

  /// This store's identity, with the epoch under which it writes in the zone now.
  package let identity: StoreIdentity
  /// The replicas that it was before.
  private let formers: Set<ReplicaID>
  /// The earlier lanes that the present one continues, each with the last sequence that this store wrote in it.
  private let earlier: [StoreIdentity: UInt64]

  init(_ identity: StoreIdentity, formers: Set<ReplicaID>, earlier: [StoreIdentity: UInt64]) {
    (self.identity, self.formers, self.earlier) = (identity, formers, earlier)
  }

  /// Whether a replica is this store's, or was.
  package func isOwn(_ replica: ReplicaID) -> Bool {
    replica == identity.replica || formers.contains(replica)
  }

  package func writer(of id: TransactionID) -> Writer {
    guard isOwn(id.replica) else { return .other }
    let lane = StoreIdentity(replica: id.replica, epoch: id.epoch)
    return id.sequence <= lastSequence(in: lane) ? .thisStore : .copy
  }

  /// The last sequence that this store wrote in a lane; 0 if it wrote none, and `UInt64.max` in its present one.
  package func lastSequence(in lane: StoreIdentity) -> UInt64 {
    lane == identity ? .max : earlier[lane] ?? 0
  }
}

extension LaneTable {
  func writtenHere(in zone: ZoneNumber, _ row: ZoneRow, _ identity: StoreIdentity) throws -> WrittenHere {
    let present = StoreIdentity(replica: identity.replica, epoch: row.ownEpoch(identity))
    let formers = Set(try meta.formers())
    var earlier: [StoreIdentity: UInt64] = [:]
    if let own = try replicas.number(of: identity.replica) {
      // A lane may continue lanes of other replicas.
      for lane in try lineage(of: own, present.epoch, in: zone) {
        let writer = StoreIdentity(replica: try replicas.identity(of: lane.replica), epoch: lane.epoch)
        guard writer.replica == identity.replica || formers.contains(writer.replica) else { continue }
        earlier[writer] = max(earlier[writer] ?? 0, lane.sequence)
      }
    }
    return WrittenHere(present, formers: formers, earlier: earlier)
  }
}
