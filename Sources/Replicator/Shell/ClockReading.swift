import EventStore
import Synchronization

/// What a round finds out about the remote's clock. No decision depends on it.
final class ClockReading: Sendable {
  private struct State {
    /// By calls in which the remote's clock was read.
    var offset: ClockOffset?
    /// By entries that were received later than this device's clock shows.
    var least: ClockOffset?
  }

  private let state = Mutex(State())

  /// Notes what an append showed.
  ///
  /// - Parameters:
  ///   - milliseconds: the remote's clock in the call; nil if it is not known.
  ///   - wall: this device's wall clock before and after the call.
  func note(_ milliseconds: UInt64?, between wall: (before: Int64, after: Int64)) {
    guard let milliseconds else { return }
    let offset = ClockOffset(remote: milliseconds, between: wall)
    state.withLock { $0.offset = offset }
  }

  /// Notes segments that were fetched: the remote's clock shows no less than the times at which they were received.
  func note(_ page: FetchOutcome, wall: Int64) {
    guard case .segments(let segments, _) = page,
      let newest = segments.compactMap(\.receivedMilliseconds).max()
    else { return }
    let offset = ClockOffset(remote: newest, between: (wall, wall))
    guard offset.milliseconds > 0, offset.isNotable else { return }
    state.withLock { state in
      if offset.milliseconds > state.least?.milliseconds ?? 0 { state.least = offset }
    }
  }

  /// What was found since the last call; nil if nothing was.
  func take() -> ClockOffset? {
    state.withLock { state in
      defer { state = State() }
      return state.offset ?? state.least
    }
  }
}
