import Synchronization

/// The store's wall clock during the import of a history. It shows the time of the imported commit, and never
/// goes back.
final class ImportClock: Sendable {
  private let now = Mutex<Int64>(0)

  var milliseconds: Int64 { now.withLock { $0 } }

  /// Advances to a time, or by one millisecond if that time is not later.
  func advance(to milliseconds: Int64) {
    now.withLock { $0 = max($0 + 1, milliseconds) }
  }
}
