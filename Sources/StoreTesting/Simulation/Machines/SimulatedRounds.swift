import EventStore
import OperationFormat
import Replicator

/// Drives the replicators of a world's devices: delivers events to their machines, and runs the effects and
/// timers that the machines ask for.
struct SimulatedRounds: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Delivers an event to all replicators of a device.
  func deliver(_ event: ReplicatorEvent, _ device: SimulatedDevice) throws {
    for index in device.replicators.indices { try deliver(event, device, index) }
  }

  /// Delivers an event to a replicator, and schedules the effects.
  func deliver(_ event: ReplicatorEvent, _ device: SimulatedDevice, _ index: Int) throws {
    let replicator = device.replicators[index]
    switch event {
    case .syncRequested(let steps):
      replicator.isAsked = true
      replicator.pace.call()
      // A request during a round is served by the next round.
      replicator.steps = replicator.round == nil ? steps : nil
    case .started: replicator.isAsked = true
    case .localCommit, .remoteChanged: replicator.pace.call()
    case .timerFired, .completed, .remoteWorks: break
    }
    for effect in replicator.machine.step(event) {
      switch effect {
      case .round(let effect): try schedule(effect, device, index)
      case .setTimer(let timer, let range): schedule(timer, range, device, index)
      case .announce: announce(device)
      case .report(let report):
        note("d\(device.number) round over: \(RoundText.text(report))")
        try RoundChecker(world).check(report, of: device, replicator)
        replicator.round = nil
        replicator.last = (report, world.now)
      }
    }
  }

  private func announce(_ device: SimulatedDevice) {
    guard !HintFaults(world).isSilent(device) else { return }
    world.schedule(after: 1, in: device.process) {
      guard let runner = device.runner else { return }
      try act(device) { Task(executorPreference: executor) { await runner.announce() } }
    }
  }

  private func schedule(
    _ timer: ReplicatorTimer, _ range: ClosedRange<Int64>, _ device: SimulatedDevice, _ index: Int
  ) {
    let replicator = device.replicators[index]
    let number = (replicator.timers[timer] ?? 0) + 1
    replicator.timers[timer] = number
    let delay = device.drawMilliseconds(in: range)
    if timer == .next { replicator.nextMilliseconds = world.now + delay }
    world.schedule(after: delay, in: device.process) {
      guard replicator.timers[timer] == number else { return }
      if timer == .next { replicator.nextMilliseconds = nil }
      try act(device) { try deliver(.timerFired(timer), device, index) }
    }
  }

  private func schedule(_ effect: RoundEffect, _ device: SimulatedDevice, _ index: Int) throws {
    let process = device.process
    let replicator = device.replicators[index]
    if replicator.round == nil {
      try PaceChecker(world).check(replicator, of: device)
      replicator.round = .init(
        writes: device.view.writes, steps: device.mount == .right ? replicator.steps : nil,
        isAfterHealing: world.isHealed, ends: facts.ends)
      replicator.steps = .all
      replicator.isAsked = false
    }
    if case .zone(let zone, .prepare) = effect { replicator.round?.cut.insert(zone) }
    // Other devices act between two effects, and crashes happen there.
    let delay = world.isHealed ? 0 : Int64(world.timing.next(below: 4))
    world.schedule(after: delay, in: process) {
      guard let runner = device.runner else { return }
      note("d\(process.device) \(RoundText.text(effect))")
      try act(device) {
        Task(executorPreference: executor) {
          let result = await runner.perform(effect)
          guard !process.isOver, !device.isDying else { return }
          if case .zone(let zone, let result) = result { note(result, of: zone, device) }
          do { try deliver(.completed(result), device, index) } catch { world.keep(error) }
        }
      }
    }
  }

  private func note(_ result: ZoneResult, of zone: ZoneID, _ device: SimulatedDevice) {
    switch result {
    case .failed(let failure): note("d\(device.number) \(zone): failed: \(failure.code)")
    case .appended(.appended): world.count(.appended)
    case .appended(.alreadyThere): world.count(.appendedAlreadyThere)
    case .appended(.gone): world.count(.appendedToClosed)
    case .folded(let outcome):
      world.count(.foldedKnown, outcome.report.known)
      world.count(.foldedBeside, outcome.report.foldedBeside)
      world.count(.retimed, outcome.report.retimed)
    case .acknowledged(let report): world.count(.retimed, report.retimed)
    default: return
    }
  }
}
