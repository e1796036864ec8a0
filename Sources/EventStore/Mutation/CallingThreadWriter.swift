import DequeModule
import LMDB
import Synchronization

/// Does each job at once on the thread that brings it, with whatever else is queued. For a simulator, which drives all
/// its stores on one thread and wants the same order of things each time.
///
/// It can be held: then jobs only queue up, and share a commit when it goes on, as those do that come to a
/// ``WriterThread`` while it is busy.
final class CallingThreadWriter: Writer {
  private struct Queue {
    var jobs: Deque<WriteJob> = []
    var isHeld = false
    var isClosed = false
  }

  private let queue = Mutex(Queue())
  /// What does the jobs. The lock is what makes threads take turns: a write transaction begins and ends under it.
  private let perform: Mutex<PerformWrites>
  /// The thread that has the lock, 0 if none has.
  private let performer = Atomic<UInt>(0)

  /// - Parameter makePerform: called once, at once.
  init(makePerform: @Sendable () -> PerformWrites) {
    perform = Mutex(makePerform())
  }

  var isCurrent: Bool { performer.load(ordering: .relaxed) == currentThreadNumber() }

  /// Queues a job and, unless the writer is held, does it before it returns. One that comes from inside a job is done
  /// after that one.
  func enqueue(_ job: WriteJob) -> Bool {
    let isQueued = queue.withLock { queue in
      if queue.isClosed { return false }
      queue.jobs.append(job)
      return true
    }
    if isQueued { drain() }
    return isQueued
  }

  /// Lets jobs queue up from now on.
  func hold() { queue.withLock { $0.isHeld = true } }

  /// Does what has queued up, as one group, and goes on.
  func release() {
    queue.withLock { $0.isHeld = false }
    drain()
  }

  func stop() {
    queue.withLock { queue in
      queue.isClosed = true
      queue.isHeld = false
    }
    drain()
  }

  /// Does what is queued, unless it is held. Inside a job it leaves that to the call that does the job.
  private func drain() {
    if isCurrent { return }
    perform.withLock { perform in
      performer.store(currentThreadNumber(), ordering: .relaxed)
      defer { performer.store(0, ordering: .relaxed) }
      while let job = take() { perform(job, take) }
    }
  }

  private func take() -> WriteJob? {
    queue.withLock { $0.isHeld ? nil : $0.jobs.popFirst() }
  }
}
