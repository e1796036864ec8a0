/// The progress of the run of a history.
package struct HistoryProgress: Sendable {
  /// What it does.
  package enum Stage: Sendable {
    case writing, syncing, comparing
  }

  package let stage: Stage
  package let done: Int
  /// Nil if it is not known.
  package let total: Int?
}
