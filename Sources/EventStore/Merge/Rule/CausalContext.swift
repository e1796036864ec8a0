import OperationFormat

/// What a transaction had seen when it was made: the rule for all conflicts.
package struct CausalContext: Sendable {
  /// The zone whose placements count.
  var zone: ZoneNumber
  package var replica: ReplicaNumber
  package var epoch: UInt32
  var sequence: UInt64
  /// The incarnation and offset up to which all was folded; nil if nothing was.
  var base: BaseNumbers?
  /// Identities that this one continues, each with the last sequence it held; empty for nearly all.
  package var lineage: [LaneParent] = []
  /// Whether the base is at or past every placement there is, so that no lookup is needed.
  package var seesAllPlaced = false
  /// The floor of the state that is folded into; nil for none.
  package var floor: CompactionFloor?

  package init(
    zone: ZoneNumber, replica: ReplicaNumber, epoch: UInt32, sequence: UInt64,
    base: BaseNumbers?
  ) {
    self.zone = zone
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    self.base = base
  }

  /// Whether this transaction, at its operation `index`, has seen the operation that made a head.
  ///
  /// - Parameter offset: looks up the first place of a transaction in an incarnation of the zone's remote
  ///   log.
  func hasSeen(
    _ head: HeadID, at index: UInt32,
    offset: (ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, IncarnationNumber) throws -> UInt64?
  ) rethrows -> Bool {
    if head.isCompacted {
      // What is compacted itself has seen what stands before it.
      if sequence == 0 { return head.replica == replica && head.epoch == epoch && head.index < index }
      return floor?.isReached(by: base) ?? false
    }
    if head.replica == replica && head.epoch == epoch {
      return head.sequence < sequence || (head.sequence == sequence && head.index < index)
    }
    for ancestor in lineage where ancestor.replica == head.replica && ancestor.epoch == head.epoch {
      if head.sequence <= ancestor.sequence { return true }
    }
    guard let base else { return false }
    guard let found = try offset(head.replica, head.epoch, head.sequence, base.incarnation) else {
      return false
    }
    return reaches(found)
  }

  /// Whether this transaction has seen what is compacted.
  var seesCompacted: Bool { seesAllPlaced || (floor?.isReached(by: base) ?? true) }

  /// Whether what is at an offset of the base's incarnation was folded before.
  func reaches(_ offset: UInt64) -> Bool {
    guard let base else { return false }
    return offset <= base.offset
  }
}
