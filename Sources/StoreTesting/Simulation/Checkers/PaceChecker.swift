import Replicator

/// Checks that rounds are not more frequent than allowed, and do not cease: invariant 14.
struct PaceChecker: WorldPart {
  unowned let world: SimulatedWorld

  init(_ world: SimulatedWorld) { self.world = world }

  /// Checks a round that begins. There must be a request for it. After a failure the wait must be
  /// over, unless the app asked for a round.
  func check(_ replicator: SimulatedReplicator, of device: SimulatedDevice) throws {
    guard replicator.pace.begin(at: world.now) else {
      throw SimulationFailure(.roundsMakeProgress, "d\(device.number) makes rounds without a pause")
    }
    guard let last = replicator.last, let failure = last.report.failure, !replicator.isAsked else { return }
    let least = max(failure.retryAfterMilliseconds ?? 0, 400)
    let wait = world.now - last.milliseconds
    guard wait < least else { return }
    throw SimulationFailure(
      .roundsMakeProgress,
      "d\(device.number) began a round \(wait) ms after one that failed; it must wait \(least) ms")
  }

  /// Checks that a replicator will make another round without a request, whatever the result of the last:
  /// within a day, the longest wait that a remote can ask for.
  func checkGoesOn(_ device: SimulatedDevice) throws {
    for replicator in device.replicators where replicator.round == nil {
      if let next = replicator.nextMilliseconds, next <= world.now + 2 * dayMilliseconds { continue }
      throw SimulationFailure(
        .roundsMakeProgress, "d\(device.number) makes no more rounds unless something calls for one")
    }
  }
}
