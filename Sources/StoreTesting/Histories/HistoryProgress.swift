/// How far the run of a history is.
package struct HistoryProgress: Sendable {
  /// What it does.
  package enum Stage: Sendable {
    case writing, syncing, comparing
  }

  package let stage: Stage
  package let done: Int
  /// Nil where it is not known.
  package let total: Int?
}
