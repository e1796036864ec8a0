#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Admits transactions, makes them wait while the map is moved, and reports when the last one has ended.
///
/// `@unchecked Sendable`: the mutex guards all state.
final class Gate: @unchecked Sendable {
  /// Why a transaction may not begin.
  enum Refusal: Error {
    case closed, panicked, unmapped
  }

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  /// How many transactions exist, including read-only ones that were reset.
  private var livingCount = 0

  /// How many transactions and other calls use the map.
  private var activeCount = 0

  private var isExclusive = false
  private var isClosed = false
  private var refusal: Refusal?

  init() {
    mutex.initialize(to: pthread_mutex_t())
    changed.initialize(to: pthread_cond_t())
    pthread_mutex_init(mutex, nil)
    #if canImport(Darwin)
      pthread_cond_init(changed, nil)
    #else
      var attributes = pthread_condattr_t()
      pthread_condattr_init(&attributes)
      pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
      pthread_cond_init(changed, &attributes)
      pthread_condattr_destroy(&attributes)
    #endif
  }

  deinit {
    pthread_cond_destroy(changed)
    pthread_mutex_destroy(mutex)
    changed.deallocate()
    mutex.deallocate()
  }

  /// Admits a transaction; `isNew` is false for one that exists and was reset. Waits while the map is moved.
  func enter(isNew: Bool = true) throws(Refusal) {
    lock()
    defer { unlock() }
    while isExclusive && !isClosed && refusal == nil { pthread_cond_wait(changed, mutex) }
    if isClosed { throw .closed }
    if let refusal { throw refusal }
    activeCount += 1
    if isNew { livingCount += 1 }
  }

  /// Records that a transaction has left; returns whether the environment is to be closed now.
  func leave(wasActive: Bool = true, ends: Bool = true) -> Bool {
    lock()
    defer { unlock() }
    if wasActive { activeCount -= 1 }
    if ends { livingCount -= 1 }
    pthread_cond_broadcast(changed)
    return ends && isClosed && livingCount == 0 && !isExclusive
  }

  /// Admits no transaction from now on; returns whether the environment is to be closed now.
  func close() -> Bool {
    lock()
    defer { unlock() }
    let wasClosed = isClosed
    isClosed = true
    pthread_cond_broadcast(changed)
    return !wasClosed && livingCount == 0 && !isExclusive
  }

  /// Refuses all transactions from now on, for this reason.
  func refuse(_ refusal: Refusal) {
    lock()
    self.refusal = self.refusal ?? refusal
    pthread_cond_broadcast(changed)
    unlock()
  }

  /// The result of `beginExclusive`.
  enum Exclusion: Equatable {
    case granted, timedOut
    case refused(Refusal)
  }

  /// Makes new transactions wait, and waits until none uses the map, at most `waitingSeconds`.
  func beginExclusive(waitingSeconds: Double) -> Exclusion {
    let deadline = Self.now() + waitingSeconds
    lock()
    defer { unlock() }
    while isExclusive && !isClosed && refusal == nil {
      if !wait(until: deadline) { return .timedOut }
    }
    if isClosed { return .refused(.closed) }
    if let refusal { return .refused(refusal) }
    isExclusive = true
    while activeCount > 0 {
      if wait(until: deadline) { continue }
      if activeCount == 0 { break }
      isExclusive = false
      pthread_cond_broadcast(changed)
      return .timedOut
    }
    return .granted
  }

  /// Admits transactions again; returns whether the environment is to be closed now.
  func endExclusive() -> Bool {
    lock()
    defer { unlock() }
    isExclusive = false
    pthread_cond_broadcast(changed)
    return isClosed && livingCount == 0
  }

  /// Waits for a change; returns whether the deadline is still in the future.
  private func wait(until deadline: Double) -> Bool {
    let left = deadline - Self.now()
    if left <= 0 { return false }
    #if canImport(Darwin)
      var time = Self.time(left)
      pthread_cond_timedwait_relative_np(changed, mutex, &time)
    #else
      var time = Self.time(deadline)
      pthread_cond_timedwait(changed, mutex, &time)
    #endif
    return true
  }

  private static func time(_ seconds: Double) -> timespec {
    let seconds = min(seconds, 1e9)
    return timespec(tv_sec: Int(seconds), tv_nsec: Int((seconds - seconds.rounded(.down)) * 1e9))
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  private func lock() { pthread_mutex_lock(mutex) }
  private func unlock() { pthread_mutex_unlock(mutex) }
}
