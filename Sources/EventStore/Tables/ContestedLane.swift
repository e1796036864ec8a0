import OperationFormat

/// A lane that this store imported and is to ship, and that cannot be shipped as it is: the log has another branch of it, or
/// not what it had seen.
struct ContestedLane: Hashable {
  /// The first transaction that cannot be shipped.
  var first: UInt64
  /// The offset of the log's branch, which the store cannot fold; it is over once that was folded or given up.
  var offset: UInt64
  /// Up to where the log has what those from there on had seen.
  var baseMax: UInt64

  /// - Parameter first: the first transaction that had seen what the log does not have.
  static func byBase(from first: UInt64, baseMax: UInt64) -> ContestedLane {
    ContestedLane(first: first, offset: .max, baseMax: baseMax)
  }

  /// Whether the log does not have what it had seen.
  var isByBase: Bool { offset == .max }

  /// How many transactions of it cannot be shipped.
  func count(of lane: PendingLane) -> UInt64 { lane.last - min(first - 1, lane.last) }
}

extension TableKey {
  static func contestedLane(
    _ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32
  ) -> TableKey {
    rows(.contestedLanes, of: zone).appending(replica, epoch)
  }
}

extension StoreError {
  static func contested(_ lane: PendingLane, _ contested: ContestedLane, _ zone: ZoneID) -> StoreError {
    let count = contested.count(of: lane)
    let why =
      contested.isByBase
      ? "the log of zone “\(zone)” does not have what a lane had seen"
      : "the log of zone “\(zone)” has another branch of a lane at offset \(contested.offset)"
    return StoreError(
      .laneClosed, "\(why), and \(count) pending of it cannot be sent", hint: closedLaneHint(zone))
  }

  /// What to do about transactions of another store that the log does not take.
  static func closedLaneHint(_ zone: ZoneID) -> String {
    "they are kept here. If the store that wrote them still syncs, it sends them itself: let go of them with "
      + "`replay sync STORE --remote REMOTE --let-go \(zone.argument)`. If it is gone, or has lost them, send them as this "
      + "store's with `replay sync STORE --remote REMOTE --take-over \(zone.argument)`"
  }
}
