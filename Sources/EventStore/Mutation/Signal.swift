#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// A flag that one thread waits for and others raise.
///
/// It is `@unchecked Sendable` because the C mutex guards what it holds.
final class Signal: @unchecked Sendable {
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isRaised = false

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

  func raise() {
    pthread_mutex_lock(mutex)
    isRaised = true
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  /// Whether it was raised and nobody has waited for it since.
  var isUp: Bool {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return isRaised
  }

  /// Waits until the flag is up, and takes it down.
  func wait() {
    pthread_mutex_lock(mutex)
    while !isRaised { pthread_cond_wait(condition, mutex) }
    isRaised = false
    pthread_mutex_unlock(mutex)
  }
}
