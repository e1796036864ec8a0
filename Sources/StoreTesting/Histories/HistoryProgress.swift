/// How far the run of a history is.
public struct HistoryProgress: Sendable {
  /// What it does.
  public enum Stage: Sendable {
    case writing, syncing, comparing
  }

  public let stage: Stage
  public let done: Int
  /// Nil where it is not known.
  public let total: Int?
}
