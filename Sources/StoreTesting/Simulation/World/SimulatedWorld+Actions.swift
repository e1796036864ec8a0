import EventStore
import OperationFormat
import Replicator

extension SimulatedWorld {
  /// Does a step of the plan.
  func perform(_ step: SimulationStep, _ choices: inout SimulationChoices) throws {
    let device = devices[step.device]
    try keepPolicies(of: device)
    switch step.action {
    case .write: try write(on: device, &choices)
    case .writeGroup: try writeGroup(on: device, &choices)
    case .sync: try sync(device, &choices)
    case .push: try push(device)
    case .crash:
      guard device.store != nil else { return }
      mark(.crash)
      try crash(device)
    case .restart:
      guard device.store != nil else { return }
      mark(.restart)
      device.end()
      executor.run()
      try boot(device)
    case .partition: device.isCutOff.toggle()
    case .sleep:
      mark(.sleep)
      // Minutes, days or months.
      pass(Int64(choices.next(in: 1...choices.pick([600, 480_000, 7_776_000]))) * 1000)
    case .leave: leave(device, &choices)
    case .clockJump: jump(device, &choices)
    case .wipe: wipe(device)
    case .forgetTokens: try forgetTokens(device)
    case .unmount: try mount(.nothing, .remoteUnmounted, device, &choices)
    case .mountForeign: try mount(.foreign, .remoteForeign, device, &choices)
    case .mountOld: try mount(.old, .remoteOld, device, &choices)
    case .deleteZone: try deleteZone(on: device, &choices)
    case .newerWrite: try newerWrite(&choices)
    case .upgrade: device.isOlder = false
    case .holdRead: try holdRead(device)
    case .endRead: try endRead(device)
    case .restoreLoser: try restoreLoser(on: device, &choices)
    case .verify: try verify(device)
    case .reclaim: try reclaim(device)
    }
    try throwSurprise()
  }

  // MARK: Writing

  private func write(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard device.store != nil, device.configuration.role == .writer else { return }
    let write = SimulatedWrite(choices)
    defer { choices = write.choices }
    try perform(write, of: write.choose(device.workloads), on: device)
  }

  private func perform(
    _ write: SimulatedWrite, of workload: any SimulationWorkload, on device: SimulatedDevice
  ) throws {
    guard let store = device.store, mayWrite(workload, device) else { return }
    note("d\(device.number) writes \(workload.name)")
    try act(device) {
      do {
        try store.writeBlockingThisThread { try write.run(workload, &$0) }
        try didWrite(write, device)
      } catch {
        try didFail(write, device, error)
      }
    }
  }

  private func writeGroup(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store, device.configuration.role == .writer else { return }
    let writes = (0..<choices.next(in: 2...5)).map { _ in SimulatedWrite(seededBy: &choices) }
    mark(.groupCommit)
    note("d\(device.number) writes \(writes.count) times at once")
    try act(device) {
      store.holdWrites()
      for write in writes {
        let workload = write.choose(device.workloads)
        let fails = choices.next(below: 5) == 4
        guard mayWrite(workload, device) else { continue }
        Task(executorPreference: executor) { [self] in
          do {
            try await store.write { transaction in
              try write.run(workload, &transaction)
              if fails { throw AppError() }
            }
            try didWrite(write, device)
          } catch {
            do { try didFail(write, device, error) } catch { note(error) }
          }
        }
      }
      executor.run()
      store.releaseWrites()
      executor.run()
    }
  }

  /// Whether all zones of a workload are there or may be made: in half of the worlds what was deleted stays so.
  private func mayWrite(_ workload: any SimulationWorkload, _ device: SimulatedDevice) -> Bool {
    configuration.has(.zoneRecreated)
      || workload.zones.allSatisfy { !deletedZones.contains($0) || device.view.zone($0) != nil }
  }

  private func didWrite(_ write: SimulatedWrite, _ device: SimulatedDevice) throws {
    coverage.add(.writes)
    device.toldWrites.append(write.told(true))
    device.view.writes += 1
    guard !device.isDying else { return }
    try deliver(.localCommit, device)
  }

  private func didFail(_ write: SimulatedWrite, _ device: SimulatedDevice, _ error: any Error) throws {
    if let failure = error as? SimulationFailure { throw failure }
    coverage.add(.writesFailed)
    device.toldWrites.append(write.told(error))
    note("d\(device.number) write failed: \(Self.code(of: error))")
    // What the app throws is its own.
    if error is StoreError {
      try expect(error, [.full, .commitFailed, .commitUncertain, .recordUnknown, .recordExists, .closed])
    }
    device.view.writes += 1
  }

  /// Restores a loser of a conflict: of a field, or where none is in conflict of a record's existence.
  func restoreLoser(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    let allowed = options.workloads.filter(\.allowsRestoring).flatMap(\.zones)
    let zones = device.view.zones.map(\.facts.zone).filter(allowed.contains)
    guard let store = device.store, device.configuration.role == .writer else { return }
    let all = try store.read { transaction in try zones.flatMap { try transaction.conflicts(in: $0) } }
    let ofFields = all.filter { $0.field != nil }
    let conflicts = ofFields.isEmpty ? all : ofFields
    guard !conflicts.isEmpty else { return }
    let conflict = choices.pick(conflicts)
    let loser = conflict.losers[choices.next(below: conflict.losers.count)].operation
    coverage.add(.losersRestored)
    note("d\(device.number) restores \(loser) of \(conflict.record)")
    let write = SimulatedWrite(SimulationChoices(replaying: []))
    try act(device) {
      do {
        try store.writeBlockingThisThread { transaction in
          try write.run(&transaction) { try $0.restore(loser, in: conflict.field, of: conflict.record) }
        }
        try didWrite(write, device)
      } catch {
        device.toldWrites.append(write.told(error))
        try expect(error, [.full, .commitFailed, .commitUncertain, .recordUnknown])
      }
    }
  }

  // MARK: Zones

  private func deleteZone(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store, device.configuration.role == .writer, !device.view.zones.isEmpty else {
      return
    }
    let facts = device.view.zones[choices.next(below: device.view.zones.count)].facts
    let zone = facts.zone
    if facts.incarnation == nil { self.facts.deletedInTheMaking.insert(zone) }
    mark(.zoneDeleted)
    note("d\(device.number) deletes zone \(zone)")
    facts.isDeletionAsked = true
    deletedZones.insert(zone)
    device.deletedZones.insert(zone)
    let write = SimulatedWrite(SimulationChoices(replaying: []))
    try act(device) {
      do {
        try store.writeBlockingThisThread { try $0.deleteZone(zone) }
        try didWrite(write, device)
      } catch {
        try expect(error, [.full, .commitFailed, .commitUncertain])
      }
    }
    device.deletedZones.remove(zone)
    // At once made anew: what is under way for the old one meets the new one.
    if choices.next(below: 2) == 1 { try self.write(to: zone, on: device, &choices) }
    if choices.next(below: 2) == 1 { try meetDeletion(of: zone, &choices) }
  }

  private func write(
    to zone: ZoneID, on device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    guard let workload = device.workloads.first(where: { $0.zones.contains(zone) }) else { return }
    try perform(SimulatedWrite(seededBy: &choices), of: workload, on: device)
  }

  /// Lets every device that has a zone write to it and sync, some calls before or after another tells the remote that it
  /// was deleted.
  private func meetDeletion(of zone: ZoneID, _ choices: inout SimulationChoices) throws {
    for device in devices where device.configuration.role == .writer && device.view.zone(zone) != nil {
      try write(to: zone, on: device, &choices)
    }
    for device in devices where device.store != nil {
      let delay = Int64(choices.next(below: 8 * configuration.latencyMilliseconds))
      queue.add(at: now + delay, device.process) { [unowned self] in
        try act(device) { try deliver(.syncRequested(.all), device, 0) }
      }
    }
  }

  /// Has a newer version's replica, which is no device, append a segment: with operations of kinds that no store here
  /// knows, and some that all know.
  private func newerWrite(_ choices: inout SimulationChoices) throws {
    let open = facts.lives.filter { !$0.isClosed && !$0.isDeletionAsked }
    guard !open.isEmpty else { return }
    let life = open[choices.next(below: open.count)]
    mark(.newerWriter)
    note("a newer version writes to \(life.zone)")
    let segment = try facts.makeNewerSegment(
      for: life, wall: configuration.startMilliseconds + now, &choices)
    let log = place.server
    let outcome = try executor.wait { try await log.append(segment, after: 0) }
    // A deletion that is under way has sealed the log, and is not in the list of zones yet.
    if case .gone = outcome { return }
    guard case .appended = outcome else {
      throw SimulationFailure(.noSurprise, "a newer version's append came to \(outcome)")
    }
    try observeRemote()
    if configuration.has(.newerSegment), choices.next(below: 2) == 1 {
      mark(.newerSegment)
      life.markLastAsNewer()
    }
  }

  private func reclaim(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    coverage.add(.reclaimed)
    try attempt(on: device, [.full, .commitFailed, .commitUncertain, .closed]) {
      _ = try await store.reclaim()
    }
  }

  /// Has a store do what its disk may refuse.
  func attempt(
    on device: SimulatedDevice, _ codes: Set<StoreError.Code>,
    _ work: @escaping @Sendable () async throws -> Void
  ) throws {
    try act(device) {
      Task(executorPreference: executor) { [self] in
        do {
          try await work()
        } catch {
          do { try expect(error, codes) } catch { note(error) }
        }
      }
    }
  }

  // MARK: Syncing

  private func sync(_ device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard device.store != nil else { return }
    let steps: SyncSteps = choices.pick([.all, .fetch, .ship])
    let index = choices.next(below: device.replicators.count)
    note("d\(device.number) is asked to sync")
    try act(device) { try deliver(.syncRequested(steps), device, index) }
  }

  private func push(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    try act(device) { try deliver(.remoteChanged, device) }
  }

  private func leave(_ device: SimulatedDevice, _ choices: inout SimulationChoices) {
    guard !device.isCutOff else { return }
    mark(.offlineForMonths)
    device.isCutOff = true
    let days = Int64(choices.next(in: 1...90))
    note("d\(device.number) leaves for \(days) days")
    queue.add(at: now + days * dayMilliseconds, nil) { device.isCutOff = false }
  }

  private func mount(
    _ mount: SimulatedPlace.Mount, _ fault: SimulationFault, _ device: SimulatedDevice,
    _ choices: inout SimulationChoices
  ) throws {
    // One that never synced cannot tell another remote from its own.
    guard device.mount == .right, device.view.databaseToken != nil else { return try remount(device, .right) }
    if mount == .old { try copyRemote(&choices) }
    guard mount != .old || place.isCopied && facts.canTellCopy(device.view) else { return }
    mark(fault)
    note("d\(device.number) sees \(mount) in the remote's place")
    try remount(device, mount)
    queue.add(at: now + Int64(choices.next(in: 1...600)) * 1000, nil) { [unowned self] in
      try remount(device, .right)
    }
  }

  /// Puts something else in the remote's place. As with a disk, what is under way there gets no answer: no call of the
  /// remote sees one place first and then the other.
  func remount(_ device: SimulatedDevice, _ mount: SimulatedPlace.Mount) throws {
    guard device.mount != mount else { return }
    device.mount = mount
    device.disturbRounds()
    try act(device) { device.process.hangUp(Self.unreachable) }
  }

  /// Makes the old copy of the remote, unless there is one. Sometimes others have gone on with it since.
  private func copyRemote(_ choices: inout SimulationChoices) throws {
    guard place.copy(), choices.next(below: 3) > 0 else { return }
    let open = facts.lives.filter { !$0.isClosed }
    guard !open.isEmpty else { return }
    let life = choices.pick(open)
    facts.noteCopyGoesOn(in: life)
    let log = place.makeLog(over: try place.oldCopy())
    for other in 0..<UInt128(choices.next(in: 1...8)) {
      let segment = try facts.makeNewerSegment(
        for: life, wall: configuration.startMilliseconds + now, &choices, replica: 0xdead00 + other)
      _ = try executor.wait { try await log.append(segment, after: 0) }
    }
  }

  // MARK: Machines

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
    restart(device)
  }

  private func forgetTokens(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    mark(.tokensForgotten)
    note("d\(device.number) forgets its tokens")
    // Without its tokens it cannot tell a copy of the remote.
    try remount(device, .right)
    for zone in device.view.zones { zone.forgetToken() }
    device.disturbRounds()
    try attempt(on: device, [.full, .commitFailed, .commitUncertain]) { try await store.forgetTokens() }
  }

  private func holdRead(_ device: SimulatedDevice) throws {
    guard let store = device.store, device.heldRead == nil else { return }
    mark(.heldRead)
    device.hasHeldRead = true
    let read = try store.beginHeldRead()
    device.heldRead = SimulatedHeldRead(read: read, state: try read.read { try DeviceState($0) })
  }

  func endRead(_ device: SimulatedDevice) throws {
    guard let held = device.heldRead else { return }
    device.heldRead = nil
    coverage.add(.readsHeld)
    guard try held.read.read({ try DeviceState($0) }) == held.state else {
      throw SimulationFailure(
        .transactionsAreAtomic, "a read of d\(device.number) saw what came after it began")
    }
  }

  func verify(_ device: SimulatedDevice) throws {
    guard let store = device.store else { return }
    coverage.add(.verified)
    isVerifying = true
    defer { isVerifying = false }
    let report = try store.verify()
    guard report.isSound else {
      throw SimulationFailure(
        .recordsAreFold, "d\(device.number): \(report.problems.map(\.description).joined(separator: "; "))")
    }
  }
}

/// What an app's closure throws.
struct AppError: Error {}
