import OperationFormat

/// What transactions of a zone have seen of each other, by the rows that a fold works on.
struct FoldSight<Storage: FoldStorage>: ContributionSight {
  let storage: Storage
  let zone: ZoneNumber

  init(_ storage: Storage, _ zone: ZoneNumber) { (self.storage, self.zone) = (storage, zone) }

  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID { try storage.replicaID(number) }

  func lineage(of replica: ReplicaNumber, _ epoch: UInt32) throws -> [LaneParent] {
    try storage.lineage(of: replica, epoch, in: zone)
  }

  func offset(of head: HeadID, in incarnation: IncarnationNumber) throws -> UInt64? {
    try storage.offset(of: head.replica, head.epoch, head.sequence, in: zone, incarnation)
  }

  func hasPlaces(in incarnation: IncarnationNumber) throws -> Bool {
    try storage.placedThrough(zone, incarnation) != nil
  }
}
