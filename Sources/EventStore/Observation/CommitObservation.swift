import Synchronization

/// Has a closure called after each commit of this process, until it is cancelled or released.
package final class CommitObservation: Sendable {
  private let observers: CommitObservers
  private let number: UInt64

  fileprivate init(_ observers: CommitObservers, _ number: UInt64) {
    self.observers = observers
    self.number = number
  }

  deinit { cancel() }

  /// Ends the observation. A call that has begun is completed.
  package func cancel() { observers.remove(number) }
}

/// The closures to call after commits.
final class CommitObservers: Sendable {
  private struct State {
    var last: UInt64 = 0
    /// In the order in which they came.
    var handlers: [(number: UInt64, handler: @Sendable () -> Void)] = []
  }

  private let state = Mutex(State())

  func add(_ handler: @escaping @Sendable () -> Void) -> CommitObservation {
    let number = state.withLock { state in
      state.last += 1
      state.handlers.append((state.last, handler))
      return state.last
    }
    return CommitObservation(self, number)
  }

  fileprivate func remove(_ number: UInt64) {
    // What a closure holds is released outside the lock: it may end other observations.
    let removed = state.withLock { state in
      let removed = state.handlers.filter { $0.number == number }
      state.handlers.removeAll { $0.number == number }
      return removed
    }
    _ = removed
  }

  func notify() {
    let handlers = state.withLock { $0.handlers }
    for (_, handler) in handlers { handler() }
  }
}
