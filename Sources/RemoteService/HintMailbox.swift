internal import OperationFormat
internal import Replicator
internal import Synchronization

/// Hints that wait for one listener, merged: of each log the highest offset.
final class HintMailbox: Sendable {
  private struct State {
    var logs: [IncarnationID: UInt64] = [:]
    var hasZones = false
    var hasAnything = false
    var isWoken = false
    var isClosed = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  /// If more logs change before the listener asks, anything may have.
  private static let logsMax = 1024

  private let state = Mutex(State())

  /// Adds a hint.
  func put(_ hint: RemoteHint) {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      switch hint {
      case .zones: state.hasZones = true
      case .logs(let logs) where !logs.isEmpty && state.logs.count + logs.count <= Self.logsMax:
        state.logs.merge(logs, uniquingKeysWith: max)
      default: state.hasAnything = true
      }
      return Self.takeWaiting(&state)
    }
    waiting?.resume()
  }

  /// Lets the listener have what there is, also nothing.
  func wake() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.isWoken = true
      return Self.takeWaiting(&state)
    }
    waiting?.resume()
  }

  /// Lets the listener go.
  func close() {
    let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.isClosed = true
      return Self.takeWaiting(&state)
    }
    waiting?.resume()
  }

  private static func takeWaiting(_ state: inout State) -> CheckedContinuation<Void, Never>? {
    defer { state.waiting = nil }
    return state.waiting
  }

  /// Waits for hints, or for ``wake()``, and takes them; nil once it is closed, or the task is cancelled.
  func next() async -> [RemoteHint]? {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isReady = state.withLock { state in
          if state.isClosed || state.isWoken || state.hasZones || state.hasAnything || !state.logs.isEmpty {
            return true
          }
          state.waiting = continuation
          return false
        }
        if isReady { continuation.resume() }
      }
    } onCancel: {
      close()
    }
    return state.withLock { state in
      if state.isClosed { return nil }
      var hints: [RemoteHint] = []
      if state.hasAnything {
        hints = [.anything]
      } else {
        if state.hasZones { hints.append(.zones) }
        if !state.logs.isEmpty { hints.append(.logs(state.logs)) }
      }
      (state.logs, state.hasZones, state.hasAnything, state.isWoken) = ([:], false, false, false)
      return hints
    }
  }
}
