import EventStore
import OperationFormat
import Replicator

/// Performs the steps of a plan.
struct SimulatedActions: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  func perform(_ step: SimulationStep, _ choices: inout SimulationChoices) throws {
    let device = devices[step.device]
    try SimulatedAssets(world).keepPolicies(of: device)
    switch step.action {
    case .write: try SimulatedWrites(world).write(on: device, &choices)
    case .writeGroup: try SimulatedWrites(world).writeGroup(on: device, &choices)
    case .sync: try sync(device, &choices)
    case .push: try push(device)
    case .crash: try crash(device)
    case .restart: try restart(device)
    case .partition: device.isCutOff.toggle()
    case .sleep: sleep(&choices)
    case .leave: leave(device, &choices)
    case .clockJump: jump(device, &choices)
    case .wipe: wipe(device)
    case .forgetTokens: try forgetTokens(device)
    case .unmount: try RemoteMounts(world).mount(.nothing, .remoteUnmounted, on: device, &choices)
    case .mountForeign: try RemoteMounts(world).mount(.foreign, .remoteForeign, on: device, &choices)
    case .mountOld: try RemoteMounts(world).mount(.old, .remoteOld, on: device, &choices)
    case .deleteZone: try SimulatedWrites(world).deleteZone(on: device, &choices)
    case .newerWrite: try writeAsNewerVersion(&choices)
    case .upgrade: device.isOlder = false
    case .holdRead: try ReadChecker(world).begin(device)
    case .endRead: try ReadChecker(world).end(device)
    case .restoreLoser: try SimulatedWrites(world).restoreLoser(on: device, &choices)
    case .verify: try FoldChecker(world).check(device)
    case .reclaim: try reclaim(device)
    case .undo: try SimulatedUndo(world).run(on: device, &choices)
    case .readPast: try PastChecker(world).check(device, &choices)
    }
    try world.throwSurprise()
  }

  // MARK: Syncing

  private func sync(_ device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard device.store != nil else { return }
    let steps: SyncSteps = choices.pick([.all, .fetch, .ship])
    let index = choices.next(below: device.replicators.count)
    note("d\(device.number) is asked to sync")
    try act(device) { try SimulatedRounds(world).deliver(.syncRequested(steps), device, index) }
  }

  private func push(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    try act(device) {
      try SimulatedRounds(world).deliver(.remoteChanged(HintFaults(world).hint(to: device)), device)
    }
  }

  private func leave(_ device: SimulatedDevice, _ choices: inout SimulationChoices) {
    guard !device.isCutOff else { return }
    mark(.offlineForMonths)
    device.isCutOff = true
    let days = Int64(choices.next(in: 1...90))
    note("d\(device.number) leaves for \(days) days")
    world.schedule(after: days * dayMilliseconds, in: nil) { device.isCutOff = false }
  }

  /// Appends a segment as a replica of a newer version, which is no device. Its operations are of kinds that
  /// no store here knows, and some of known kinds.
  private func writeAsNewerVersion(_ choices: inout SimulationChoices) throws {
    let open = facts.lives.filter { !$0.isClosed && !$0.isDeletionAsked }
    guard !open.isEmpty else { return }
    let life = open[choices.next(below: open.count)]
    mark(.newerWriter)
    note("a newer version writes to \(life.zone)")
    let segment = try facts.makeNewerSegment(for: life, wall: world.wallMilliseconds, &choices)
    let (log, zone) = (place.server, life.zone)
    let outcome = try executor.wait { try await log.append(segment, after: 0, in: zone) }
    // A deletion that is under way has sealed the log, and is not in the list of zones yet.
    if case .gone = outcome { return }
    guard case .appended = outcome else {
      throw SimulationFailure(.noSurprise, "a newer version's append came to \(outcome)")
    }
    try RemoteWatch(world).look()
    if configuration.has(.newerSegment), choices.next(below: 2) == 1 {
      mark(.newerSegment)
      life.markLastAsNewer()
    }
  }

  // MARK: Processes, clocks and disks

  private func crash(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    mark(.crash)
    try SimulatedMachines(world).crash(device)
  }

  private func restart(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    mark(.restart)
    SimulatedMachines(world).end(device)
    try SimulatedMachines(world).boot(device)
  }

  /// Minutes, days or months pass while every machine is suspended.
  private func sleep(_ choices: inout SimulationChoices) {
    mark(.sleep)
    world.pass(Int64(choices.next(in: 1...choices.pick([600, 480_000, 7_776_000]))) * 1000)
  }

  private func jump(_ device: SimulatedDevice, _ choices: inout SimulationChoices) {
    guard device.configuration.clockJumps else { return }
    mark(.clockJump)
    let hours = choices.pick([1, 24, 24 * 365, 24 * 365 * 30])
    let sign: Int64 = choices.next(below: 2) == 0 ? -1 : 1
    device.clockOffset = max(
      device.clockOffset + sign * Int64(hours) * 3_600_000, -configuration.startMilliseconds)
    note("d\(device.number)'s clock jumps by \(sign * Int64(hours)) hours")
  }

  private func wipe(_ device: SimulatedDevice) {
    guard device.generation == 0, device.store != nil else { return }
    mark(.storeWiped)
    note("d\(device.number) is wiped")
    device.wipe()
    device.mount = .right
    executor.run()
    SimulatedMachines(world).restart(device)
  }

  private func forgetTokens(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    mark(.tokensForgotten)
    note("d\(device.number) forgets its tokens")
    // Without its tokens it cannot tell a copy of the remote.
    try RemoteMounts(world).mount(.right, on: device)
    for zone in device.view.zones { zone.forgetToken() }
    device.disturbRounds()
    try SimulatedMachines(world).attempt(on: device, [.full, .commitFailed, .commitUncertain]) {
      try await store.forgetTokens()
    }
  }

  private func reclaim(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    world.count(.reclaimed)
    try SimulatedMachines(world).attempt(on: device, [.full, .commitFailed, .commitUncertain, .closed]) {
      _ = try await store.reclaim()
    }
  }
}
