import EventStore
import OperationFormat

/// Checks a world at rest: every store has everything that was ever written, and nothing more. Invariants 2,
/// 4, 5, 13 and 15.
struct WorldAudit: WorldPart {
  /// The most writes of a workload that may fail before one is committed: a full disk explains a few.
  private static let refusedMax = 10

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func run() throws {
    note("audit")
    for device in devices {
      guard let store = device.store else {
        throw SimulationFailure(.noSurprise, "d\(device.number) does not run")
      }
      try ReadChecker(world).end(device)
      for zone in device.view.zones { try check(zone, device, store) }
      for life in facts.lives
      where !life.isClosed && device.selects(life.zone) && device.view.zone(life.zone) == nil {
        throw SimulationFailure(.nothingVanishes, "d\(device.number) does not have zone \(life.zone)")
      }
      try FoldChecker(world).check(device)
      try GrowthChecker.check(device, store)
    }
    // A world in which an app writes nothing tests nothing of it.
    for (workload, errors) in facts.refused.sorted(by: { $0.key < $1.key })
    where errors.count >= Self.refusedMax && !facts.committed.contains(workload) {
      throw SimulationFailure(
        .noSurprise,
        "no write of workload “\(workload)” was committed; \(errors.count) failed, the last with: \(errors.last)"
      )
    }
  }

  private func check(_ zone: DeviceZone, _ device: SimulatedDevice, _ store: LocalStore) throws {
    let life = zone.facts
    let name = "zone \(life.zone) of d\(device.number)"
    if life.isClosed {
      // It may stay only if it has transactions that were never shipped.
      guard zone.unacknowledged.contains(where: { life.model.place(of: $0) == nil }) else {
        throw SimulationFailure(.nothingIsSilent, "\(name) was deleted at the remote and is still there")
      }
      return
    }
    guard life.incarnation != nil else {
      throw SimulationFailure(.roundsMakeProgress, "\(name) never came to the remote")
    }
    guard zone.offset == life.segments.count else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere, "\(name) is folded up to \(zone.offset) of \(life.segments.count)")
    }
    guard zone.unacknowledged.isEmpty else {
      throw SimulationFailure(
        .acknowledgedIsEverywhere, "\(zone.unacknowledged.count) transactions of \(name) were never shipped")
    }
    guard !zone.isBehind else {
      throw SimulationFailure(.roundsMakeProgress, "\(name) is still to be folded again")
    }
    // No peer has lied yet: honest stores keep the rules of the log.
    if let rejected = try store.read({ try $0.rejectedSegments(in: life.zone, limit: 1) }).first {
      throw SimulationFailure(
        .acknowledgedIsEverywhere,
        "\(name) has rejected the segment at \(rejected.offset): \(rejected.reason)")
    }
    try store.read { transaction in
      do {
        try life.model.compareAll(transaction, zone.view, besides: device.view.model)
      } catch {
        throw SimulationFailure(.stateIsOracles, "\(name): \(error)")
      }
      world.count(.forwardings, try transaction.forwardings(in: life.zone).count)
      world.count(.lanesForked, try transaction.forks(in: life.zone).count { $0.noticedMilliseconds != nil })
    }
  }
}
