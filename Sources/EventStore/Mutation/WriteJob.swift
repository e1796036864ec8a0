/// One write that waits, runs, and is told how it ended.
///
/// A class, since it goes from hand to hand: one reference is counted, not those of three closures.
final class WriteJob: Sendable {
  /// Claims the job for running; false if it was cancelled while it waited.
  let start: @Sendable () -> Bool
  /// Does the work in an open batch.
  let run: @Sendable (WriteBatch) throws -> Void
  /// Whether `run` may be called once more after a commit that failed; if not, what it appended is folded again.
  let isRepeatable: Bool
  /// Called once, after the commit or the failure.
  let finish: @Sendable ((any Error)?) -> Void

  init(
    start: @escaping @Sendable () -> Bool, run: @escaping @Sendable (WriteBatch) throws -> Void,
    isRepeatable: Bool, finish: @escaping @Sendable ((any Error)?) -> Void
  ) {
    self.start = start
    self.run = run
    self.isRepeatable = isRepeatable
    self.finish = finish
  }
}
