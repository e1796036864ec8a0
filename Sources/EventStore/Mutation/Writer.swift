/// Where the jobs of a store wait, and what does them, one group at a time.
///
/// An app's store has a ``WriterThread``. A ``CallingThreadWriter`` is for who drives many stores on one thread.
protocol Writer: AnyObject, Sendable {
  /// Whether the caller is inside a job: one that it then waited for would never come to its turn.
  var isCurrent: Bool { get }

  /// Queues a job.
  ///
  /// - Returns: false if the writer was stopped; the job's `finish` is then not called.
  func enqueue(_ job: WriteJob) -> Bool

  /// Refuses new jobs, and waits until those that are queued are done, unless called inside one.
  func stop()
}

/// Does a group of jobs: the first, and more that came meanwhile.
typealias PerformWrites = (_ first: WriteJob, _ more: () -> WriteJob?) -> Void
