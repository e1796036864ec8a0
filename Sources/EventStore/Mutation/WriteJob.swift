/// One write that waits, runs, and is told how it ended.
struct WriteJob: Sendable {
  /// Claims the job for running; false if it was cancelled while it waited.
  var start: @Sendable () -> Bool
  /// Does the work in an open batch.
  var run: @Sendable (WriteBatch) throws -> Void
  /// Whether `run` may be called once more after a commit that failed; if not, what it appended is folded again.
  var isRepeatable: Bool
  /// Called once, after the commit or the failure.
  var finish: @Sendable ((any Error)?) -> Void
}
