import OperationFormat
import StoreTesting
import Synchronization
import Testing

@testable import EventStore

/// A non-commutative reducer that lists the payloads, and counts its calls.
private final class Lister: Sendable {
  private let calls = Mutex(0)
  private let shared: Mutex<ContributionReducer<[Value]>?> = Mutex(nil)

  init(recordsMax: Int = 64) {
    let reducer = ContributionReducer<[Value]>(of: "log", initial: [], recordsMax: recordsMax) {
      [weak self] list, contribution in
      self?.calls.withLock { $0 += 1 }
      list.append(contribution.payload)
    }
    shared.withLock { $0 = reducer }
  }

  var reducer: ContributionReducer<[Value]> { shared.withLock { $0! } }

  /// How often the function was called since the last call of this.
  func takeCalls() -> Int {
    calls.withLock { count in
      defer { count = 0 }
      return count
    }
  }

  func list(_ store: LocalStore, _ record: RecordID = note("r")) throws -> [Value]? {
    try store.read { try reducer.result(of: record, in: $0) }
  }
}

@Suite("Reducers of contributions")
struct ReducersOfContributions {
  let directory = TemporaryDirectory()

  private func makeStore(_ name: String = "store", at clock: TestClock = TestClock(1_000_000)) async throws
    -> LocalStore
  {
    let store = try directory.store(name) { $0.wallMilliseconds = { clock.milliseconds } }
    try await store.makeZone()
    return store
  }

  @Test("give one value, in the write and after it, and nil for a missing record")
  func results() async throws {
    let store = try await makeStore()
    let balance = ContributionReducer(of: "moves", initial: 0) { (balance: inout Int64, move) in
      if case .int(let amount) = move.payload, balance + amount >= 0 { balance += amount }
    }
    try await store.write { tx in
      #expect(try balance.result(of: note("r"), in: tx) == nil)
      try tx.create(note("r"), type: "note")
      #expect(try balance.result(of: note("r"), in: tx) == nil)
      for amount in [5, -7, -3] as [Int64] { try tx.contribute(.int(amount), to: "moves", of: note("r")) }
      #expect(try balance.result(of: note("r"), in: tx) == 2)
    }
    #expect(try store.read { try balance.result(of: note("r"), in: $0) } == 2)
    #expect(try store.read { try balance.result(of: note("x"), in: $0) } == nil)
    try await store.write { try $0.delete(note("r")) }
    #expect(try store.read { try balance.result(of: note("r"), in: $0) } == nil)
  }

  @Test("are called once for a new one after 20,000, and not at all without a new one")
  func appended() async throws {
    let store = try await makeStore()
    let lister = Lister()
    try await store.write { try $0.create(note("r"), type: "note") }
    for start in stride(from: 0, to: 20_000, by: 10_000) as StrideTo<Int64> {
      try await store.write { tx in
        for number in start..<start + 10_000 { try tx.contribute(.int(number), to: "log", of: note("r")) }
      }
    }
    #expect(try lister.list(store)?.count == 20_000)
    #expect(lister.takeCalls() == 20_000)
    for number in 0..<200 as Range<Int64> {
      try await store.write { try $0.contribute(.int(-number), to: "log", of: note("r")) }
      #expect(try lister.list(store)?.last == .int(-number))
      #expect(lister.takeCalls() == 1)
    }
    #expect(try lister.list(store)?.count == 20_200)
    #expect(lister.takeCalls() == 0)
    #expect(try lister.list(store) == store.contributed())
  }

  @Test("change their result in place: it is copied only when it is cached or grows")
  func inPlace() async throws {
    let store = try await makeStore()
    let moves = Shared(0)
    let reducer = ContributionReducer<[Int64]>(of: "log", initial: []) { list, contribution in
      let before = list.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
      if case .int(let number) = contribution.payload { list.append(number) }
      if before != list.withUnsafeBufferPointer({ Int(bitPattern: $0.baseAddress) }) { moves.value += 1 }
    }
    try await store.write { try $0.create(note("r"), type: "note") }
    for number in 0..<1000 as Range<Int64> {
      try await store.write { try $0.contribute(.int(number), to: "log", of: note("r")) }
      let count = try store.read { try reducer.result(of: note("r"), in: $0)?.count }
      #expect(count == Int(number) + 1)
    }
    // It was cached 15 times, and each growth doubles it.
    #expect(moves.value <= 40)
  }

  @Test("are called for a late one at most four times as often as there are later ones")
  func late() async throws {
    let store = try await makeStore()
    let lister = Lister()
    var remote = TestRemote()
    var count = 5000
    let all = (1...UInt64(count)).map { number in
      transaction(
        1, number, at: 1_000_000 + number * 1000,
        (number == 1 ? [create("r")] : []) + [contribute("r", .int(Int64(number)))])
    }
    _ = try remote.append(all)
    _ = try await store.ingest(remote.segments)
    #expect(try lister.list(store)?.count == count)
    #expect(lister.takeCalls() == count)
    for (turn, distance) in [0, 1, 10, 63, 64, 65, 100, 129, 500, 1000, 2049, 4000, 0, 1, 70, 4999]
      .enumerated()
    {
      // Between those at this distance from the end, and nobody has seen it.
      let behind = try #require(try store.read { try $0.contributions(of: "log", in: note("r")) })
      let time =
        distance == 0 ? 90_000_000 + UInt64(turn) : behind[count - distance].timestamp.milliseconds - 1
      let segment = try remote.append([
        transaction(UInt128(100 + turn), 1, at: time, [contribute("r", .int(Int64(-turn)))])
      ])
      _ = try await store.ingest([segment])
      count += 1
      let list = try #require(try lister.list(store))
      #expect(list[count - 1 - distance] == .int(Int64(-turn)))
      let calls = lister.takeCalls()
      #expect(calls <= 4 * distance + 64 + 2, "distance \(distance)")
      #expect(try list == store.contributed())
    }
  }

  @Test("one that others' clocks put before what it has seen comes last, with one call")
  func behindClocks() async throws {
    let store = try await makeStore()
    let lister = Lister()
    var remote = TestRemote()
    _ = try remote.append(
      [transaction(1, 1, at: 90_000_000, [create("r")] + (0..<1000).map { contribute("r", .int($0)) })])
    _ = try await store.ingest(remote.segments)
    #expect(try lister.list(store)?.count == 1000)
    _ = lister.takeCalls()
    // The store's clock does not follow one that is so far ahead.
    for number in 0..<100 as Range<Int64> {
      try await store.write { try $0.contribute(.int(-number), to: "log", of: note("r")) }
      #expect(try lister.list(store)?.last == .int(-number))
      #expect(lister.takeCalls() == 1)
    }
    #expect(try lister.list(store) == store.contributed())
  }

  @Test("reduce again after a record was created again, retimed or rebuilt")
  func again() async throws {
    let clock = TestClock(4_070_908_800_000)
    let store = try await makeStore(at: clock)
    let lister = Lister()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for number in 0..<10 as Range<Int64> { try tx.contribute(.int(number), to: "log", of: note("r")) }
    }
    #expect(try lister.list(store)?.count == 10)
    // As many as before, all of them new.
    try await store.write { tx in
      try tx.delete(note("r"))
      try tx.create(note("r"), type: "note")
      for number in 20..<30 as Range<Int64> { try tx.contribute(.int(number), to: "log", of: note("r")) }
    }
    #expect(try lister.list(store) == (20..<30).map { .int($0) })
    var remote = TestRemote()
    let now: UInt64 = 1_700_000_000_000
    let segment = try remote.append(
      [transaction(1, 1, at: now + 500_000, [create("r"), contribute("r", "between")])],
      receivedMilliseconds: now + 500_000)
    _ = try await store.ingest([segment])
    #expect(try lister.list(store)?.first == "between")
    let acknowledgement = try #require(try remote.ship(store, receivedMilliseconds: now))
    _ = try await store.acknowledge(acknowledgement)
    #expect(try lister.list(store)?.last == "between")
    _ = lister.takeCalls()
    _ = try await store.rebuild()
    #expect(try lister.list(store)?.last == "between")
    #expect(lister.takeCalls() == 11)
  }

  @Test("pass on the function's error, and start again")
  func throwing() async throws {
    struct Refused: Error {}
    let store = try await makeStore()
    let isRefusing = Shared(false)
    let reducer = ContributionReducer(of: "log", initial: 0) { (count: inout Int, _) in
      count += 1
      if isRefusing.value, count == 3 { throw Refused() }
    }
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      for number in 0..<2 as Range<Int64> { try tx.contribute(.int(number), to: "log", of: note("r")) }
    }
    #expect(try store.read { try reducer.result(of: note("r"), in: $0) } == 2)
    isRefusing.value = true
    try await store.write { try $0.contribute(2, to: "log", of: note("r")) }
    #expect(throws: Refused.self) { try store.read { try reducer.result(of: note("r"), in: $0) } }
    isRefusing.value = false
    #expect(try store.read { try reducer.result(of: note("r"), in: $0) } == 3)
  }

  @Test("read an older snapshot correctly, and keep their cache")
  func olderSnapshots() async throws {
    let store = try await makeStore()
    let lister = Lister()
    try await store.write { tx in
      try tx.create(note("r"), type: "note")
      try tx.contribute(1, to: "log", of: note("r"))
    }
    let held = try store.beginHeldRead()
    defer { held.end() }
    try await store.write { try $0.contribute(2, to: "log", of: note("r")) }
    #expect(try lister.list(store) == [1, 2])
    #expect(try held.read { try lister.reducer.result(of: note("r"), in: $0) } == [1])
    _ = lister.takeCalls()
    try await store.write { try $0.contribute(3, to: "log", of: note("r")) }
    #expect(try lister.list(store) == [1, 2, 3])
    #expect(lister.takeCalls() == 1)
    #expect(try held.read { try lister.reducer.result(of: note("r"), in: $0) } == [1])
    let past = try store.snapshotBlockingThisThread(at: Position(rawValue: 2))
    #expect(try past.read { try lister.reducer.result(of: note("r"), in: $0) } == [1, 2])
  }

  @Test("cache at most a given number of records, those read last")
  func records() async throws {
    let store = try await makeStore()
    let lister = Lister(recordsMax: 3)
    try await store.write { tx in
      for name in ["a", "b", "c", "d"] as [Name] {
        try tx.create(note(name.rawValue), type: "note")
        try tx.contribute(1, to: "log", of: note(name.rawValue))
      }
    }
    func calls(_ name: String) throws -> Int {
      #expect(try lister.list(store, note(name)) == [1])
      return lister.takeCalls()
    }
    #expect(
      try ["a", "b", "c", "a", "b", "d", "a", "b", "c", "d"].map(calls) == [1, 1, 1, 0, 0, 1, 0, 0, 1, 1])
    let none = Lister(recordsMax: 0)
    #expect(try none.list(store, note("a")) == [1])
    #expect(try none.list(store, note("a")) == [1])
    #expect(none.takeCalls() == 2)
  }

  @Test("serve many readers at once, and other stores")
  func concurrent() async throws {
    let store = try await makeStore()
    let other = try await makeStore("other")
    let lister = Lister()
    for store in [store, other] {
      try await store.write { tx in
        try tx.create(note("r"), type: "note")
        try tx.contribute(store === other ? "other" : 0, to: "log", of: note("r"))
      }
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask {
        for number in 1..<200 as Range<Int64> {
          try await store.write { try $0.contribute(.int(number), to: "log", of: note("r")) }
        }
      }
      for _ in 0..<4 {
        group.addTask {
          for _ in 0..<200 {
            let (reduced, read) = try store.read { tx in
              (
                try lister.reducer.result(of: note("r"), in: tx),
                try tx.contributions(of: "log", in: note("r"))?.map(\.payload)
              )
            }
            #expect(reduced == read)
            #expect(try lister.list(other) == ["other"])
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try lister.list(store)?.count == 200)
  }

  @Test(
    "agree with a reduction from the start at every step of random schedules",
    arguments: WideTests.choose(1...6, otherwise: 1...2))
  func schedules(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    let clocks = (0..<3).map { _ in TestClock(1_700_000_000_000) }
    var stores: [LocalStore] = []
    for (index, clock) in clocks.enumerated() { stores.append(try await makeStore("\(index)", at: clock)) }
    var remote = TestRemote()
    for store in stores { try await store.makeAttachedZone() }
    let listers = (0..<3).map { _ in Lister() }
    var held: HeldRead?
    var number: Int64 = 0
    for _ in 0..<120 {
      let place = random.below(3)
      let store = stores[place]
      switch random.below(100) {
      case 0..<45:
        let (count, isNew) = (1 + random.below(random.chance(10) ? 90 : 3), random.chance(3))
        let first = number
        number += Int64(count)
        try await store.write { tx in
          if isNew, try tx.contains(note("r")) { try tx.delete(note("r")) }
          if try !tx.contains(note("r")) { try tx.create(note("r"), type: "note") }
          for payload in first..<first + Int64(count) {
            try tx.contribute(.int(payload), to: "log", of: note("r"))
          }
        }
      case 45..<65:
        let received = random.chance(50) ? nil : UInt64(1_700_000_000_000 + random.below(100_000))
        if let acknowledgement = try remote.ship(
          store, limit: 1 + random.below(5), receivedMilliseconds: received)
        {
          if try remote.last == (store.read { try $0.token(of: noteZone) }?.offset ?? 0) + 1
            || random.chance(50)
          {
            _ = try await store.acknowledge(acknowledgement)
          }
        }
      case 65..<85: _ = try await store.ingest(try remote.news(for: store, limit: 1 + random.below(6)))
      case 85..<95:
        clocks[place].milliseconds =
          1_700_000_000_000 + [0, -5_000_000, 200_000, 90_000_000, 1_000][random.below(5)]
      case 95..<97: _ = try await store.rebuild()
      case 97:
        // The same data, through another store object.
        if place == 0 { held.take()?.end() }
        store.close()
        let clock = clocks[place]
        stores[place] = try directory.store("\(place)") { $0.wallMilliseconds = { clock.milliseconds } }
      default:
        held?.end()
        held = try stores[0].beginHeldRead()
      }
      for (index, store) in stores.enumerated() {
        let found = try listers[index].list(store)
        #expect(try found == store.contributed(), "seed \(seed), store \(index)")
      }
      let (old, read) =
        try held?.read { tx in
          (
            try listers[0].reducer.result(of: note("r"), in: tx),
            try tx.contributions(of: "log", in: note("r"))?.map(\.payload)
          )
        } ?? (nil, nil)
      #expect(old == read, "seed \(seed)")
    }
    held?.end()
    for store in stores {
      while try remote.ship(store) != nil { _ = try await store.ingest(try remote.news(for: store)) }
    }
    for store in stores { _ = try await store.ingest(try remote.news(for: store)) }
    let lists = try stores.enumerated().map { try listers[$0.offset].list($0.element) }
    #expect(lists[0] == lists[1] && lists[1] == lists[2], "seed \(seed)")
    let digests = try stores.map { try $0.digest() }
    #expect(digests[0] == digests[1] && digests[1] == digests[2], "seed \(seed)")
    try await checkSound(stores[0])
  }

  @Test("handle claims that contradict each other, and places that arrive after what has seen them")
  func contradictions() async throws {
    let store = try await makeStore()
    let lister = Lister()
    let (former, later) = (IncarnationID(rawValue: 0xF0), IncarnationID(rawValue: 0xF1))
    var remote = TestRemote()
    // Each claims to have seen a part of another log that the store does not know yet.
    var first = transaction(1, 1, at: 3_000_000, [create("r"), contribute("r", 1)])
    first.base = Base(incarnation: former, offset: 9)
    var second = transaction(2, 1, at: 2_000_000, [contribute("r", 2)])
    second.base = Base(incarnation: later, offset: 9)
    for made in [first, second] { _ = try remote.append([made]) }
    _ = try await store.ingest(remote.segments)
    #expect(try lister.list(store) == [2, 1])
    func place(_ replica: UInt128, in incarnation: IncarnationID) async throws {
      try await store.perform { store in
        let storage = store.storage
        let number = try #require(try storage.replicaNumber(of: ReplicaID(rawValue: replica)))
        let log = try storage.incarnations.makeNumber(for: incarnation)
        try storage.segments.place(
          SegmentRow(
            replica: number, epoch: 0, first: 1, last: 1, hash: ContentHash(of: RawSpan()),
            receivedMilliseconds: nil), in: try storage.zones.visible(noteZone).number, log, at: 1)
      }
    }
    try await place(1, in: later)
    #expect(try store.contributed() == [1, 2])
    #expect(try lister.list(store) == [1, 2])
    try await place(2, in: former)
    #expect(try store.contributed() == [2, 1])
    #expect(try lister.list(store) == [2, 1])
    // Those that become free come before those that never do.
    for number in 3..<8 as Range<UInt64> {
      _ = try remote.append([
        transaction(UInt128(number), 1, at: 1_000_000 * number, [contribute("r", .int(Int64(number)))])
      ])
      _ = try await store.ingest(try remote.news(for: store))
      #expect(try lister.list(store) == store.contributed())
      #expect(try lister.list(store)?.first == 3)
      #expect(try lister.list(store)?.suffix(2) == [2, 1])
    }
  }

  @Test("cache few results, at points where a late one can continue")
  func checkpoints() {
    var kept: Set<Int> = []
    for count in 1...6000 {
      let wanted = ReducedRecord<Int>.checkpointCounts(of: count)
      if wanted.contains(count) { kept.insert(count) }
      #expect(wanted.isSubset(of: kept), "what is wanted of \(count) was thrown away")
      kept = wanted
      #expect(wanted.count <= 16)
      for distance in stride(from: 1, through: count, by: 7) {
        let from = wanted.filter { $0 <= count - distance }.max() ?? 0
        #expect(count - from <= 4 * distance + 64, "\(distance) before \(count)")
      }
    }
  }
}
