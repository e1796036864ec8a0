import OperationFormat

/// A transaction's base, in numbers.
typealias BaseNumbers = (incarnation: IncarnationNumber, offset: UInt64)

/// A transaction that a lane continues, in numbers.
typealias LaneParent = (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)

/// A lane that another one continues, in numbers: up to which of its sequences.
typealias LaneAncestor = (replica: ReplicaNumber, epoch: UInt32, through: UInt64)

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
    base: (incarnation: IncarnationNumber, offset: UInt64)?,
    parent: (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)?, arrivalDelay: Int64
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

  var base: (incarnation: IncarnationNumber, offset: UInt64)? {
    baseIncarnation == .none ? nil : (baseIncarnation, baseOffset)
  }

  var parent: (replica: ReplicaNumber, epoch: UInt32, sequence: UInt64)? {
    parentReplica == .none ? nil : (parentReplica, parentEpoch, parentSequence)
  }
}
