#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A lock with a condition: threads wait under it for what other threads change.
///
/// It is `@unchecked Sendable` because it holds only the C mutex and its condition.
final class Monitor: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    mutex.initialize(to: pthread_mutex_t())
    condition.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  func withLock<R>(_ body: () -> R) -> R {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Changes state that other threads may wait for, and wakes all of them.
  func change(_ body: () -> Void) {
    withLock {
      body()
      pthread_cond_broadcast(condition)
    }
  }

  /// Changes state that lets one waiting thread continue, and wakes one. All threads must wait for the same.
  func changeForOne(_ body: () -> Void) {
    withLock {
      body()
      pthread_cond_signal(condition)
    }
  }

  /// Waits until a condition is true.
  func wait(until isSo: () -> Bool) {
    withLock { while !isSo() { pthread_cond_wait(condition, mutex) } }
  }
}
