/// What is known about a run without its bytes, because what contains it says it.
package struct RunContext: Hashable, Sendable {
  package var replica: ReplicaID
  package var epoch: UInt32
  /// The sequence of the first transaction.
  package var firstSequence: UInt64
  package var zone: ZoneID
  /// The incarnation of the first base, unless the run says another.
  package var incarnation: IncarnationID

  package init(
    replica: ReplicaID, epoch: UInt32, firstSequence: UInt64, zone: ZoneID, incarnation: IncarnationID
  ) {
    self.replica = replica
    self.epoch = epoch
    self.firstSequence = firstSequence
    self.zone = zone
    self.incarnation = incarnation
  }
}
