import EventStore

/// The disks of a world: they make commits fail, and in worlds with assets also the calls for their files.
///
/// It is `@unchecked Sendable` since a world has one thread.
final class SimulatedDisk: WorldPart, @unchecked Sendable {
  /// How often what fails, in 1,000 calls.
  struct Options {
    /// The process ends.
    var crashPerMille: Int
    var fullPerMille: Int
    /// Fails with an I/O error.
    var failedPerMille: Int
    /// Is stored, and says that it failed.
    var uncertainPerMille: Int

    init(_ configuration: SimulationConfiguration) {
      crashPerMille = configuration.rate(.crashInCommit)
      fullPerMille = configuration.rate(.diskFull)
      failedPerMille = configuration.rate(.commitFailed)
      uncertainPerMille = configuration.rate(.commitUncertain)
    }
  }

  unowned let world: SimulatedWorld
  private let rates: Options
  private(set) var choices: SimulationChoices
  private var readsSafely = false

  init(_ world: SimulatedWorld) {
    self.world = world
    rates = Options(world.configuration)
    choices = world.plan.choices(.disk)
  }

  /// Lets no call for an asset's file fail meanwhile: a verification would report it as damage.
  func withSafeReads<R>(_ body: () throws -> R) rethrows -> R {
    readsSafely = true
    defer { readsSafely = false }
    return try body()
  }

  /// Decides whether a commit fails.
  func drawCommitFault(_ device: SimulatedDevice) -> CommitFault? {
    // The process has ended in a call for an asset's file: nothing more is stored.
    if device.isDying, hasAssets { return .failed }
    guard !world.isHealed, !device.isDying else { return nil }
    if choices.happens(perMille: rates.crashPerMille) {
      device.isDying = true
      return choices.next(below: 2) == 0 ? .failed : .uncertain
    }
    if happens(.diskFull, rates.fullPerMille) { return .full }
    if happens(.commitFailed, rates.failedPerMille) { return .failed }
    if happens(.commitUncertain, rates.uncertainPerMille) { return .uncertain }
    return nil
  }

  /// Decides whether a call for an asset's file fails. The rates are those of commits, since both use one disk.
  func drawAssetFault(_ call: String, _ device: SimulatedDevice) -> FileFault? {
    guard !world.isHealed, !readsSafely else { return nil }
    // The process has ended: it makes no more calls.
    if device.isDying { return .before(Self.ioError) }
    if choices.happens(perMille: rates.crashPerMille) {
      device.isDying = true
      return choices.next(below: 2) == 0 ? .before(Self.ioError) : .after(Self.ioError)
    }
    // A file that cannot be read counts as damaged, and waits for a device that has the asset. So reads do not fail.
    guard Self.writingCalls.contains(call) else { return nil }
    if happens(.diskFull, rates.fullPerMille) { return .before(Self.noSpace) }
    if happens(.commitFailed, rates.failedPerMille) { return .before(Self.ioError) }
    return nil
  }

  private func happens(_ fault: SimulationFault, _ perMille: Int) -> Bool {
    guard choices.happens(perMille: perMille) else { return false }
    mark(fault)
    return true
  }

  private static let writingCalls: Set<String> = ["mkdir", "pwrite", "rename", "unlink", "ftruncate"]
  /// `EIO` and `ENOSPC`: the same numbers on all systems.
  private static let (ioError, noSpace): (Int32, Int32) = (5, 28)
}
