import DequeModule
import Synchronization

/// A few threads for calls that may block for long, such as those of a file system. A task that waits for its
/// call takes no thread of Swift's pool, which has one per core.
///
/// Calls wait in one queue. A call that finds no idle thread starts one, up to a bound; a thread that is idle
/// is used again. When this object is released, its threads end, each after its current call.
package final class BlockingThreads: Sendable {
  /// What a call does when its task is cancelled while it runs.
  package enum Cancellation: Sendable {
    /// It throws at once. Its body keeps the thread until it returns; what it gives is dropped.
    case leaves
    /// It waits for its body, which looks at ``BlockingCall/isCancelled`` often.
    case waits
  }

  private let pool: BlockingPool?

  /// - Parameter countMax: the most threads. With 0 a body runs on its caller's thread, for a simulator.
  package init(countMax: Int) { pool = countMax > 0 ? BlockingPool(countMax: countMax) : nil }

  deinit { pool?.close() }

  /// How many threads there are now.
  var count: Int { pool?.threadCount ?? 0 }

  /// Runs a body on one of the threads. A task that is cancelled while the call is queued leaves the queue.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before the body ran, or as the parameter says;
  ///   what the body throws; ``StoreError`` `system` if there is no thread and none can be started.
  package func run<Result: Sendable>(
    _ cancellation: Cancellation, _ body: @escaping @Sendable (BlockingCall) throws -> Result
  ) async throws -> Result {
    let call = BlockingCall()
    return try await withTaskCancellationHandler {
      guard let pool else {
        try call.checkCancellation()
        return try body(call)
      }
      return try await withCheckedThrowingContinuation { continuation in
        let isQueued = call.begin(cancellation) {
          pool.remove(call)
          continuation.resume(throwing: CancellationError())
        }
        guard isQueued else { return }
        do {
          try pool.add(call) {
            let result = Swift.Result { try body(call) }
            return { if call.end() { continuation.resume(with: result) } }
          }
        } catch {
          if call.end() { continuation.resume(throwing: error) }
        }
      }
    } onCancel: {
      call.cancel()
    }
  }

  /// Runs a body on one of the threads, and waits for nothing.
  ///
  /// - Throws: ``StoreError`` `system` if there is no thread and none can be started.
  package func start(_ body: @escaping @Sendable () -> Void) throws {
    guard let pool else { return body() }
    try pool.add(BlockingCall()) {
      body()
      return {}
    }
  }
}

/// A call that runs on a thread for blocking calls.
package final class BlockingCall: Sendable {
  /// The call whose body this thread runs.
  @TaskLocal package static var current: BlockingCall?

  private struct State {
    var isCancelled = false
    var isOver = false
    var cancellation = BlockingThreads.Cancellation.leaves
    /// Ends the call without its body. While it can be left.
    var leave: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  fileprivate init() {}

  /// Whether the call was cancelled.
  package var isCancelled: Bool { state.withLock { $0.isCancelled } }

  /// Throws if the call was cancelled.
  package func checkCancellation() throws(CancellationError) {
    if isCancelled { throw CancellationError() }
  }

  /// Begins to wait for a thread; ends at once if it was cancelled before.
  ///
  /// - Returns: whether it waits.
  fileprivate func begin(
    _ cancellation: BlockingThreads.Cancellation, leave: @escaping @Sendable () -> Void
  ) -> Bool {
    let waits = state.withLock { state in
      state.cancellation = cancellation
      if state.isCancelled { state.isOver = true } else { state.leave = leave }
      return !state.isOver
    }
    if !waits { leave() }
    return waits
  }

  /// Runs its body on this thread, unless it was left.
  ///
  /// - Returns: what gives the result to who waits for it; nil if it was left.
  fileprivate func run(_ body: BlockingPool.Body) -> (@Sendable () -> Void)? {
    let runs = state.withLock { state in
      if state.cancellation == .waits { state.leave = nil }
      return !state.isOver
    }
    return runs ? Self.$current.withValue(self, operation: body) : nil
  }

  /// Ends it.
  ///
  /// - Returns: whether its caller still waits for the result: false if it was left.
  fileprivate func end() -> Bool {
    state.withLock { state in
      defer { (state.isOver, state.leave) = (true, nil) }
      return !state.isOver
    }
  }

  fileprivate func cancel() {
    let leave = state.withLock { state in
      state.isCancelled = true
      if state.leave != nil { state.isOver = true }
      return state.leave.take()
    }
    leave?()
  }
}

/// The threads, and the calls that wait for one.
///
/// It is `@unchecked Sendable` because its monitor guards what changes.
private final class BlockingPool: @unchecked Sendable {
  /// Does the work, and returns what tells of it.
  typealias Body = @Sendable () -> @Sendable () -> Void
  private typealias Job = (call: BlockingCall, body: Body)

  private let countMax: Int
  private let monitor = Monitor()
  private var queue: Deque<Job> = []
  private var count = 0
  private var busyCount = 0
  private var isClosed = false

  init(countMax: Int) { self.countMax = countMax }

  var threadCount: Int { monitor.withLock { count } }

  /// Queues a call, and starts a thread for it if none is idle and there may be one more.
  func add(_ call: BlockingCall, _ body: @escaping Body) throws {
    var failure: (any Error)?
    monitor.changeForOne {
      if queue.count >= count - busyCount && count < countMax {
        do {
          try StoreThread.start { [self] in work() }
          count += 1
        } catch {
          // Another thread takes the call, if there is one.
          if count == 0 { failure = error }
        }
      }
      if failure == nil { queue.append((call, body)) }
    }
    if let failure { throw failure }
  }

  /// Takes a call out of the queue.
  func remove(_ call: BlockingCall) {
    // What its body holds is released outside the lock.
    let removed = monitor.withLock { () -> Job? in
      guard let index = queue.firstIndex(where: { $0.call === call }) else { return nil }
      return queue.remove(at: index)
    }
    _ = removed
  }

  /// Lets the threads end.
  func close() { monitor.change { isClosed = true } }

  /// What a thread does: the calls that wait, one after the other, until the end.
  private func work() {
    var isBusy = false
    while true {
      var job: Job?
      monitor.wait {
        if isBusy { busyCount -= 1 }
        job = queue.popFirst()
        isBusy = job != nil
        if isBusy { busyCount += 1 } else if isClosed { count -= 1 }
        return isBusy || isClosed
      }
      if job == nil { return }
      let tell = job.flatMap { $0.call.run($0.body) }
      // What the body holds, such as a file's lock, is released before anybody knows that it has ended.
      job = nil
      tell?()
    }
  }
}
