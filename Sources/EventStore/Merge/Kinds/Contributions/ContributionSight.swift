import OperationFormat

/// What the order of contributions, and an explanation, need to know of a zone: who comes before whom, and what lies where.
package protocol ContributionSight: ReplicaReading {
  /// The identities that a replica's epoch continues, each with the last sequence it held.
  func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32, through: UInt64)]
  /// The first place of a head's transaction in an incarnation of the remote log; nil if it has none.
  func offset(of head: HeadID, in incarnation: IncarnationNumber) throws -> UInt64?
  /// Whether anything has a place in an incarnation.
  func hasPlaces(in incarnation: IncarnationNumber) throws -> Bool
}

extension ContributionSight {
  /// Whether a contribution has seen another operation. A base that claims to reach its transaction's own place reaches
  /// what lies before that.
  package func hasSeen(_ later: ContributionKey, _ earlier: HeadID) throws -> Bool {
    let id = later.head.id
    var context = CausalContext(
      zone: .none, replica: id.replica, epoch: id.epoch, sequence: id.sequence,
      base: later.incarnation == .none ? nil : (later.incarnation, later.baseOffset))
    context.lineage = try lineage(of: id.replica, id.epoch)
    return try context.hasSeen(earlier, at: id.index) { _, _, _, incarnation in
      guard let place = try offset(of: earlier, in: incarnation) else { return nil }
      guard place <= later.baseOffset, let own = try offset(of: id, in: incarnation) else { return place }
      return place < own ? place : nil
    }
  }
}
