#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A flag that one thread waits for and others raise.
///
/// It is `@unchecked Sendable` because its monitor guards what it holds.
final class Signal: @unchecked Sendable {
  private let monitor = Monitor()
  private var isRaised = false

  func raise() { monitor.change { isRaised = true } }

  /// Waits until the flag is up, and takes it down.
  func wait() {
    monitor.wait {
      defer { isRaised = false }
      return isRaised
    }
  }
}

/// What threads wait for under a lock, and others bring about.
///
/// It is `@unchecked Sendable` because it holds nothing but the C mutex and its condition.
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

  /// Changes something that others may wait for.
  func change(_ body: () -> Void) {
    withLock {
      body()
      pthread_cond_broadcast(condition)
    }
  }

  /// Changes something that is enough for one of those that wait, who all wait for the same.
  func changeForOne(_ body: () -> Void) {
    withLock {
      body()
      pthread_cond_signal(condition)
    }
  }

  /// Waits until something holds.
  func wait(until isSo: () -> Bool) {
    withLock { while !isSo() { pthread_cond_wait(condition, mutex) } }
  }
}
