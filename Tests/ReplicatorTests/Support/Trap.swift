import Synchronization

/// Runs a closure at the n-th call, or as soon as the closure is set if that comes later.
final class Trap: Sendable {
  private struct State {
    var callsLeft: Int
    var action: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  init(atCall number: Int) { state = Mutex(State(callsLeft: number)) }

  /// Whether there were that many calls.
  var isReached: Bool { state.withLock { $0.callsLeft <= 0 } }

  func count() {
    let action = state.withLock { state in
      state.callsLeft -= 1
      return state.callsLeft == 0 ? state.action : nil
    }
    action?()
  }

  func arm(_ action: @escaping @Sendable () -> Void) {
    let isLate = state.withLock { state in
      state.action = action
      return state.callsLeft <= 0
    }
    if isLate { action() }
  }
}
