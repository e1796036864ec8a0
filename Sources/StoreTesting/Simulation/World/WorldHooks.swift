import Replicator

/// What a world calls in its parts.
///
/// The parts are in folders that come after the world's, so the world cannot name them. A run sets these
/// once.
struct WorldHooks {
  /// Checks a device's store after its process did something, and ends the process if it is to die.
  var didAct: (SimulatedDevice) throws -> Void = { _ in preconditionFailure("the world has no machines") }
  /// Makes the client of a process for the remote.
  var makeRemote: (SimulatedProcess) -> any RemoteLog = { _ in
    preconditionFailure("the world has no network")
  }
}
