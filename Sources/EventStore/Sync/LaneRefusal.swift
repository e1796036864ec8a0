import LMDB
import OperationFormat

/// The part of a pending lane that the log does not take as it is: all from one transaction on.
struct LaneRefusal: Hashable {
  enum Reason: Hashable {
    /// The log has closed the lane at this offset.
    case closed(UInt64)
    case contested(ContestedLane)
    /// The lane continues transactions that the log does not take, or now has with other bytes. Shipped as it
    /// is, it would name a transaction of the log that it never saw.
    case parent
  }

  /// The first transaction that cannot be shipped.
  var first: UInt64
  /// Up to where the log has what those from there on had seen.
  var baseMax: UInt64
  var reason: Reason

  /// Where the log has other transactions under the sequences of that part; nil if it has none.
  func branch(in token: ZoneRow.Token) -> BaseNumbers? {
    guard case .contested(let contested) = reason, !contested.isByBase else { return nil }
    return (token.incarnation, contested.offset)
  }
}

extension LaneTable {
  /// What the log does not take of a pending lane, be it for what that continues; nil if it takes all.
  ///
  /// - Complexity: a few look-ups for each lane that it continues.
  func refusal(of lane: PendingLane, in zone: ZoneNumber, _ token: ZoneRow.Token) throws -> LaneRefusal? {
    let contested = try contest(of: lane.replica, lane.epoch, in: zone, token)
    var refusal = LaneRefusal(first: 1, baseMax: contested?.baseMax ?? .max, reason: .parent)
    if let offset = try closure(of: lane.replica, lane.epoch, in: zone, token.incarnation) {
      (refusal.first, refusal.reason) = (lane.placed + 1, .closed(offset))
    } else if try continuesRefused(lane, in: zone, token) {
      refusal.first = 1
    } else if let contested {
      (refusal.first, refusal.reason) = (max(lane.placed + 1, contested.first), .contested(contested))
    } else {
      return nil
    }
    return refusal.first <= lane.last ? refusal : nil
  }

  private func continuesRefused(
    _ lane: PendingLane, in zone: ZoneNumber, _ token: ZoneRow.Token
  ) throws -> Bool {
    guard lane.placed == 0 else { return false }
    for parent in try lineage(of: lane.replica, lane.epoch, in: zone) {
      let (replica, epoch) = (parent.replica, parent.epoch)
      let placed = try placements.lastPlaced(replica, epoch, in: zone, token.incarnation)
      // What is in the log has there what it continues.
      if parent.sequence <= placed { return false }
      if try closure(of: replica, epoch, in: zone, token.incarnation) != nil { return true }
      let contested = try contest(of: replica, epoch, in: zone, token)
      if let contested, parent.sequence >= contested.first { return true }
    }
    return false
  }
}

extension StoreError {
  static func refused(_ lane: PendingLane, _ refusal: LaneRefusal, _ zone: ZoneID) -> StoreError {
    let why: String
    switch refusal.reason {
    case .contested(let contested): return .contested(lane, contested, zone)
    case .closed(let offset): why = "the log of zone “\(zone)” has closed a lane at offset \(offset)"
    case .parent: why = "the log of zone “\(zone)” does not take what a lane continues"
    }
    return StoreError(
      .laneClosed, "\(why), and \(lane.last - (refusal.first - 1)) pending of it cannot be sent",
      hint: closedLaneHint(zone))
  }
}
