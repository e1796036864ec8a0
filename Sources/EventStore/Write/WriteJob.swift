/// One write that waits, runs, and is told how it ended.
///
/// It is a class, so that handing it on counts one reference, not those of three closures.
final class WriteJob: Sendable {
  /// What a job does in an open transaction.
  enum Work: Sendable {
    /// The app's write. It runs once; after a failed commit its transactions are appended again.
    case local(@Sendable (LocalWrite) throws -> Void)
    /// The store's own work, which runs again after a failed commit.
    case repeatable(@Sendable (StoreTransaction) throws -> Void)
  }

  /// Claims the job for running; false if it was cancelled while it waited.
  let start: @Sendable () -> Bool
  let work: Work
  /// Called once, after the commit or the failure.
  let finish: @Sendable ((any Error)?) -> Void

  init(
    _ work: Work, start: @escaping @Sendable () -> Bool, finish: @escaping @Sendable ((any Error)?) -> Void
  ) {
    self.start = start
    self.work = work
    self.finish = finish
  }

  var isRepeatable: Bool {
    switch work {
    case .local: false
    case .repeatable: true
    }
  }

  /// Does the work in the open transaction.
  func run(_ write: LocalWrite) throws {
    switch work {
    case .local(let body): try body(write)
    case .repeatable(let body): try body(write.store)
    }
  }
}
