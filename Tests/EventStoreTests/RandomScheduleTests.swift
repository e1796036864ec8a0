import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

@Suite("Stores that exchange everything in random order")
struct RandomScheduleTests {
  let directory = TemporaryDirectory()

  /// Some stores, their clocks, and the remote between them.
  private struct World {
    var stores: [LocalStore] = []
    var clocks: [TestClock] = []
    var remote = TestRemote()
    var serverClock: UInt64 = 1_700_000_000_000
    var keepsReceiveTimes: Bool
    var generator: SeededGenerator
    /// Acknowledgements that have not arrived yet.
    var late: [(store: Int, Acknowledgement)] = []
    var conflictsSeen = 0

    mutating func tick() {
      serverClock += UInt64(generator.below(2000))
      for clock in clocks { clock.milliseconds += Int64(generator.below(2000)) }
      // A device's clock sometimes jumps: by an hour or a day, to 1970, to 2099.
      if generator.chance(5) {
        let clock = clocks[generator.below(clocks.count)]
        let now = Int64(serverClock)
        clock.milliseconds =
          [now, now - 3_600_000, now + 86_400_000, 0, 4_070_908_800_000, now + 299_000][
            generator.below(6)]
      }
    }

    mutating func step() async throws {
      tick()
      let index = generator.below(stores.count)
      let store = stores[index]
      switch generator.below(100) {
      case ..<55: try await write(store)
      case ..<75: try await ship(index)
      case ..<80: try await acknowledge()
      case ..<95:
        _ = try await store.ingest(try remote.news(for: store, limit: 1 + generator.below(4)))
      default:
        // Known segments arrive again.
        let count = Int(try store.read { try $0.token(of: noteZone) }?.offset ?? 0)
        guard count > 0 else { return }
        let before = try store.readView()
        let report = try await store.ingest([remote.segments[generator.below(count)]])
        #expect(report.folded == 0 && report.retimed == 0)
        let after = try store.readView()
        #expect(after == before)
      }
    }

    private mutating func write(_ store: LocalStore) async throws {
      let choices = (0..<1 + generator.below(3)).map { _ in
        (generator.below(100), generator.below(3), generator.below(3), generator.below(1000))
      }
      try await store.write { tx in
        for (kind, record, field, number) in choices {
          let id = note("r\(record)")
          let isThere = try tx.contains(id)
          if !isThere { try tx.create(id, type: number % 2 == 0 ? "note" : "task") }
          if kind < 15 {
            try tx.delete(id)
            if kind < 5 { try tx.create(id, type: "note") }
          } else if kind < 30 {
            let value = Value.bytes([UInt8](repeating: UInt8(number & 255), count: 1020 + number % 10))
            try tx.set(Name("f\(field)"), of: id, to: value)
          } else {
            try tx.set(Name("f\(field)"), of: id, to: number % 10 == 0 ? .null : .int(Int64(number)))
          }
        }
      }
    }

    private mutating func ship(_ index: Int) async throws {
      // A replica sends only what nobody has: earlier sends are acknowledged first.
      for (store, acknowledgement) in late where store == index {
        _ = try await stores[store].acknowledge(acknowledgement)
      }
      late.removeAll { $0.store == index }
      guard
        let acknowledgement = try remote.ship(
          stores[index], limit: 1 + generator.below(4),
          receivedMilliseconds: keepsReceiveTimes ? serverClock : nil)
      else { return }
      late.append((index, acknowledgement))
      if generator.chance(60) { try await acknowledge() }
    }

    private mutating func acknowledge() async throws {
      guard !late.isEmpty else { return }
      let (store, acknowledgement) = late.removeFirst()
      _ = try await stores[store].acknowledge(acknowledgement)
    }

    mutating func settle() async throws {
      while !late.isEmpty { try await acknowledge() }
      for (index, store) in stores.enumerated() {
        while let acknowledgement = try remote.ship(
          store, receivedMilliseconds: keepsReceiveTimes ? serverClock : nil)
        {
          _ = try await stores[index].acknowledge(acknowledgement)
        }
      }
      for store in stores { _ = try await store.ingest(try remote.news(for: store)) }
    }
  }

  private func run(_ seed: UInt64, steps: Int) async throws -> World {
    let generator = SeededGenerator(seed: seed)
    var world = World(keepsReceiveTimes: seed % 3 != 0, generator: generator)
    for number in 0..<2 + world.generator.below(4) {
      let clock = TestClock(1_700_000_000_000)
      let store = try directory.store("\(seed)-\(number)") {
        $0.wallMilliseconds = { clock.milliseconds }
        $0.makeRandom = { seed &* 1000 &+ UInt64(number) }
      }
      try await store.makeZone()
      world.stores.append(store)
      world.clocks.append(clock)
    }
    for _ in 0..<steps { try await world.step() }
    for store in world.stores {
      let report = try store.verify()
      #expect(report.problems == [], "seed \(seed)")
      world.conflictsSeen += try store.read { try $0.conflicts(in: noteZone).count }
    }
    try await world.settle()
    let snapshots = try world.stores.map { try $0.readView() }
    for (store, readView) in zip(world.stores, snapshots) {
      #expect(readView.digests == snapshots[0].digests, "seed \(seed)")
      #expect(readView.pending == [0], "seed \(seed)")
      #expect(readView.tokens.map { $0?.offset ?? 0 } == [world.remote.last], "seed \(seed)")
      try checkContiguous(store)
      try await checkSound(store, "seed \(seed)")
    }
    // One of the stores receives everything fifty times more.
    let index = world.generator.below(world.stores.count)
    for _ in 0..<50 {
      let report = try await world.stores[index].ingest(world.remote.segments)
      #expect(report.folded == 0 && report.retimed == 0, "seed \(seed)")
      let token = try world.stores[index].read { try $0.token(of: noteZone) }
      #expect(token == snapshots[index].tokens[0], "seed \(seed)")
    }
    let again = try world.stores[index].readView()
    #expect(
      again.tokens == snapshots[index].tokens && again.digests == snapshots[index].digests, "seed \(seed)")
    #expect(again.lastPosition == snapshots[index].lastPosition && again.pending == [0], "seed \(seed)")
    // A store that folds everything at once has the same state.
    let fresh = try directory.store("\(seed)-fresh")
    try await fresh.makeZone()
    _ = try await fresh.ingest(world.remote.segments)
    let digest = try fresh.digest()
    #expect(digest == snapshots[0].digests[0], "seed \(seed)")
    // No clock is further ahead than allowed, and all continue to write.
    for (store, clock) in zip(world.stores, world.clocks) {
      try await store.write { try $0.create(note("end"), type: "note") }
      let last = try store.information().clock
      #expect(last.milliseconds <= UInt64(max(0, clock.milliseconds)) + HybridClock.maxDriftMilliseconds)
    }
    return world
  }

  @Test("all end with the same digest, verified, and rebuilt to the same bytes")
  func converge() async throws {
    let random = UInt64.random(in: 1000...999_999)
    let last = WideTests.choose(24, otherwise: 6)
    print("random schedules: seeds 1 to \(last) and \(random)")
    var conflicts = 0
    var segments: UInt64 = 0
    for seed in Array(1...UInt64(last)) + [random] {
      let world = try await run(seed, steps: 60)
      conflicts += world.conflictsSeen
      segments += world.remote.last
      for store in world.stores { store.close() }
    }
    print("random schedules: \(segments) segments, \(conflicts) conflicts before the end")
    #expect(conflicts > WideTests.choose(50, otherwise: 12))
  }
}
