public import OperationFormat

/// How far the records of a zone may be folded together: see ``LocalStore/compact(_:keeping:)``.
public struct CompactionPolicy: Hashable, Sendable {
  /// What came to the remote log later stays as it is, in milliseconds before the newest entry came there; by the wall clock
  /// if that is behind. So a clock that is ahead makes nothing old. What is deleted can be brought back by an undo as long.
  public var millisecondsMax: UInt64
  /// A writer that has sent nothing for so many milliseconds is not waited for. Nothing of it is lost: but what it writes
  /// without having seen the compacted records meets them as if both had been written at once.
  public var horizonMilliseconds: UInt64

  /// Makes a policy: a month, and for those who are away three.
  public init(millisecondsMax: UInt64 = 30 * 86_400_000, horizonMilliseconds: UInt64 = 90 * 86_400_000) {
    (self.millisecondsMax, self.horizonMilliseconds) = (millisecondsMax, horizonMilliseconds)
  }
}

/// Up to where the records of a zone are folded together, and could be.
public struct CompactionPlan: Hashable, Sendable {
  /// Why a floor is not higher.
  public enum Limit: Hashable, Sendable {
    /// What comes next is young.
    case age
    /// Something that waits to be sent has not seen what comes next.
    case unsent
    /// Writers that were there within the horizon have not seen what comes next.
    case writers([ReplicaID])
  }

  /// The zone.
  public let zone: ZoneID
  /// The offset of the zone's log up to which its records are compacted; 0 for none.
  public let floor: UInt64
  /// The offset up to which they could be; nil if that is no more, or if all between does nothing but name floors.
  public let next: UInt64?
  /// Why no more; nil if it is all that the store has read.
  public let limit: Limit?
  /// The records that would go: those that were deleted, and nobody has changed since.
  public let records: UInt64
  /// The values that would go: those that lost a conflict.
  public let values: UInt64
  /// The removed elements of lists and scalars of texts that would go.
  public let units: UInt64
}
