import DequeModule
import LMDB
import Synchronization

/// Runs a group of jobs: the first one, and more that a closure takes from the queue.
typealias PerformWrites = (_ first: WriteJob, _ more: () -> WriteJob?) -> Void

/// The queue of a store's jobs. One thread at a time has the turn, and runs them in groups.
///
/// A group runs on the thread that has the turn, because LMDB ties a write transaction to the thread that
/// began it. Nearly always that is the store's own thread. A caller that may be blocked takes the turn itself
/// if it is free, and so does not wait for another thread to wake.
final class StoreWriter: Sendable {
  private struct Queue {
    var jobs: Deque<WriteJob> = []
    var isHeld = false
    var isClosed = false
  }

  /// A closure that were the lock's own value would be wrapped once more by each use in a debug build, and each call of it
  /// would need more of the stack.
  private struct Turn {
    let perform: PerformWrites
  }

  private let queue = Mutex(Queue())
  /// Runs the jobs. A write transaction begins and ends under the lock.
  private let turn: Mutex<Turn>
  /// The thread that has the turn; 0 if none has.
  private let performer = Atomic<UInt>(0)
  private let hasThread: Bool
  /// Wakes the store's thread.
  private let signal = Signal()
  private let ended = Signal()
  /// Set when a job that a caller waits for has ended.
  private let answered = Monitor()

  /// - Parameters:
  ///   - hasThread: whether the store has its own thread. Without one, the call that queues a job runs it: a
  ///     simulator drives all its stores on one thread, so that each run has the same order.
  ///   - makePerform: called once, before this returns.
  init(hasThread: Bool, makePerform: @Sendable () -> PerformWrites) throws {
    turn = Mutex(Turn(perform: makePerform()))
    self.hasThread = hasThread
    if hasThread { try StoreThread.start { [self] in work() } }
  }

  /// Whether the caller is inside a job. A job that it waited for would never run.
  var isCurrent: Bool { performer.load(ordering: .relaxed) == currentThreadNumber() }

  /// Queues a job. If it is queued inside another job, it runs after that one.
  ///
  /// - Returns: false if the writer was stopped; the job's `finish` is then not called.
  func enqueue(_ job: WriteJob) -> Bool {
    guard append(job) else { return false }
    if hasThread { signal.raise() } else { drain() }
    return true
  }

  /// Queues a job, and waits until it is done. If the turn is free, the caller takes it until then.
  ///
  /// - Parameter isDone: whether the job has ended; its `finish` makes it true by ``answer(_:)``.
  /// - Returns: as ``enqueue(_:)``.
  func enqueue(_ job: WriteJob, waitingUntil isDone: () -> Bool) -> Bool {
    guard append(job) else { return false }
    if hasThread {
      let hadTurn: Void? = turn.withLockIfAvailable { turn in
        performer.store(currentThreadNumber(), ordering: .relaxed)
        defer { performer.store(0, ordering: .relaxed) }
        while !answered.withLock(isDone), let job = take() { turn.perform(job, take) }
      }
      // Another thread has the turn and may not look at the queue again, or more jobs came.
      if hadTurn == nil || queue.withLock({ !$0.jobs.isEmpty }) { signal.raise() }
    } else {
      drain()
    }
    answered.wait(until: isDone)
    return true
  }

  /// Changes the state that the caller of a job waits for.
  func answer(_ body: () -> Void) { answered.change(body) }

  /// Lets jobs queue up from now on.
  func hold() { queue.withLock { $0.isHeld = true } }

  /// Runs the jobs in the queue as one group, and continues to run jobs as they come.
  func release() {
    queue.withLock { $0.isHeld = false }
    drain()
  }

  /// Refuses new jobs, and waits until the queued ones are done, unless it is called inside a job.
  func stop() {
    queue.withLock { queue in
      queue.isClosed = true
      queue.isHeld = false
    }
    guard hasThread else { return drain() }
    signal.raise()
    guard !isCurrent else { return }
    ended.wait()
    // Other callers may wait too.
    ended.raise()
  }

  // MARK: The turn

  private func append(_ job: WriteJob) -> Bool {
    queue.withLock { queue in
      if queue.isClosed { return false }
      queue.jobs.append(job)
      return true
    }
  }

  private func take() -> WriteJob? {
    queue.withLock { $0.isHeld ? nil : $0.jobs.popFirst() }
  }

  /// Waits for the turn and runs the queued jobs, unless the queue is held. Inside a job, the call that runs
  /// the job does that.
  private func drain() {
    if isCurrent { return }
    turn.withLock { turn in
      performer.store(currentThreadNumber(), ordering: .relaxed)
      defer { performer.store(0, ordering: .relaxed) }
      while let job = take() { turn.perform(job, take) }
    }
  }

  /// The loop of the store's thread: runs the queued jobs each time it is woken, until the writer is stopped.
  private func work() {
    while true {
      drain()
      if queue.withLock({ $0.isClosed && $0.jobs.isEmpty }) { break }
      signal.wait()
    }
    ended.raise()
  }
}
