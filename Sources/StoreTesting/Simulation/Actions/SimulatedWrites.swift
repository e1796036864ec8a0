import EventStore
import OperationFormat
import Replicator

/// The writes of a world's devices: those of workloads, restored losers of conflicts, and deletions of zones.
struct SimulatedWrites: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  // MARK: Workloads

  /// Lets a workload write.
  func write(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
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
        try didWrite(write, of: workload, device)
      } catch {
        try didFail(write, of: workload, device, error)
      }
    }
  }

  /// Lets several writes wait, and share a commit. An app throws in one of five.
  func writeGroup(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
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
        Task(executorPreference: executor) {
          do {
            try await store.write { transaction in
              try write.run(workload, &transaction)
              if fails { throw AppError() }
            }
            try didWrite(write, of: workload, device)
          } catch {
            do { try didFail(write, of: workload, device, error) } catch { world.keep(error) }
          }
        }
      }
      executor.run()
      store.releaseWrites()
      executor.run()
    }
  }

  /// Whether all zones of a workload are there or may be created: in half of the worlds a deleted zone is not
  /// created again.
  func mayWrite(_ workload: any SimulationWorkload, _ device: SimulatedDevice) -> Bool {
    configuration.has(.zoneRecreated)
      || workload.zones.allSatisfy { !facts.deletedZones.contains($0) || device.view.zone($0) != nil }
  }

  private func didWrite(
    _ write: SimulatedWrite, of workload: any SimulationWorkload, _ device: SimulatedDevice
  ) throws {
    facts.committed.insert(workload.name)
    try didWrite(write, device)
  }

  private func didWrite(_ write: SimulatedWrite, _ device: SimulatedDevice) throws {
    world.count(.writes)
    device.writeOutcomes.append(write.outcome(isLogged: true))
    device.view.writes += 1
    guard !device.isDying else { return }
    try SimulatedRounds(world).deliver(.localCommit, device)
  }

  private func didFail(
    _ write: SimulatedWrite, of workload: any SimulationWorkload, _ device: SimulatedDevice,
    _ error: any Error
  ) throws {
    if let failure = error as? SimulationFailure { throw failure }
    if !(error is AppError) {
      let count = facts.refused[workload.name]?.count ?? 0
      facts.refused[workload.name] = (count + 1, "\(error)")
    }
    world.count(.writesFailed)
    device.writeOutcomes.append(write.outcome(of: error))
    note("d\(device.number) write failed: \(ErrorChecker.code(of: error))")
    // The app's own errors are no errors of the store.
    if error is StoreError {
      try ErrorChecker(world).expect(
        error, [.full, .commitFailed, .commitUncertain, .recordUnknown, .recordExists, .closed])
    }
    device.view.writes += 1
  }

  // MARK: Conflicts

  /// Restores a loser of a conflict: of a field, or of a record's existence if no field is in conflict.
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
    world.count(.losersRestored)
    note("d\(device.number) restores \(loser) of \(conflict.record)")
    let write = SimulatedWrite(SimulationChoices(replaying: []))
    try act(device) {
      do {
        try store.writeBlockingThisThread { transaction in
          try write.run(&transaction) { try $0.restore(loser, in: conflict.field, of: conflict.record) }
        }
        try didWrite(write, device)
      } catch {
        device.writeOutcomes.append(write.outcome(of: error))
        try ErrorChecker(world).expect(error, [.full, .commitFailed, .commitUncertain, .recordUnknown])
      }
    }
  }

  // MARK: Deletions

  /// Deletes a zone, while others write to it and sync.
  func deleteZone(on device: SimulatedDevice, _ choices: inout SimulationChoices) throws {
    guard let store = device.store, device.configuration.role == .writer, !device.view.zones.isEmpty else {
      return
    }
    let life = device.view.zones[choices.next(below: device.view.zones.count)].facts
    let zone = life.zone
    if life.incarnation == nil { facts.deletedInTheMaking.insert(zone) }
    mark(.zoneDeleted)
    note("d\(device.number) deletes zone \(zone)")
    life.isDeletionAsked = true
    facts.deletedZones.insert(zone)
    device.deletedZones.insert(zone)
    let write = SimulatedWrite(SimulationChoices(replaying: []))
    try act(device) {
      do {
        try store.writeBlockingThisThread { try $0.deleteZone(zone) }
        try didWrite(write, device)
      } catch {
        try ErrorChecker(world).expect(error, [.full, .commitFailed, .commitUncertain])
      }
    }
    device.deletedZones.remove(zone)
    // The zone is created again at once, so that calls under way for the old one meet the new one.
    if choices.next(below: 2) == 1 { try self.write(to: zone, on: device, &choices) }
    if choices.next(below: 2) == 1 { try meetDeletion(of: zone, &choices) }
  }

  private func write(
    to zone: ZoneID, on device: SimulatedDevice, _ choices: inout SimulationChoices
  ) throws {
    guard let workload = device.workloads.first(where: { $0.zones.contains(zone) }) else { return }
    try perform(SimulatedWrite(seededBy: &choices), of: workload, on: device)
  }

  /// Lets every device that has a zone write to it and sync, some calls before or after the deletion arrives
  /// at the remote.
  private func meetDeletion(of zone: ZoneID, _ choices: inout SimulationChoices) throws {
    for device in devices where device.configuration.role == .writer && device.view.zone(zone) != nil {
      try write(to: zone, on: device, &choices)
    }
    for device in devices where device.store != nil {
      let delay = Int64(choices.next(below: 8 * configuration.latencyMilliseconds))
      world.schedule(after: delay, in: device.process) { [unowned world] in
        try world.act(device) {
          try SimulatedRounds(world).deliver(.syncRequested(.all), device, 0)
        }
      }
    }
  }
}

/// What an app's closure throws.
struct AppError: Error {}
