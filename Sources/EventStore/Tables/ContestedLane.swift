import OperationFormat

/// An imported lane that this store ships, and cannot ship as it is: the log has another branch of it, or
/// lacks what the lane had seen.
struct ContestedLane: Hashable {
  /// The first transaction that cannot be shipped.
  var first: UInt64
  /// The offset of the log's branch, which the store cannot fold. The contest ends when that is folded or
  /// given up.
  var offset: UInt64
  /// The greatest offset that transactions from ``first`` on had seen and the log has.
  var baseMax: UInt64

  /// - Parameter first: the first transaction that had seen what the log lacks.
  static func byBase(from first: UInt64, baseMax: UInt64) -> ContestedLane {
    ContestedLane(first: first, offset: .max, baseMax: baseMax)
  }

  /// Whether the log lacks what the lane had seen.
  var isByBase: Bool { offset == .max }

  /// How many of a lane's transactions cannot be shipped.
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
      + "`replay sync STORE --remote REMOTE --let-go \(zone.argument)`. If it is gone, or has lost them, "
      + "send them as this store's with `replay sync STORE --remote REMOTE --take-over \(zone.argument)`"
  }
}
