import Synchronization

/// The wall clock of a store while a history is imported: it shows the time of what is written, and goes
/// forward alone.
final class ImportClock: Sendable {
  private let now = Mutex<Int64>(0)

  var milliseconds: Int64 { now.withLock { $0 } }

  /// Goes to a time, or a millisecond on if that is not later.
  func advance(to milliseconds: Int64) {
    now.withLock { $0 = max($0 + 1, milliseconds) }
  }
}
