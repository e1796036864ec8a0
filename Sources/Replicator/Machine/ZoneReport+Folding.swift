import EventStore

extension ZoneReport {
  /// Adds what a fold did.
  mutating func add(_ outcome: FoldOutcome) {
    beganAt = outcome.beganAt ?? beganAt
    beganWithRecords = outcome.beganWithRecords ?? beganWithRecords
    partedAt = [partedAt, outcome.partedAt].compactMap(\.self).min()
    received += outcome.report.folded
    receivedSegments += outcome.segments
    bytesReceived += outcome.bytes
    conflicts += outcome.report.conflicts
    changes.add(outcome.changes)
    rejectedSegments += outcome.report.rejected
    forks += outcome.report.forks
    removedTransactions += outcome.report.removed
  }
}
