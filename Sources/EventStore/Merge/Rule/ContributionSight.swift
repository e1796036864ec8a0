import OperationFormat

/// What the order of contributions, and an explanation, need to know of a zone: who comes before whom, and
/// what is where.
package protocol ContributionSight: ReplicaReading {
  /// The identities that a replica's epoch continues, each with the last sequence it held.
  func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32
  ) throws -> [LaneParent]
  /// The first place of a head's transaction in an incarnation of the remote log; nil if it has none.
  func offset(of head: HeadID, in incarnation: IncarnationNumber) throws -> UInt64?
  /// Whether anything has a place in an incarnation.
  func hasPlaces(in incarnation: IncarnationNumber) throws -> Bool
}
