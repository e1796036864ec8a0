/// One write in the queue of a ``StoreWriter``.
///
/// It is a class, so that passing it on retains one object, not three closures.
final class WriteJob: Sendable {
  /// The work of a job in an open transaction.
  enum Work: Sendable {
    /// A write of the app. It runs once; after a failed commit, its transactions are appended again.
    case local(@Sendable (LocalWrite) throws -> Void)
    /// Work of the store itself. After a failed commit it runs again.
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

  /// Runs the work in the open transaction.
  func run(_ write: LocalWrite) throws {
    switch work {
    case .local(let body): try body(write)
    case .repeatable(let body): try body(write.store)
    }
  }
}
