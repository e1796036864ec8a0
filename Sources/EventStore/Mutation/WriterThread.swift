import DequeModule
import LMDB
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The one thread on which a store writes: LMDB ties a write transaction to the thread that began it.
///
/// Jobs wait in a queue; the thread takes those that wait together and hands them to `perform`, which commits
/// them as one.
final class WriterThread: Writer {
  private struct Queue {
    var jobs: Deque<WriteJob> = []
    var isClosed = false
  }

  private let queue = Mutex(Queue())
  private let signal = Signal()
  private let ended = Signal()
  private let threadID = Mutex<UInt?>(nil)

  /// Starts the thread.
  ///
  /// - Parameters:
  ///   - makePerform: called once, on the new thread: what it makes lives there.
  ///   - didEnd: called on the thread when it ends.
  init(
    makePerform: @escaping @Sendable () -> PerformWrites, didEnd: @escaping @Sendable () -> Void
  ) throws {
    let body = ThreadBody { [self] in
      threadID.withLock { $0 = currentThreadNumber() }
      do {
        let perform = makePerform()
        while let job = next() { perform(job, take) }
      }
      didEnd()
      ended.raise()
    }
    let context = Unmanaged.passRetained(body)
    #if canImport(Darwin)
      var thread: pthread_t?
      let result = pthread_create(
        &thread, nil,
        {
          Unmanaged<ThreadBody>.fromOpaque($0).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      let started = thread
    #else
      var thread = pthread_t()
      let result = pthread_create(
        &thread, nil,
        {
          Unmanaged<ThreadBody>.fromOpaque($0!).takeRetainedValue().run()
          return nil
        }, context.toOpaque())
      let started: pthread_t? = thread
    #endif
    guard result == 0, let started else {
      context.release()
      throw StoreError(
        .system, "the writer's thread could not be started: error \(result) (pthread_create)",
        hint: "the process is at its limit of threads or memory")
    }
    pthread_detach(started)
  }

  var isCurrent: Bool { threadID.withLock { $0 } == currentThreadNumber() }

  /// Queues a job for the thread.
  func enqueue(_ job: WriteJob) -> Bool {
    let isQueued = queue.withLock { queue in
      if queue.isClosed { return false }
      queue.jobs.append(job)
      return true
    }
    if isQueued { signal.raise() }
    return isQueued
  }

  /// Ends the thread once it has done what is queued, and waits for that, unless called on it. New jobs are
  /// refused.
  func stop() {
    queue.withLock { $0.isClosed = true }
    signal.raise()
    guard !isCurrent else { return }
    ended.wait()
    ended.raise()
  }

  private func take() -> WriteJob? {
    queue.withLock { $0.jobs.popFirst() }
  }

  /// Waits for a job; nil once stopped and empty.
  private func next() -> WriteJob? {
    while true {
      let (job, isClosed) = queue.withLock { queue in
        (queue.jobs.popFirst(), queue.isClosed)
      }
      if let job { return job }
      if isClosed { return nil }
      signal.wait()
    }
  }
}

private final class ThreadBody: Sendable {
  let run: @Sendable () -> Void
  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// A flag that one thread waits for and others raise.
///
/// It is `@unchecked Sendable` because the C mutex guards what it holds.
final class Signal: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isRaised = false

  init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func raise() {
    pthread_mutex_lock(mutex)
    isRaised = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Waits until the flag is up, and takes it down.
  func wait() {
    pthread_mutex_lock(mutex)
    while !isRaised { pthread_cond_wait(condition, mutex) }
    isRaised = false
    pthread_mutex_unlock(mutex)
  }
}
