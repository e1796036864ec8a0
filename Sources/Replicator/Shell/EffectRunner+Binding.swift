import EventStore
import OperationFormat

/// The remote that a store belongs to: the first whose list of zones it has read.
extension EffectRunner {
  /// Checks a remote before a store belongs to it. A store that has read logs, and does not know from which
  /// remote, as after an import, must not belong to one that has none of them.
  ///
  /// - Throws: ``RemoteError`` `identityMismatch` if the remote has none of the logs.
  /// - Complexity: linear in the events of the list of zones up to the first of a known log; O(zones) for
  ///   stores without logs
  func checkHasLogs() async throws {
    let known = Set(
      try store.syncState().zones.compactMap { state in
        state.attachment == .attached && !state.restoresLog
          ? state.token.flatMap { $0.offset > 0 ? $0.incarnation : nil } : nil
      })
    guard !known.isEmpty else { return }
    var (isOurs, remoteID) = (false, nil as RemoteID?)
    try await remote.forEachZoneEventPage { page in
      // An event that cannot be read may name a known log.
      isOurs = !page.problems.isEmpty || page.events.contains { known.contains($0.incarnation) }
      remoteID = page.token.remote
      return !isOurs
    }
    guard !isOurs, let remoteID else { return }
    throw RemoteError(
      .identityMismatch, "the remote \(remoteID) has none of the logs that this store has read",
      hint: "give the address of the remote that has them. If that remote is lost, or has lost them, "
        + "`replay remote REMOTE --repair STORE` puts back what this store has of them, into a new remote too"
    )
  }
}
