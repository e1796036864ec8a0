internal import Replicator
internal import Synchronization

/// Counts what callers do, and refuses what is too much.
final class CallBudget: Sendable {
  /// Who is counted by itself.
  struct Key: Hashable {
    /// Of what a client says of itself, no more counts.
    private static let deviceBytesMax = 64

    var account: String
    var device: String
    var peer: String

    init(_ caller: Caller, peer: String) {
      (account, self.peer) = (caller.account, peer)
      device = String(decoding: caller.device.utf8.prefix(Self.deviceBytesMax), as: UTF8.self)
    }
  }

  /// Room that is taken until it ends.
  final class Hold: Sendable {
    private let budget: CallBudget
    private let bytes: Mutex<Int>

    fileprivate init(_ budget: CallBudget, _ bytes: Int) {
      self.budget = budget
      self.bytes = Mutex(bytes)
    }
    deinit { end() }

    func end() {
      budget.give(
        back: bytes.withLock { bytes in
          defer { bytes = 0 }
          return bytes
        })
    }
  }

  /// How much of a rate is left.
  private struct Bucket {
    var level: Double
    var at: Int64

    /// Takes one.
    ///
    /// - Returns: nil if there was one; else after how many seconds there is.
    mutating func take(_ rate: ServiceLimits.Rate, at now: Int64) -> Double? {
      let passed = Double(max(0, now - at)) / 1e9
      (level, at) = (min(rate.burst, level + passed * rate.perSecond), now)
      if level < 1 { return (1 - level) / rate.perSecond }
      level -= 1
      return nil
    }
  }

  private struct Counts {
    var writes: Bucket
    var reads: Bucket
    var streams = 0
    /// How often in a row something was refused: each time the wait is longer.
    var refusals = 0
  }

  private struct State {
    var counts: [Key: Counts] = [:]
    var bodyBytes = 0
    var streams = 0
  }

  /// More callers than these are not remembered: those that do nothing are forgotten.
  private static let callersMax = 100_000

  private let limits: ServiceLimits
  private let clock: NetworkClock
  private let state = Mutex(State())

  init(_ limits: ServiceLimits, _ clock: NetworkClock) { (self.limits, self.clock) = (limits, clock) }

  /// Counts a call.
  ///
  /// - Throws: `RemoteError` `later`.
  func take(_ key: Key, isWrite: Bool) throws(RemoteError) {
    let now = clock.now()
    let wait = state.withLock { state -> Int64? in
      forgetIdle(&state, now)
      var counts = state.counts[key] ?? newCounts(at: now)
      let left =
        isWrite ? counts.writes.take(limits.writes, at: now) : counts.reads.take(limits.reads, at: now)
      counts.refusals = left == nil ? 0 : min(counts.refusals + 1, 6)
      state.counts[key] = counts
      return left.map { milliseconds($0 * 1000 * Double(1 << counts.refusals)) }
    }
    if let wait {
      throw RemoteError(
        .later, "this device has sent too many requests that \(isWrite ? "write" : "read")",
        hint: "it is tried again by itself", retryAfterMilliseconds: wait)
    }
  }

  /// Takes room for a body, before it is read.
  func hold(bodyBytes: Int) throws(RemoteError) -> Hold {
    let isThere = state.withLock { state in
      guard bodyBytes <= limits.bodyBytes - state.bodyBytes else { return false }
      state.bodyBytes += bodyBytes
      return true
    }
    if !isThere { throw busy("too much is being sent to the server") }
    return Hold(self, bodyBytes)
  }

  fileprivate func give(back bodyBytes: Int) {
    if bodyBytes > 0 { state.withLock { $0.bodyBytes -= bodyBytes } }
  }

  /// Counts a stream, until ``endStream(_:)``.
  func beginStream(_ key: Key) throws(RemoteError) {
    let now = clock.now()
    let isThere = state.withLock { state in
      var counts = state.counts[key] ?? newCounts(at: now)
      guard state.streams < limits.streams, counts.streams < limits.streamsOfDevice else { return false }
      counts.streams += 1
      state.streams += 1
      state.counts[key] = counts
      return true
    }
    if !isThere { throw busy("too many streams are open") }
  }

  func endStream(_ key: Key) {
    state.withLock { state in
      state.streams -= 1
      state.counts[key]?.streams -= 1
    }
  }

  /// How many streams are open.
  var streams: Int { state.withLock { $0.streams } }

  private func newCounts(at now: Int64) -> Counts {
    Counts(
      writes: Bucket(level: limits.writes.burst, at: now), reads: Bucket(level: limits.reads.burst, at: now))
  }

  private func forgetIdle(_ state: inout State, _ now: Int64) {
    guard state.counts.count > Self.callersMax else { return }
    // Who has done nothing for a minute has all of it again.
    state.counts = state.counts.filter {
      $0.value.streams > 0 || now - max($0.value.writes.at, $0.value.reads.at) < 60_000_000_000
    }
    if state.counts.count > Self.callersMax { state.counts = state.counts.filter { $0.value.streams > 0 } }
  }

  private func busy(_ message: String) -> RemoteError {
    RemoteError(
      .later, message, hint: "it is tried again by itself", retryAfterMilliseconds: milliseconds(1000))
  }

  /// At random up to a half more: equal waits let all come back at one time.
  private func milliseconds(_ base: Double) -> Int64 {
    Int64(min(base, 600_000) * (1 + Double(clock.makeRandom() % 1024) / 2048))
  }
}
