internal import OperationFormat
internal import Synchronization

/// What a client has seen of the clock of its place.
final class PlaceClock: Sendable {
  private struct State {
    var last: UInt64?
    /// Up to where a writer has asked logs in which nobody vouches for the place.
    var asked: [IncarnationID: (writer: ReplicaID, offset: UInt64)] = [:]
  }

  private let state = Mutex(State())

  /// What it showed last, in milliseconds since 1970; nil if it was not seen.
  var milliseconds: UInt64? { state.withLock { $0.last } }

  func note(_ milliseconds: UInt64?) {
    if let milliseconds { state.withLock { $0.last = milliseconds } }
  }

  /// Entries do not change: those before an offset need not be asked again.
  func noteNobody(before offset: UInt64, vouchesTo writer: ReplicaID, in log: IncarnationID) {
    state.withLock { $0.asked[log] = (writer, offset) }
  }

  /// The offset from which on a log is to be asked; 0 for all of it.
  func offsetAsked(by writer: ReplicaID, in log: IncarnationID) -> UInt64 {
    state.withLock { state in
      state.asked[log].map { $0.writer == writer ? $0.offset : 0 } ?? 0
    }
  }
}
