import Foundation
import StoreTesting
import Synchronization
import Testing
import Tributary

private struct Team: Model {
  static let type: Name = "team"
  let name = Field<String>("name")
}

private struct Job: Model {
  static let type: Name = "job"
  let title = Field<String>("title")
  let rank = Field<Int>("rank").indexed
  let start = Field<Int?>("start")
  let end = Field<Int?>("end")
  let team = Field<Ref<Team>?>("team", .nullify)
  let parent = Field<Ref<Team>?>("parent", .cascade)
  let votes = CounterField("votes")
  let words = SetField<String>("words")

  static let indexes: [Index] = [Index { [$0.team, $0.rank] }, Index { [$0.words] }]
}

@Suite("Live lists", .timeLimit(.minutes(20)))
struct LiveListTests {
  let directory = TemporaryDirectory()

  private func store(_ name: String = "store", clock: TickingClock = TickingClock()) throws -> Store {
    var configuration = StoreConfiguration()
    configuration.wallMilliseconds = { clock.tick() }
    return try Store(
      directory.path + "/" + name, .consistent, models: [Job.self, Team.self], zones: [.synced("work")],
      author: name, configuration: configuration)
  }

  @Test("a list gives its rows at once, and again when they are others, and no other time")
  func rows() async throws {
    let store = try store()
    let reads = Mutex(0)
    let counted = store.values { tx in
      reads.withLock { $0 += 1 }
      return try tx.fetch(Job.where { $0.rank > 10 }.sorted(by: \.rank).limit(2)).map(\.rank)
    }
    var values = counted.makeAsyncIterator()
    #expect(try await values.next() == [])
    let low = try await store.write { tx in try tx.create(Job.self, in: "work") { $0.rank = 1 } }
    let high = try await store.write { tx in try tx.create(Job.self, in: "work") { $0.rank = 50 } }
    #expect(try await values.next() == [50])
    try await store.write { tx in
      for rank in [20, 30] { _ = try tx.create(Job.self, in: "work") { $0.rank = rank } }
    }
    #expect(try await values.next() == [20, 30])
    let before = reads.withLock { $0 }
    // None of these is in the window: behind it, not in the list, or of another type.
    try await store.write { tx in
      tx[high].title = "behind"
      tx[low].title = "not in it"
      _ = try tx.create(Team.self, in: "work") { $0.name = "team" }
    }
    try await store.write { tx in tx[high].rank = 60 }
    try await store.write { tx in tx[low].rank = 15 }
    #expect(try await values.next() == [15, 20])
    #expect(reads.withLock { $0 } == before + 1)
  }

  @Test("what a closure reads decides what wakes it: records, the names of zones, what is not there yet")
  func closures() async throws {
    let store = try store()
    let ref = Ref<Job>(in: "work", "one")
    var one = store.values { tx in try tx.fetch(ref)?.title }.makeAsyncIterator()
    var zones = store.values { tx in try tx.zones().count }.makeAsyncIterator()
    #expect(try await one.next() == .some(nil))
    #expect(try await zones.next() == 1)
    try await store.write { tx in _ = try tx.create(Job.self, in: "work", named: "two") { $0.title = "2" } }
    try await store.write { tx in _ = try tx.create(Job.self, in: "work", named: "one") { $0.title = "1" } }
    #expect(try await one.next() == "1")
    try await store.write { tx in try tx.createZone("more") }
    #expect(try await zones.next() == 2)
    try await store.write { tx in try tx.delete(ref) }
    #expect(try await one.next() == .some(nil))
    store.close()
    #expect(try await one.next() == nil)
    #expect(try await zones.next() == nil)
  }

  /// What was read of a record that no filter chose decides too.
  @Test("a change of another record wakes a list that it lets a record into, or takes one out of")
  func otherRecords() async throws {
    let store = try store()
    let team = Ref<Team>(in: "work", "team")
    var named = store.values(of: Job.where { $0.team.name.hasPrefix("a") }).makeAsyncIterator()
    var without = store.values(of: Job.where { $0.team == nil && $0.rank >= 0 }).makeAsyncIterator()
    var all = store.values(of: Job.all).makeAsyncIterator()
    #expect(try await named.next() == [])
    #expect(try await without.next() == [])
    #expect(try await all.next() == [])
    try await store.write { tx in
      _ = try tx.create(Team.self, in: "work", named: "team") { $0.name = "b" }
      _ = try tx.create(Job.self, in: "work", named: "job") { $0.team = team }
    }
    #expect(try await all.next()?.count == 1)
    // The hub has looked at it: no list with a condition has the job.
    try await store.write { tx in tx[team].name = "ab" }
    #expect(try await named.next()?.count == 1)
    try await store.write { tx in try tx.delete(team) }
    #expect(try await named.next() == [])
    #expect(try await without.next()?.count == 1)
    let parent = Ref<Team>(in: "work", "parent")
    try await store.write { tx in
      _ = try tx.create(Job.self, in: "work", named: "child") { $0.parent = parent }
    }
    try await store.write { tx in _ = try tx.create(Team.self, in: "work", named: "parent") }
    while try await all.next()?.count != 2 {}
    while try await without.next()?.count != 2 {}
  }

  @Test("fields that no record has yet, and elements beyond those of an index, wake what looked for them")
  func notYetThere() async throws {
    let store = try store()
    let job = Ref<Job>(in: "work", "job")
    var titles = store.values { tx in try tx.value(of: "title", in: job.record) }.makeAsyncIterator()
    var votes = store.values { tx in try tx.counter("votes", of: job.record)?.value }.makeAsyncIterator()
    var words = store.values(of: Job.where { $0.words.contains("x") }).makeAsyncIterator()
    #expect(try await titles.next() == .some(nil))
    #expect(try await votes.next() == .some(nil))
    #expect(try await words.next() == [])
    try await store.write { tx in _ = try tx.create(Job.self, in: "work", named: "job") { $0.title = "a" } }
    #expect(try await titles.next() == .some("a"))
    try await store.write { tx in tx[job].votes.add(1) }
    #expect(try await votes.next() == .some(.int(1)))
    try await store.write { tx in
      for number in 0..<1100 { tx[job].words.insert("w\(number)") }
      tx[job].words.insert("x")
    }
    #expect(try await words.next()?.count == 1)
  }

  @Test("a closure that throws ends its sequence with the error; a query that is wrong too")
  func errors() async throws {
    struct Stop: Error {}
    let store = try store()
    var values = store.values { tx in
      if try tx.count(Job.all) > 0 { throw Stop() }
      return 1
    }.makeAsyncIterator()
    #expect(try await values.next() == 1)
    try await store.write { tx in _ = try tx.create(Job.self, in: "work") { $0.rank = 1 } }
    await #expect(throws: Stop.self) { try await values.next() }
    #expect(try await values.next() == nil)
  }

  // MARK: Against fresh reads

  /// A list that is observed, as a view shows it.
  private struct Shown<Element: Identifiable & Equatable & Sendable> where Element.ID: Sendable {
    let fetch: (Store) throws -> [Element]
    var updates: LiveUpdates<Element>.Iterator
    var rows: [Element] = []

    /// Takes updates until it shows what a fresh read does.
    mutating func catchUp(_ store: Store) async throws {
      let fresh = try fetch(store)
      while rows != fresh {
        let update = try #require(try await updates.next())
        rows = Self.apply(update, to: rows)
        #expect(rows == update.rows)
      }
    }

    /// As a table view does it.
    static func apply(_ update: ListUpdate<Element>, to rows: [Element]) -> [Element] {
      var rows = rows
      let carried = update.moved.map { ($0.to, rows[$0.from]) }
      for place in (update.removed + update.moved.map(\.from)).sorted(by: >) { rows.remove(at: place) }
      let added = update.inserted.map { ($0, update.rows[$0]) } + carried
      for (place, row) in added.sorted(by: { $0.0 < $1.0 }) { rows.insert(row, at: place) }
      for place in update.updated { rows[place] = update.rows[place] }
      return rows
    }
  }

  @Test(
    "replayed updates are what a fresh read gives, after any edits and merges",
    arguments: WideTests.choose(1...8, otherwise: 1...2))
  func replayed(seed: UInt64) async throws {
    var random = SeededRandom(seed: seed)
    let clock = TickingClock()
    let stores = [try store("0", clock: clock), try store("1", clock: clock)]
    let remote = MemoryRemote(identity: RemoteID(rawValue: 7))
    let replicators = stores.map { LogReplicator(store: $0, remote: remote) }
    let queries: [Query<Job>] = [
      Job.all, Job.all.sorted(by: \.rank, .reverse).limit(3), Job.where { $0.rank > 5 },
      Job.where { $0.team.name.hasPrefix("a") }, Job.where { $0.words.contains("x") && $0.votes > 0 },
      Job.where { $0.title.hasPrefix("b") }.sorted(by: \.title).limit(2),
    ]
    let lists = queries + [Job.where { $0.team == Ref<Team>(in: "work", "t0") }.sorted(by: \.rank)]
    var shown = lists.flatMap { query in
      stores.map { store in
        (
          store: store,
          list: Shown<Row<Job>>(
            fetch: { try $0.fetch(query) }, updates: store.changes(of: query).makeAsyncIterator())
        )
      }
    }
    let times = Job.each(Int.self) { [$0.start, $0.end] }.sorted()
    var entries = Shown<EachRow<Job, Int>>(
      fetch: { try $0.fetch(times) }, updates: stores[0].changes(of: times).makeAsyncIterator())
    for _ in 0..<60 {
      let store = stores[random.next(below: 2)]
      let (what, number, size) = (random.next(below: 12), random.next(below: 6), random.next(below: 20))
      let task = Ref<Job>(in: "work", Name("n\(number)"))
      let team = Ref<Team>(in: "work", Name("t\(number % 3)"))
      if what == 11 {
        for replicator in replicators { _ = try await replicator.syncOnce() }
      } else {
        try await store.write { tx in
          if try !tx.contains(task) {
            _ = try tx.create(Job.self, in: "work", named: task.name) { $0.rank = size }
          }
          if try !tx.contains(team) {
            _ = try tx.create(Team.self, in: "work", named: team.name) { $0.name = size % 2 == 0 ? "a" : "b" }
          }
          switch what {
          case 0: try tx.delete(task)
          case 1: try tx.delete(team)
          case 2: tx[team].name = size % 2 == 0 ? "ab" : "ba"
          case 3: tx[task].title = size % 2 == 0 ? "b\(size)" : "c"
          case 4: tx[task].team = team
          case 5: tx[task].parent = size % 2 == 0 ? team : nil
          case 6: tx[task].votes.add(size - 5)
          case 7: if size % 2 == 0 { tx[task].words.insert("x") } else { tx[task].words.remove("x") }
          case 8: (tx[task].start, tx[task].end) = (size, size % 3 == 0 ? nil : size + 3)
          default: tx[task].rank = size
          }
        }
      }
      for index in shown.indices { try await shown[index].list.catchUp(shown[index].store) }
      try await entries.catchUp(stores[0])
    }
  }

  @Test("an update says who made the changes")
  func origins() async throws {
    let clock = TickingClock()
    let stores = [try store("0", clock: clock), try store("1", clock: clock)]
    let remote = MemoryRemote(identity: RemoteID(rawValue: 7))
    let replicators = stores.map { LogReplicator(store: $0, remote: remote) }
    var updates = stores[0].changes(of: Job.all).makeAsyncIterator()
    #expect(try await updates.next()?.origins == [])
    let task = try await stores[0].write { tx in try tx.create(Job.self, in: "work") { $0.rank = 1 } }
    let own = try await updates.next()
    #expect(own?.origins == .local && own?.inserted == [0])
    for replicator in replicators { _ = try await replicator.syncOnce() }
    try await stores[1].write { tx in tx[task].rank = 2 }
    for replicator in replicators.reversed() { _ = try await replicator.syncOnce() }
    var last: ListUpdate<Row<Job>>?
    repeat { last = try await updates.next() } while last?.rows.first?.rank != 2
    // The round's own commits may have come at one time with it.
    #expect(last?.origins.contains(.remote) == true && last?.updated == [0])
  }
}
