import EventStore

/// The disks of a world: they make commits fail, and in worlds with assets also the calls for their files.
struct SimulatedDisk: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Decides whether a commit fails.
  func drawCommitFault(_ device: SimulatedDevice) -> CommitFault? {
    // The process has ended, in a call for an asset's file or in a story: nothing more is stored.
    if device.isDying, hasAssets || world.isHealed { return .failed }
    if let left = device.commitsLeft {
      device.commitsLeft = left > 0 ? left - 1 : nil
      if left == 0 {
        device.isDying = true
        return world.diskChoices.next(below: 2) == 0 ? .failed : .uncertain
      }
    }
    guard !world.isHealed, !device.isDying else { return nil }
    if happens(.crashInCommit) {
      device.isDying = true
      return world.diskChoices.next(below: 2) == 0 ? .failed : .uncertain
    }
    if isDrawn(.diskFull) { return .full }
    if isDrawn(.commitFailed) { return .failed }
    if isDrawn(.commitUncertain) { return .uncertain }
    return nil
  }

  /// Decides whether a call for an asset's file fails. The rates are those of commits, since both use one
  /// disk.
  func drawAssetFault(_ call: String, _ device: SimulatedDevice) -> FileFault? {
    guard !world.isHealed, !world.isVerifying else { return nil }
    // The process has ended: it makes no more calls.
    if device.isDying { return .before(Self.ioError) }
    if happens(.crashInCommit) {
      device.isDying = true
      return world.diskChoices.next(below: 2) == 0 ? .before(Self.ioError) : .after(Self.ioError)
    }
    // A file that cannot be read counts as damaged, and waits for a device that has the asset. So reads do
    // not fail.
    guard Self.writingCalls.contains(call) else { return nil }
    if isDrawn(.diskFull) { return .before(Self.noSpace) }
    if isDrawn(.commitFailed) { return .before(Self.ioError) }
    return nil
  }

  private func happens(_ fault: SimulationFault) -> Bool {
    world.diskChoices.happens(perMille: configuration.rate(fault))
  }

  private func isDrawn(_ fault: SimulationFault) -> Bool {
    guard happens(fault) else { return false }
    mark(fault)
    return true
  }

  private static let writingCalls: Set<String> = ["mkdir", "pwrite", "rename", "unlink", "ftruncate"]
  /// `EIO` and `ENOSPC`: the same numbers on all systems.
  private static let (ioError, noSpace): (Int32, Int32) = (5, 28)
}
