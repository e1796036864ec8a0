import Synchronization

/// A value behind a lock.
final class Shared<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>

  init(_ value: Value) { mutex = Mutex(value) }

  var value: Value {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }

  /// Changes the value in one step.
  func change(_ body: (inout Value) -> Void) { mutex.withLock { body(&$0) } }
}
