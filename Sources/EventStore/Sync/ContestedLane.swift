import LMDB
import OperationFormat

/// A lane that this store imported and is to ship, and that cannot be shipped as it is: the log has another
/// branch of it, or not what it had seen.
struct ContestedLane: Hashable {
  /// The first transaction that cannot be shipped.
  var first: UInt64
  /// The offset of the log's branch, which the store cannot fold; it is over once that was folded or given
  /// up.
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
  fileprivate static func contestedLane(
    _ zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32
  ) -> TableKey {
    rows(.contestedLanes, of: zone).appending(replica, epoch)
  }
}

extension Tables {
  /// What is known of a lane that the log contests; nil for any other.
  func contest(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ token: ZoneRow.Token,
    _ transaction: borrowing LMDBTransaction
  ) throws -> ContestedLane? {
    let key = TableKey.contestedLane(zone, replica, epoch)
    let found = try transaction.withCheckedValue(of: key, in: replicas) { row in
      var reader = ByteReader(row)
      return ContestedLane(
        first: try reader.readVarint("contested.first"), offset: try reader.readVarint("contested.offset"),
        baseMax: try reader.readVarint("contested.base"))
    }
    return found.flatMap { $0.offset > token.offset ? $0 : nil }
  }
}

extension TableStorage {
  func contest(_ lane: Lane, _ contested: ContestedLane) throws {
    try putChecked(.contestedLane(lane.zone, lane.replica, lane.epoch), in: tables.replicas) {
      $0.append(varint: contested.first)
      $0.append(varint: contested.offset)
      $0.append(varint: contested.baseMax)
    }
  }

  /// Forgets which lanes of a zone the log has other branches of. Where it does not have what a lane had
  /// seen, that stays known: the lane's bases say no more than they did.
  func removeBranches(of zone: ZoneNumber, _ token: ZoneRow.Token) throws {
    for (replica, epoch) in try tables.lanes(under: .rows(.contestedLanes, of: zone), transaction) {
      let contested = try tables.contest(of: replica, epoch, in: zone, token, transaction)
      if contested?.isByBase == true { continue }
      try removeContest(of: Lane(zone: zone, replica: replica, epoch: epoch))
    }
  }

  func removeContest(of lane: Lane) throws {
    let key = TableKey.contestedLane(lane.zone, lane.replica, lane.epoch)
    _ = try transaction.delete(key.span, in: tables.replicas)
  }

  /// Forgets which lanes of a zone the log contests.
  func removeContests(of zone: ZoneNumber) throws {
    try removeLaneRows(.contestedLanes, of: zone)
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
