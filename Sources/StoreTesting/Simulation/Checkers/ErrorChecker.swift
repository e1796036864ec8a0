import EventStore
import Replicator

/// Checks that a fault of the world explains each error: invariant 17.
struct ErrorChecker: WorldPart {
  /// What an error says of a file in the place of a directory of assets.
  static let blockedDirectory = "is a file, where a remote keeps assets"

  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Checks that an error of a store is one of those that may be.
  func expect(_ error: any Error, _ codes: Set<StoreError.Code>) throws {
    let code = (error as? StoreError)?.code
    if let code, codes.contains(code) { return }
    // The file of an asset fails as a commit does.
    if hasAssets, code == .system, isExplained(StoreError.Code.system.rawValue) { return }
    throw SimulationFailure(.noSurprise, "nothing explains this: \(error)")
  }

  /// Checks a failure of a round, or of one of its zones.
  ///
  /// - Parameter isAfterHealing: whether the round began when no fault was on any more.
  func check(_ failure: SyncFailure, of device: SimulatedDevice, isAfterHealing: Bool) throws {
    world.count(code: failure.code)
    if failure.message.contains(Self.blockedDirectory) {
      throw SimulationFailure(
        .roundsMakeProgress, "what is in one asset's place holds up more of d\(device.number): \(failure)")
    }
    // The device may have seen another remote last: its first look at the right one corrects that. It may hold what
    // was refused before.
    let isLate = Self.lateCodes.contains(failure.code)
    if !isAfterHealing || isLate, isExplained(failure.code) { return }
    throw SimulationFailure(
      .noSurprise, "a round of d\(device.number) failed, and nothing explains it: \(failure)")
  }

  private static let lateCodes = [RemoteError.Code.identityMismatch, .readOnly, .segmentRefused].map(
    \.rawValue)

  private func isExplained(_ code: String) -> Bool {
    ErrorExplanations.faults(of: code).contains(where: configuration.has)
  }

  /// The code of an error, for the trace.
  static func code(of error: any Error) -> String {
    switch error {
    case let error as StoreError: error.code.rawValue
    case let error as RemoteError: error.code.rawValue
    default: "\(type(of: error))"
    }
  }
}
