import DequeModule
import LMDB
import Synchronization

/// Does a group of jobs: the first, and more that came meanwhile.
typealias PerformWrites = (_ first: WriteJob, _ more: () -> WriteJob?) -> Void

/// Where the jobs of a store wait, and who does them, one group at a time.
///
/// Who has the turn does what is queued, on its own thread: LMDB ties a write transaction to the thread that began it.
/// That is the store's thread where the callers must not be blocked. A caller that would be blocked anyway takes the turn
/// itself if it is free: a lone writer waits for no other thread to wake.
final class StoreWriter: Sendable {
  private struct Queue {
    var jobs: Deque<WriteJob> = []
    var isHeld = false
    var isClosed = false
  }

  private let queue = Mutex(Queue())
  /// What does the jobs. A write transaction begins and ends under the lock.
  private let turn: Mutex<PerformWrites>
  /// The thread that has the turn, 0 if none has.
  private let performer = Atomic<UInt>(0)
  private let hasThread: Bool
  /// Tells the thread that there is something to do.
  private let signal = Signal()
  private let ended = Signal()
  /// Of those whose callers wait for them, some job has ended.
  private let answered = Monitor()

  /// - Parameters:
  ///   - hasThread: whether there is a thread of the store's own. Without one a job is done by the call that queues it:
  ///     for a simulator, which drives all its stores on one thread and wants the same order of things each time.
  ///   - makePerform: called once, at once.
  init(hasThread: Bool, makePerform: @Sendable () -> PerformWrites) throws {
    turn = Mutex(makePerform())
    self.hasThread = hasThread
    if hasThread { try StoreThread.start { [self] in work() } }
  }

  /// Whether the caller is inside a job: one that it then waited for would never come to its turn.
  var isCurrent: Bool { performer.load(ordering: .relaxed) == currentThreadNumber() }

  /// Queues a job. One that comes from inside a job is done after that one.
  ///
  /// - Returns: false if the writer was stopped; the job's `finish` is then not called.
  func enqueue(_ job: WriteJob) -> Bool {
    guard append(job) else { return false }
    if hasThread { signal.raise() } else { drain() }
    return true
  }

  /// Queues a job and waits until it is done. If nobody has the turn the caller takes it, until then.
  ///
  /// - Parameter isDone: what the job's `finish` brings about by ``answer(_:)``.
  /// - Returns: as ``enqueue(_:)``.
  func enqueue(_ job: WriteJob, waitingUntil isDone: () -> Bool) -> Bool {
    guard append(job) else { return false }
    if hasThread {
      let hadTurn: Void? = turn.withLockIfAvailable { perform in
        performer.store(currentThreadNumber(), ordering: .relaxed)
        defer { performer.store(0, ordering: .relaxed) }
        while !answered.withLock(isDone), let job = take() { perform(job, take) }
      }
      // Somebody has the turn, who may have looked for the last time, or more has come.
      if hadTurn == nil || queue.withLock({ !$0.jobs.isEmpty }) { signal.raise() }
    } else {
      drain()
    }
    answered.wait(until: isDone)
    return true
  }

  /// Does what the caller of a job waits for.
  func answer(_ body: () -> Void) { answered.change(body) }

  /// Lets jobs queue up from now on.
  func hold() { queue.withLock { $0.isHeld = true } }

  /// Does what has queued up, as one group, and goes on.
  func release() {
    queue.withLock { $0.isHeld = false }
    drain()
  }

  /// Refuses new jobs, and waits until those that are queued are done, unless called inside one.
  func stop() {
    queue.withLock { queue in
      queue.isClosed = true
      queue.isHeld = false
    }
    guard hasThread else { return drain() }
    signal.raise()
    guard !isCurrent else { return }
    ended.wait()
    // For whoever else waits.
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

  /// Waits for the turn and does what is queued, unless it is held. Inside a job it leaves that to the call that does the
  /// job.
  private func drain() {
    if isCurrent { return }
    turn.withLock { perform in
      performer.store(currentThreadNumber(), ordering: .relaxed)
      defer { performer.store(0, ordering: .relaxed) }
      while let job = take() { perform(job, take) }
    }
  }

  /// What the thread does: all that is queued, whenever it is told of it, until the writer is stopped.
  private func work() {
    while true {
      drain()
      if queue.withLock({ $0.isClosed && $0.jobs.isEmpty }) { break }
      signal.wait()
    }
    ended.raise()
  }
}
