import OperationFormat

/// What the log keeps of a transaction besides its body, in numbers of this store.
struct LogEntryHeader: Hashable, Sendable {
  var zone: ZoneNumber
  var replica: ReplicaNumber
  var epoch: UInt32
  var sequence: UInt64
  var baseIncarnation: IncarnationNumber
  var baseOffset: UInt64
  var parentReplica: ReplicaNumber
  var parentEpoch: UInt32
  var parentSequence: UInt64
  /// Arrival less the transaction's own time, in milliseconds.
  var arrivalDelay: Int64

  init(
    zone: ZoneNumber, replica: ReplicaNumber, epoch: UInt32, sequence: UInt64,
    base: BaseNumbers?,
    parent: LaneParent?, arrivalDelay: Int64
  ) {
    self.zone = zone
    self.replica = replica
    self.epoch = epoch
    self.sequence = sequence
    baseIncarnation = base?.incarnation ?? .none
    baseOffset = base?.offset ?? 0
    parentReplica = parent?.replica ?? .none
    parentEpoch = parent?.epoch ?? 0
    parentSequence = parent?.sequence ?? 0
    self.arrivalDelay = arrivalDelay
  }

  var base: BaseNumbers? {
    get { baseIncarnation == .none ? nil : (baseIncarnation, baseOffset) }
    set { (baseIncarnation, baseOffset) = newValue ?? (.none, 0) }
  }

  var parent: LaneParent? {
    parentReplica == .none ? nil : (parentReplica, parentEpoch, parentSequence)
  }
}

extension LogEntryHeader {
  /// Raises its base to another one of the same incarnation, or where it has none.
  mutating func raiseBase(to other: BaseNumbers?) {
    guard let other, baseIncarnation != other.incarnation || baseOffset < other.offset else { return }
    (baseIncarnation, baseOffset) = other
  }
}
