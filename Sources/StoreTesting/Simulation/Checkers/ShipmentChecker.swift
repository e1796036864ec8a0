import EventStore
import OperationFormat

/// Checks what a store says of its shipped transactions: those that count as shipped are at the remote, and
/// no others are missing there. Invariants 2 and 6.
enum ShipmentChecker {
  static func check(
    _ zone: DeviceZone, _ state: StoreSyncState, _ transaction: borrowing ReadTransaction
  ) throws {
    try compareAcknowledged(zone, transaction)
    let pending =
      state.zones.first { $0.zone == zone.facts.zone && $0.attachment != .deleting }?.pending ?? 0
    guard pending == zone.unacknowledged.count else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere,
        "\(pending) transactions of \(zone.facts.zone) are pending, and \(zone.unacknowledged.count) are not "
          + "known to be at the remote")
    }
    if let missing = zone.takeMissing() {
      throw SimulationFailure(
        .tokenIsNotAhead,
        "\(zone.facts.model.transactions[missing].id) of \(zone.facts.zone) is before the token and was "
          + "not folded"
      )
    }
  }

  private static func compareAcknowledged(
    _ zone: DeviceZone, _ transaction: borrowing ReadTransaction
  ) throws {
    guard zone.facts.incarnation != nil else { return }
    var left: [Int] = []
    for number in zone.unacknowledged {
      let id = zone.facts.model.transactions[number].id
      guard let placement = try transaction.placement(of: id, in: zone.facts.zone) else {
        left.append(number)
        continue
      }
      let offset = Int(placement.offset)
      guard offset > 0, offset <= zone.facts.segments.count,
        zone.facts.segments[offset - 1].numbers.contains(number)
      else {
        throw SimulationFailure(
          .acknowledgedIsEverywhere,
          "\(id) of \(zone.facts.zone) counts as shipped to offset \(offset), where it is not")
      }
      zone.learn(zone.facts.segments[offset - 1])
    }
    zone.unacknowledged = left
  }
}
