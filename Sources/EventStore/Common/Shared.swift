import Synchronization

/// A value behind a lock.
package final class Shared<Value: Sendable>: Sendable {
  private let mutex: Mutex<Value>

  package init(_ value: Value) { mutex = Mutex(value) }

  package var value: Value {
    get { mutex.withLock { $0 } }
    set { mutex.withLock { $0 = newValue } }
  }

  /// Changes the value in one step.
  func change(_ body: (inout Value) -> Void) { mutex.withLock { body(&$0) } }
}
