import EventStore
import OperationFormat
import Replicator

/// Checks that a round's report is true: invariants 14 and 16.
struct RoundChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Checks a report. Where the round got nowhere, the report must say why.
  func check(_ report: SyncReport, of device: SimulatedDevice, _ replicator: SimulatedReplicator) throws {
    if !world.isModelled { return }
    world.count(.rounds)
    world.count(.folded, report.received)
    world.count(.conflicts, report.conflicts)
    let errors = ErrorChecker(world)
    let isAfterHealing = replicator.round?.isAfterHealing ?? false
    if let failure = report.failure {
      world.count(.roundsFailed)
      guard failure.scope == .round else {
        throw SimulationFailure(.roundsMakeProgress, "one zone's failure ended a whole round: \(failure)")
      }
      try errors.check(failure, of: device, isAfterHealing: isAfterHealing)
    }
    for zone in report.zones {
      try checkSaysIt(zone, device, replicator, report)
      switch zone.status {
      case .inSync: try checkHasShipped(zone.zone, device, replicator, report)
      case .unchanged: world.count(.zonesUnchanged)
      case .unfinished: world.count(.zonesUnfinished)
      case .parked(_, let failure):
        world.count(.zonesParked)
        try errors.check(failure, of: device, isAfterHealing: isAfterHealing)
      case .failed(let failure):
        world.count(.zonesFailed)
        try errors.check(failure, of: device, isAfterHealing: isAfterHealing)
      case .paused: world.count(.zonesPaused)
      case .removed: world.count(.zonesRemoved)
      case .local: break
      case .forked(let offset):
        throw SimulationFailure(
          .noSurprise,
          "zone \(zone.zone) of d\(device.number) is forked at \(offset), and nobody shares its identity")
      }
    }
  }

  /// A zone that is not folded to the log's end, as the round found it, must say so. One that waits for a
  /// segment must still ship.
  private func checkSaysIt(
    _ zone: ZoneReport, _ device: SimulatedDevice, _ replicator: SimulatedReplicator, _ report: SyncReport
  ) throws {
    guard let round = replicator.round, round.steps == .all, report.failure == nil,
      let known = device.view.zone(zone.zone), let incarnation = known.facts.incarnation
    else { return }
    let name = "a round of d\(device.number) says that \(zone.zone) is \(RoundText.text(zone.status))"
    switch zone.status {
    case .inSync:
      guard let end = round.ends[incarnation], known.token < end else { return }
      throw SimulationFailure(
        .nothingIsSilent, "\(name), and it is folded up to \(known.token) of \(end)")
    case .parked:
      guard !round.cut.contains(zone.zone), zone.shippingFailure == nil else { return }
      throw SimulationFailure(.roundsMakeProgress, "\(name), and shipped nothing of it")
    // One that is unchanged says that the round did not look.
    case .unchanged, .local, .unfinished, .paused, .forked, .removed, .failed: return
    }
  }

  /// A zone that is in sync has nothing pending, except what was written during the round.
  private func checkHasShipped(
    _ zone: ZoneID, _ device: SimulatedDevice, _ replicator: SimulatedReplicator, _ report: SyncReport
  ) throws {
    guard report.failure == nil, let round = replicator.round, round.steps == .all,
      round.writes == device.view.writes, let store = device.store
    else { return }
    let state = try store.syncState().zones.first { $0.zone == zone && $0.attachment == .attached }
    guard let state, state.pending > 0 else { return }
    throw SimulationFailure(
      .roundsMakeProgress,
      "a round of d\(device.number) says that \(zone) is in sync, and \(state.pending) transactions are "
        + "pending"
    )
  }
}
