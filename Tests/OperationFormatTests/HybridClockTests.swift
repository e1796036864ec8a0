import OperationFormat
import Testing

@Suite("Clocks that run ahead, behind and backwards")
struct HybridClockTests {
  static let drift: UInt64 = 300_000
  static let end = Timestamp.millisecondsMax

  static func stamp(_ milliseconds: UInt64, _ counter: UInt16 = 0) -> Timestamp {
    Timestamp(milliseconds: milliseconds, counter: counter)
  }

  /// The oracle: the rule in numbers that cannot overflow.
  static func slowTick(last: UInt64, wall: Int64, drift: UInt64) -> UInt64 {
    let end = Int128(1) << 48 - 1
    let clamped = Swift.min(Swift.max(Int128(wall), 0), end)
    let limit = Swift.min(clamped + Int128(drift), end) << 16 + 0xffff
    let next = Swift.max(Int128(last) + 1, clamped << 16)
    if Int128(last) == Int128(UInt64.max) && limit == Int128(UInt64.max) { return .max }
    return UInt64(next > limit ? clamped << 16 : next)
  }

  @Test(
    "The next timestamp",
    arguments: [
      // The wall clock is ahead, or has not moved, and the counter counts.
      (stamp(1000, 7), 1001, stamp(1001)),
      (stamp(1000, 7), 1000, stamp(1000, 8)),
      (stamp(1000, 7), 999, stamp(1000, 8)),
      (stamp(0), 0, stamp(0, 1)),
      // The counter carries into the milliseconds.
      (stamp(1000, .max), 1000, stamp(1001)),
      (stamp(1000, .max - 1), 1000, stamp(1000, .max)),
      (stamp(1000, .max - 2), 1000, stamp(1000, .max - 1)),
      // The limit is the whole last millisecond, including the carry.
      (stamp(1000 + drift - 1, .max), 1000, stamp(1000 + drift)),
      (stamp(1000 + drift, 5), 1000, stamp(1000 + drift, 6)),
      (stamp(1000 + drift, .max - 1), 1000, stamp(1000 + drift, .max)),
      (stamp(1000 + drift, .max), 1000, stamp(1000)),
      (stamp(1000 + drift + 1), 1000, stamp(1000)),
      // In the year 2099, corrected: back to the wall clock immediately.
      (stamp(4_070_908_800_000), 1_700_000_000_000, stamp(1_700_000_000_000)),
      // A negative wall clock counts as 1970; then it goes forward again.
      (stamp(0), -1, stamp(0, 1)),
      (stamp(0), .min, stamp(0, 1)),
      (stamp(1_700_000_000_000), -5, stamp(0)),
      (stamp(0), 1_700_000_000_000, stamp(1_700_000_000_000)),
      // The greatest timestamp.
      (stamp(0), Int64(end) - 1, stamp(end - 1)),
      (stamp(0), Int64(end), stamp(end)),
      (stamp(0), Int64(end) + 1, stamp(end)),
      (stamp(0), .max, stamp(end)),
      (stamp(end), .max, stamp(end, 1)),
      (stamp(end, .max - 1), .max, stamp(end, .max)),
      (stamp(end, .max), .max, stamp(end, .max)),
      (stamp(end, .max), Int64(end) - Int64(drift), stamp(end, .max)),
      (stamp(end, .max), Int64(end) - Int64(drift) - 1, stamp(end - drift - 1)),
    ] as [(Timestamp, Int64, Timestamp)])
  func tick(last: Timestamp, wall: Int64, expected: Timestamp) {
    var clock = HybridClock(last: last)
    #expect(clock.tick(wallMilliseconds: wall) == expected)
    #expect(clock.last == expected)
    #expect(Self.slowTick(last: last.rawValue, wall: wall, drift: Self.drift) == expected.rawValue)
  }

  @Test(
    "A remote timestamp advances the clock, unless it is too far ahead",
    arguments: [
      (stamp(1000), 1000, stamp(1000, 1), stamp(1000, 1)),
      (stamp(1000), 1000, stamp(1000 + drift - 1, .max), stamp(1000 + drift - 1, .max)),
      (stamp(1000), 1000, stamp(1000 + drift), stamp(1000 + drift)),
      (stamp(1000), 1000, stamp(1000 + drift, .max), stamp(1000 + drift, .max)),
      (stamp(1000), 1000, stamp(1000 + drift + 1), stamp(1000)),
      // An old timestamp is accepted and changes nothing: a laptop that slept for a year.
      (stamp(1_700_000_000_000), 1_700_000_000_000, stamp(1_668_464_000_000), stamp(1_700_000_000_000)),
      (stamp(1000), 1000, stamp(0), stamp(1000)),
      // 2099, and the greatest timestamp.
      (stamp(1_700_000_000_000), 1_700_000_000_000, stamp(4_070_908_800_000), stamp(1_700_000_000_000)),
      (stamp(1000), .max, stamp(end, .max), stamp(end, .max)),
      (stamp(1000), -1, stamp(drift, .max), stamp(drift, .max)),
      (stamp(1000), -1, stamp(drift + 1), stamp(1000)),
    ] as [(Timestamp, Int64, Timestamp, Timestamp)])
  func observe(last: Timestamp, wall: Int64, remote: Timestamp, expected: Timestamp) {
    var clock = HybridClock(last: last)
    clock.observe(remote, wallMilliseconds: wall)
    #expect(clock.last == expected)
  }

  @Test(
    "The timestamp that decides conflicts",
    arguments: [
      (stamp(1000), 1000, stamp(1000)),
      (stamp(1000 + drift - 1), 1000, stamp(1000 + drift - 1)),
      (stamp(1000 + drift, .max), 1000, stamp(1000 + drift, .max)),
      (stamp(1000 + drift + 1), 1000, stamp(1000 + drift, .max)),
      (stamp(end, .max), 1000, stamp(1000 + drift, .max)),
      (stamp(end, .max), -1, stamp(drift, .max)),
      (stamp(end, .max), .max, stamp(end, .max)),
      (stamp(end, .max), nil, stamp(end, .max)),
      (stamp(5), 1_700_000_000_000, stamp(5)),
    ] as [(Timestamp, Int64?, Timestamp)])
  func effective(timestamp: Timestamp, received: Int64?, expected: Timestamp) {
    #expect(HybridClock.effective(timestamp, receivedMilliseconds: received) == expected)
  }

  @Test("An unlimited drift, and no drift")
  func drifts() {
    var free = HybridClock(last: Self.stamp(5), maxDriftMilliseconds: .max)
    free.observe(Self.stamp(Self.end, 3), wallMilliseconds: 0)
    #expect(free.last == Self.stamp(Self.end, 3))
    #expect(free.tick(wallMilliseconds: .min) == Self.stamp(Self.end, 4))
    var strict = HybridClock(last: Self.stamp(5, 9), maxDriftMilliseconds: 0)
    #expect(strict.tick(wallMilliseconds: 5) == Self.stamp(5, 10))
    #expect(strict.tick(wallMilliseconds: 4) == Self.stamp(4))
  }

  @Test("A wall clock that goes back an hour and forward again, leap seconds and eight hours of sleep")
  func wallClockMoves() {
    let start: Int64 = 1_700_000_000_000
    var clock = HybridClock(last: Self.stamp(UInt64(start)))
    // Within the drift, only the counter counts, also for a repeated second or a skipped one.
    var previous = clock.last
    for wall in [start + 1, start + 1000, start, start - 299_000, start + 1000, start + 2000] {
      let next = clock.tick(wallMilliseconds: wall)
      #expect(next > previous)
      previous = next
    }
    let asleep = clock.tick(wallMilliseconds: start + 8 * 3_600_000)
    #expect(asleep == Self.stamp(UInt64(start + 8 * 3_600_000)))
    // Beyond the drift, the clock steps back once, then counts again.
    let back = clock.tick(wallMilliseconds: start)
    #expect(back == Self.stamp(UInt64(start)))
    #expect(clock.tick(wallMilliseconds: start) == Self.stamp(UInt64(start), 1))
    #expect(clock.tick(wallMilliseconds: start + 9 * 3_600_000) == Self.stamp(UInt64(start + 9 * 3_600_000)))
  }

  @Test("Any last timestamp and any wall clock, compared with the rule in wide numbers")
  func randomTicks() {
    var random = SeededGenerator(61)
    var faults: [String] = []
    for _ in 0..<100_000 {
      let wall = Int64(bitPattern: random.number()) * (random.below(8) == 0 ? -1 : 1)
      let drift = random.below(3) == 0 ? random.number() : Self.drift
      var last = random.number()
      if random.below(2) == 0 {
        // Around the limit.
        let clamped = UInt64(min(max(wall, 0), Int64(Self.end)))
        let limit = min(clamped + min(drift, Self.end), Self.end)
        last = (limit << 16 | 0xffff) &+ UInt64(random.below(5)) &- 2
      }
      var clock = HybridClock(last: Timestamp(rawValue: last), maxDriftMilliseconds: drift)
      let next = clock.tick(wallMilliseconds: wall)
      if next.rawValue != Self.slowTick(last: last, wall: wall, drift: drift) {
        faults.append("\(last) \(wall) \(drift)")
      }
    }
    #expect(faults.isEmpty, "seed \(random.seed)")
  }
}
