import Testing

@testable import EventStore
@testable import OperationFormat
@testable import StoreTesting

@Suite("Wall clocks that jump, and clocks that continue after a restart")
struct ClocksThatJump {
  /// A wall clock that sometimes jumps: by an hour or a day, to 1970, before 1970, or to 2099.
  private struct Wall {
    var milliseconds: Int64 = 1_700_000_000_000
    var random: SeededRandom

    mutating func pass() {
      milliseconds += Int64(random.next(below: 3)) * Int64(random.next(below: 2000))
      guard random.chance(25) else { return }
      let jumps: [Int64] = [
        milliseconds - 3_600_000, milliseconds - 86_400_000, milliseconds + 86_400_000, 0, -5,
        4_070_908_800_000, 1_700_000_000_000, milliseconds - 300_000, milliseconds - 300_001,
      ]
      milliseconds = jumps[random.next(below: jumps.count)]
    }

    /// Another replica's timestamp: close to the drift, or anywhere.
    mutating func remote() -> Timestamp {
      let near = UInt64(max(milliseconds, 0)) + 299_998 + UInt64(random.next(below: 5))
      let anywhere: [UInt64] = [0, 1_700_000_000_000, 4_070_908_800_000, near]
      return Timestamp(
        milliseconds: anywhere[random.next(below: 4)], counter: random.chance(50) ? .max : 0)
    }
  }

  @Test(
    "ten thousand clocks: every write is accepted, and later than the last unless that is beyond the drift"
  )
  func clocks() throws {
    var back = 0
    for seed in 0..<10_000 as Range<UInt64> {
      var wall = Wall(random: SeededRandom(seed: seed))
      var clock = HybridClock(last: Timestamp(rawValue: 0))
      var naive = NaiveClock()
      for _ in 0..<24 {
        wall.pass()
        if wall.random.chance(20) {
          let remote = wall.remote()
          clock.observe(remote, wallMilliseconds: wall.milliseconds)
          naive.observe(remote, wallMilliseconds: wall.milliseconds)
        }
        let before = clock.last
        let timestamp = clock.tick(wallMilliseconds: wall.milliseconds)
        if timestamp <= before { back += 1 }
        do {
          try naive.check(timestamp, wallMilliseconds: wall.milliseconds)
        } catch {
          Issue.record("seed \(seed): \(error)")
          return
        }
        // The process ends; the next one knows only what the store has.
        if wall.random.chance(20) { clock = HybridClock(last: timestamp) }
      }
    }
    // The jumps exceed the drift.
    #expect(back > 10_000)
  }

  @Test(
    "stores that are opened again after the clock jumped", .serialized, arguments: 0..<24 as Range<UInt64>)
  func stores(seed: UInt64) async throws {
    let directory = TemporaryDirectory()
    var wall = Wall(random: SeededRandom(seed: seed))
    let clock = TestClock(wall.milliseconds)
    var naive = NaiveClock()
    var store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeZone()
    naive.observe(try store.information().clock, wallMilliseconds: wall.milliseconds)
    var remote = TestRemote()
    for number in 0..<20 {
      wall.pass()
      clock.milliseconds = wall.milliseconds
      if wall.random.chance(25) {
        let stamp = wall.remote()
        var theirs = transaction(1, remote.last + 1, [create("theirs")])
        theirs.timestamp = stamp
        _ = try remote.append([theirs])
        _ = try await store.ingest(try remote.news(for: store))
        naive.observe(stamp, wallMilliseconds: wall.milliseconds)
      }
      try await store.write { try $0.create(note("r\(number)"), type: "note") }
      let timestamp = try #require(try store.entries().last).transaction.timestamp
      try naive.check(timestamp, wallMilliseconds: wall.milliseconds)
      if wall.random.chance(30) {
        store.close()
        store = try directory.store { $0.wallMilliseconds = { clock.milliseconds } }
      }
    }
    let count = try store.entries().count
    #expect(count == 20 + Int(remote.last))
    try checkContiguous(store)
    try await checkSound(store, "seed \(seed)")
    store.close()
  }
}
