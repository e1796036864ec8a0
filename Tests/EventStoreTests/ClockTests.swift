import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Clocks are wrong")
struct ClockTests {
  static let now: Int64 = 1_700_000_000_000
  static let future: Int64 = 4_070_908_800_000  // 2099
  static let drift = Int64(HybridClock.maxDriftMilliseconds)

  let directory = TemporaryDirectory()
  let clock = TestClock(now)

  private func open(_ name: String = "store", _ clock: TestClock? = nil) throws -> LocalStore {
    let clock = clock ?? self.clock
    return try directory.store(name) { $0.wallMilliseconds = { clock.milliseconds } }
  }

  /// Writes once, and gives the timestamp of that.
  private func write(_ store: LocalStore, _ value: Value = 1) async throws -> Timestamp {
    try await store.write { tx in
      try tx.createZone(noteZone)
      if try !tx.contains(note("r")) { try tx.create(note("r"), type: "note") }
      try tx.set("f", of: note("r"), to: value)
    }
    return try store.entries().last!.transaction.timestamp
  }

  /// A segment with one transaction of replica 1 with a timestamp.
  private func segment(_ offset: UInt64, at milliseconds: UInt64, base: UInt64? = nil) throws -> RemoteSegment
  {
    var remote = TestRemote()
    var segment = try remote.append([
      transaction(
        1, offset, base: base, at: milliseconds, [create("theirs"), set("theirs", "f", .int(Int64(offset)))])
    ])
    segment.offset = offset
    return segment
  }

  @Test(
    "timestamps rise within a millisecond, over restarts, and when the clock goes back by less than the drift"
  )
  func monotone() async throws {
    var last = Timestamp(rawValue: 0)
    for round in 0..<5 {
      let store = try open()
      for _ in 0..<5 {
        let timestamp = try await write(store)
        #expect(timestamp > last)
        last = timestamp
      }
      clock.milliseconds -= [0, 1, 60_000, 0, 200_000][round]
      store.close()
    }
    #expect(last.milliseconds == UInt64(Self.now))
    let store = try open()
    try await checkSound(store)
  }

  @Test("a write without operations moves the clock too")
  func emptyWrite() async throws {
    let store = try open()
    let first = try await write(store)
    try await store.write { _ in }
    let second = try await write(store)
    #expect(second.rawValue == first.rawValue + 2)
  }

  @Test(
    "after the wall clock went back by more, writes go on from there, and still replace what came before",
    arguments: [now - 3_600_000, now - 86_400_000, 0, -1, -86_400_000, .min])
  func goesBack(wall: Int64) async throws {
    let store = try open()
    let before = try await write(store, "before")
    clock.milliseconds = wall
    let after = try await write(store, "after")
    #expect(after < before)
    #expect(after.milliseconds == UInt64(max(0, wall)))
    let heads = try store.heads("f", note("r"))
    #expect(heads == ["after"])
    _ = try await store.ingest([try segment(1, at: UInt64(Self.future))])
    let next = try await write(store, "next")
    #expect(next > after)
    store.close()
    let opened = try open()
    let last = try await write(opened, "last")
    #expect(last > next)
    let value = try opened.value("f", note("r"))
    #expect(value == "last")
    try checkContiguous(opened)
    try await checkSound(opened)
  }

  @Test(
    "a clock at the end of time, or beyond, stands still and does not trap",
    arguments: [Int64(Timestamp.millisecondsMax) - 1, Int64(Timestamp.millisecondsMax), 1 << 50, .max])
  func endOfTime(wall: Int64) async throws {
    clock.milliseconds = wall
    let store = try open()
    var last = Timestamp(rawValue: 0)
    for number in 0..<3 {
      let timestamp = try await write(store, .int(Int64(number)))
      #expect(timestamp > last)
      last = timestamp
    }
    clock.milliseconds = Self.now
    let back = try await write(store, "back")
    #expect(back.milliseconds == UInt64(Self.now))
    let heads = try store.heads("f", note("r"))
    #expect(heads == ["back"])
    try await checkSound(store)
  }

  @Test("the counter carries into the milliseconds")
  func counterOverflow() async throws {
    let store = try open()
    _ = try await write(store)
    for counter in [UInt16.max - 1, .max] {
      let row = Timestamp(milliseconds: UInt64(Self.now), counter: counter).rawValue.littleEndian
      let bytes = withUnsafeBytes(of: row) { Array($0) }
      try store.overwrite(Array("clock".utf8), bytes, in: \.meta)
      let timestamp = try await write(store)
      let expected = Timestamp(rawValue: UInt64(Self.now) << 16 | UInt64(counter)).rawValue + 1
      #expect(timestamp.rawValue == expected)
    }
  }

  @Test(
    "a remote timestamp moves the clock up to the drift and no further", arguments: [-1, 0, 1, 1_000_000_000])
  func driftBoundary(beyond: Int64) async throws {
    let store = try open()
    _ = try await write(store)
    let remote = UInt64(Self.now + Self.drift + beyond)
    _ = try await store.ingest([try segment(1, at: remote)])
    let timestamp = try await write(store)
    if beyond <= 0 {
      #expect(timestamp > Timestamp(milliseconds: remote, counter: 0))
    } else {
      #expect(timestamp.milliseconds == UInt64(Self.now))
    }
    // Without receive times the remote's timestamp counts as it is.
    let winner = try store.read { try $0.heads(of: "f", in: note("theirs"))[0].timestamp.milliseconds }
    #expect(winner == remote)
  }

  @Test(
    "a wall clock that comes back within the drift of the clock keeps it rising, one millisecond more does not",
    arguments: [-1, 0, 1])
  func backBoundary(beyond: Int64) async throws {
    let store = try open()
    let before = try await write(store)
    clock.milliseconds = Self.now - Self.drift - beyond
    let after = try await write(store)
    #expect((after > before) == (beyond <= 0))
  }

  @Test("a receive time caps from the drift on, to the millisecond", arguments: [-1, 0, 1])
  func capBoundary(beyond: Int64) async throws {
    let store = try open()
    try await store.makeZone()
    let remote = UInt64(Self.now + Self.drift + beyond)
    var segment = try segment(1, at: remote)
    segment.receivedMilliseconds = UInt64(Self.now)
    _ = try await store.ingest([segment])
    let found = try store.read { try $0.heads(of: "f", in: note("theirs"))[0].timestamp }
    let expected =
      beyond <= 0
      ? Timestamp(milliseconds: remote, counter: 0)
      : Timestamp(milliseconds: UInt64(Self.now + Self.drift), counter: .max)
    #expect(found == expected)
    try await checkSound(store)
  }

  @Test(
    "a receive time that an acknowledgement brings caps from the drift on, to the millisecond",
    arguments: [-1, 0, 1])
  func acknowledgedCapBoundary(beyond: Int64) async throws {
    let store = try open()
    let written = try await write(store)
    #expect(written.milliseconds == UInt64(Self.now))
    let received = UInt64(Self.now - Self.drift - beyond)
    var remote = TestRemote()
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: received))
    _ = try await store.acknowledge(acknowledgement)
    let found = try store.read { try $0.heads(of: "f", in: note("r"))[0].timestamp }
    let capped = Timestamp(milliseconds: UInt64(Self.now - 1), counter: .max)
    #expect(found == (beyond <= 0 ? written : capped))
    try await checkSound(store)
  }

  @Test("receive times at the ends of what fits do not trap", arguments: [0, 1, .max - 1, .max] as [UInt64])
  func receiveTimes(received: UInt64) async throws {
    let store = try open()
    try await store.makeZone()
    for (offset, milliseconds) in [
      (UInt64(1), UInt64(0)), (2, UInt64(Self.future)), (3, Timestamp.millisecondsMax),
    ] {
      var segment = try segment(offset, at: milliseconds)
      segment.receivedMilliseconds = received
      _ = try await store.ingest([segment])
    }
    _ = try await write(store)
    try await checkSound(store)
  }

  @Test(
    "an edit made after seeing another replaces it whatever the clocks say",
    arguments: [3_600_000, future - now])
  func causalSuccessor(ahead: Int64) async throws {
    let (fast, slow) = (TestClock(Self.now + ahead), TestClock(Self.now))
    let stores = (try open("fast", fast), try open("slow", slow))
    try await stores.1.makeZone()
    var remote = TestRemote()
    for number in 0..<100 { _ = try await write(stores.0, .int(Int64(number))) }
    let acknowledgement = try #require(try remote.ship(stores.0))
    _ = try await stores.0.acknowledge(acknowledgement)
    _ = try await stores.1.ingest(remote.segments)
    let successor = try await write(stores.1, "successor")
    #expect(successor.milliseconds <= UInt64(Self.now + Self.drift))
    let second = try #require(try remote.ship(stores.1))
    _ = try await stores.1.acknowledge(second)
    _ = try await stores.0.ingest(try remote.news(for: stores.0))
    for store in [stores.0, stores.1] {
      let heads = try store.heads("f", note("r"))
      #expect(heads == ["successor"])
      try await checkSound(store)
    }
    // Corrected, the fast one can write at once, and what it writes counts.
    fast.milliseconds = Self.now
    let corrected = try await write(stores.0, "corrected")
    #expect(corrected.milliseconds <= UInt64(Self.now + Self.drift))
    let third = try #require(try remote.ship(stores.0))
    _ = try await stores.0.acknowledge(third)
    _ = try await stores.1.ingest(try remote.news(for: stores.1))
    let heads = try stores.1.heads("f", note("r"))
    #expect(heads == ["corrected"])
    let digests = (try stores.0.digest(), try stores.1.digest())
    #expect(digests.0 == digests.1)
  }

  @Test("timestamps of a year ago are taken")
  func oldTimestamps() async throws {
    let store = try open()
    let recent = try await write(store, "recent")
    _ = try await store.ingest([try segment(1, at: UInt64(Self.now) - 31_536_000_000)])
    let value = try store.value("f", note("theirs"))
    #expect(value == 1)
    let clock = try store.information().clock
    #expect(clock == recent)
  }
}
