import DequeModule
import Synchronization

/// Runs the tasks of one world, one job after the other, on the thread that calls ``run()``.
///
/// Only the world itself makes jobs, so the seed determines their order.
final class SimulatedExecutor: TaskExecutor {
  private let jobs = Mutex<Deque<UnownedJob>>([])

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    jobs.withLock { $0.append(job) }
  }

  /// Runs until no task has a job.
  func run() {
    while let job = jobs.withLock({ $0.popFirst() }) { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}

extension SimulatedExecutor {
  /// Runs a task to its end. It may wait only for tasks of this executor.
  func wait<R: Sendable>(_ body: @escaping @Sendable () async throws -> R) throws -> R {
    let result = TaskResult<R>()
    Task(executorPreference: self) {
      do { result.value = .success(try await body()) } catch { result.value = .failure(error) }
    }
    run()
    guard let value = result.value else {
      preconditionFailure("the task waits for something that never happens")
    }
    return try value.get()
  }
}

/// The result of a task.
private final class TaskResult<R: Sendable>: Sendable {
  private let mutex = Mutex<Result<R, any Error>?>(nil)

  var value: Result<R, any Error>? {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }
}
