import Synchronization

/// A wall clock that shows what it is set to.
final class DeviceClock: Sendable {
  private let now = Mutex<Int64>(0)

  var milliseconds: Int64 {
    get { now.withLock { $0 } }
    set { now.withLock { $0 = newValue } }
  }
}
