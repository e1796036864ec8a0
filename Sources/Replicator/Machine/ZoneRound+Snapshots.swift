import EventStore

/// When a round makes a snapshot of its zone. Who writes makes it.
extension ZoneRound {
  /// Begins to make one, if the log has grown by so much that it serves new stores, if a floor has taken effect that the last
  /// one lacks, or if the remote needs one whatever its size; else nil.
  mutating func makeSnapshotIfDue(_ token: ChangeToken) -> ZoneEffect? {
    guard steps == .all, parked == nil, held == nil else { return nil }
    let need = snapshotNeed(token)
    guard need != nil || hasGrown else { return nil }
    return enter(
      .makingSnapshot(token.incarnation), .makeSnapshot(token.incarnation, neededBehind: need))
  }

  private var hasGrown: Bool {
    guard report.sentSegments > 0 else { return false }
    let bytes = state.snapshotDueBytes &+ sentBytes &+ UInt64(report.bytesReceived)
    return max(bytes, floorDueBytes) >= max(policy.snapshotBytesMin, state.snapshotBytes)
  }

  /// The offset behind which the remote needs a snapshot: the former ones went with the log, or are of another one. A store
  /// that has retired what this one has sent again can begin with the new one only. Nil if it needs none.
  private func snapshotNeed(_ token: ChangeToken) -> UInt64? {
    if hasReopened || report.partedAt != nil && report.sentSegments > 0 { return max(1, token.offset) - 1 }
    return report.partedAt.map { max(1, $0) - 1 } ?? state.snapshotNeededBehind
  }
}
