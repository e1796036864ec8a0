import Synchronization

/// Decides between a job's start and its cancellation: whichever comes first.
final class Claim: Sendable {
  private enum State {
    case new
    case waiting(@Sendable () -> Void)
    case settled
    case cancelled
  }

  private let state = Mutex(State.new)

  /// Says what to do if the job is cancelled before it starts.
  func wait(_ didCancel: @escaping @Sendable () -> Void) {
    let isCancelled = state.withLock { state in
      if case .cancelled = state {
        state = .settled
        return true
      }
      state = .waiting(didCancel)
      return false
    }
    if isCancelled { didCancel() }
  }

  func start() -> Bool {
    state.withLock { state in
      guard case .waiting = state else { return false }
      state = .settled
      return true
    }
  }

  func cancel() {
    let didCancel: (@Sendable () -> Void)? = state.withLock { state in
      switch state {
      case .new:
        state = .cancelled
        return nil
      case .waiting(let didCancel):
        state = .settled
        return didCancel
      case .settled, .cancelled: return nil
      }
    }
    didCancel?()
  }
}
