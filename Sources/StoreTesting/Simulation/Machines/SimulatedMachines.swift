import EventStore
import Replicator

/// Starts and ends the processes of a world's devices, and checks a device's store after everything that its
/// process does.
struct SimulatedMachines: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Checks a device's store after its process did something, and ends the process if it is to die.
  func didAct(_ device: SimulatedDevice) throws {
    // Also if the process dies: its last commit may have been stored.
    if let store = device.store, try device.hasCommitted(store) {
      if world.isModelled {
        try world.noteDetails { try WrittenOperations.lines(device, store) }
        try StoreChecker(facts, options.workloads).check(device, store, wall: world.wall(of: device))
        try UndoChecker.check(device, store)
      }
      try ObserverChecker(world).check(device, store)
    }
    try WriteChecker.check(device)
    if device.isDying {
      mark(.crashInCommit)
      try crash(device)
    }
  }

  /// Starts a device's process. If its disk fails, it tries again later.
  func boot(_ device: SimulatedDevice) throws {
    guard device.store == nil else { return }
    do {
      try device.start(
        wallMilliseconds: { [unowned world, unowned device] in world.wall(of: device) },
        commitFault: { [unowned world, unowned device] in SimulatedDisk(world).drawCommitFault(device) },
        assetThresholdBytes: options.assetThresholdBytes,
        assetFault: { [unowned world, unowned device] in
          SimulatedDisk(world).drawAssetFault("\($0)", device)
        },
        makeRemote: world.hooks.makeRemote)
    } catch {
      world.count(.deviceStartsFailed)
      note("d\(device.number) does not start: \(ErrorChecker.code(of: error))")
      try ErrorChecker(world).expect(error, [.full, .system, .commitFailed, .commitUncertain])
      device.isDying = false
      world.schedule(after: 1000, in: nil) { try boot(device) }
      return
    }
    world.count(.deviceStarts)
    note("d\(device.number) starts")
    try act(device) { try SimulatedRounds(world).deliver(.started, device) }
  }

  /// Ends a device's process, and has it started again some time later.
  func crash(_ device: SimulatedDevice) throws {
    guard device.store != nil else { return }
    note("d\(device.number) crashes")
    end(device)
    restart(device)
  }

  /// Ends a device's process, and lets its tasks end.
  func end(_ device: SimulatedDevice) {
    device.end()
    executor.run()
  }

  /// Has a device's process started again.
  func restart(_ device: SimulatedDevice) {
    let delay: Int64
    switch world.isHealed ? 0 : world.timing.next(below: 10) {
    case 0...6: delay = Int64(1 + world.timing.next(below: 2000))
    case 7...8: delay = 600_000
    default: delay = Int64(world.timing.next(in: 1...48)) * 3_600_000
    }
    world.schedule(after: delay, in: nil) {
      try boot(device)
      guard !world.isHealed, configuration.has(.crashInRecovery), world.timing.next(below: 10) == 9 else {
        return
      }
      world.schedule(after: Int64(world.timing.next(below: 30)), in: device.process) {
        if world.isHealed { return }
        mark(.crashInRecovery)
        try crash(device)
      }
    }
  }

  /// Copies the store of a device whose process has ended to a new device.
  func copy(_ device: SimulatedDevice) throws -> SimulatedDevice {
    let copy = world.newDevice(like: device)
    try TemporaryDirectory.copy(device.directory, to: copy.directory)
    return copy
  }

  /// Copies the data file of a device whose process has ended.
  ///
  /// - Returns: the copy.
  func backUp(_ device: SimulatedDevice) throws -> TemporaryDirectory {
    let backup = TemporaryDirectory(in: TemporaryDirectory.memoryBacked)
    try TemporaryDirectory.copyFile("\(device.directory)/data.mdb", to: "\(backup.path)/data.mdb")
    return backup
  }

  /// Puts such a copy back in its place.
  func putBack(_ backup: TemporaryDirectory, _ device: SimulatedDevice) throws {
    try TemporaryDirectory.copyFile("\(backup.path)/data.mdb", to: "\(device.directory)/data.mdb")
  }

  /// Runs work on a store that its disk may make fail.
  ///
  /// - Parameter codes: the errors that it may throw.
  func attempt(
    on device: SimulatedDevice, _ codes: Set<StoreError.Code>,
    _ work: @escaping @Sendable () async throws -> Void
  ) throws {
    try act(device) {
      Task(executorPreference: executor) { [world] in
        do {
          try await work()
        } catch {
          do { try ErrorChecker(world).expect(error, codes) } catch { world.keep(error) }
        }
      }
    }
  }
}
