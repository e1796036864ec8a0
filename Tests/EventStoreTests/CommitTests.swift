import ChildProcesses
import LMDB
import OperationFormat
import StoreTesting
import Testing

@testable import EventStore

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite("The commits of a store")
struct CommitTests {
  let directory = TemporaryDirectory()

  private func reader(_ store: LocalStore) throws -> CommitReader {
    try CommitReader(store.core, listsTransactions: true)
  }

  @Test("a commit names the records and fields that it changed, and who made it")
  func namesWhatChanged() async throws {
    let store = try await directory.noteStore()
    var commits = try reader(store)
    #expect(try commits.next() == nil)
    try await store.write { tx in
      tx.author = "ann"
      tx.label = "begin"
      try tx.create(note("a"), type: "note", fields: ["title": "A"])
      try tx.create(note("b"), type: "note")
    }
    let first = try #require(try commits.next())
    #expect(first.zones == [noteZone: Commit.Changes(records: ["a": .all, "b": .all])])
    #expect(first.transactions.map(\.author) == ["ann"] && first.transactions.map(\.label) == ["begin"])
    #expect(first.transactions.allSatisfy { $0.isLocal && $0.position == first.position })
    #expect(first.transactionCount == 1 && !first.isOfOtherProcess && first.assets == [])
    try await store.write { tx in
      try tx.set("title", of: note("a"), to: "B")
      try tx.set("text", of: note("a"), to: "C")
      try tx.delete(note("b"))
    }
    let second = try #require(try commits.next())
    #expect(second.zones[noteZone]?.records == ["a": .some(["title", "text"]), "b": .all])
    #expect(second.before == first.position)
    #expect(try commits.next() == nil)
  }

  @Test("a reader that is late gets one commit for all, and none twice")
  func coalesced() async throws {
    let store = try await directory.noteStore()
    var commits = try reader(store)
    for name in ["a", "b", "c"] { try await store.write { tx in try tx.create(note(name), type: "note") } }
    let commit = try #require(try commits.next())
    #expect(commit.zones[noteZone]?.records?.keys.sorted() == ["a", "b", "c"])
    #expect(commit.transactionCount == 3 && commit.transactions.count == 3)
    #expect(try commits.next() == nil)
  }

  @Test("what a write that failed would have changed is in no commit, also if it shared one with others")
  func failedWrites() async throws {
    struct Stop: Error {}
    let store = try await directory.noteStore()
    var commits = try reader(store)
    let (gate, started) = (Signal(), Signal())
    let held = Task.immediate {
      try await store.write { tx in
        started.raise()
        gate.wait()
        try tx.create(note("first"), type: "note")
      }
    }
    started.wait()
    let failing = Task.immediate {
      try await store.write { tx in
        try tx.create(note("failed"), type: "note")
        throw Stop()
      }
    }
    let last = Task.immediate { try await store.write { tx in try tx.create(note("last"), type: "note") } }
    gate.raise()
    _ = await (held.result, failing.result, last.result)
    let commit = try #require(try commits.next())
    #expect(commit.zones[noteZone]?.records?.keys.sorted() == ["first", "last"])
  }

  @Test("more records than are named are said to be any; so are those of a zone that is made or deleted")
  func unnamedRecords() async throws {
    let store = try await directory.noteStore()
    var commits = try reader(store)
    try await store.write { tx in
      for number in 0...ChangeNotes.recordsMax { try tx.create(note("n\(number)"), type: "note") }
    }
    #expect(try commits.next()?.zones == [noteZone: Commit.Changes(records: nil)])
    let other = ZoneID(name: "other")
    try await store.write { tx in _ = try tx.createZone(other) }
    #expect(try commits.next()?.zones == [other: Commit.Changes(records: nil)])
    try await store.write { tx in try tx.deleteZone(other) }
    #expect(try commits.next()?.zones.keys.sorted() == [other])
  }

  @Test("the sequence gives each commit to all who iterate, and ends when the store is closed")
  func sequence() async throws {
    let store = try await directory.noteStore()
    let commits = store.commits
    let tasks = (0..<3).map { _ in
      Task {
        var seen: Set<Name> = []
        for await commit in commits { seen.formUnion(commit.zones[noteZone]?.records?.keys ?? [:].keys) }
        return seen
      }
    }
    for number in 0..<50 {
      try await store.write { tx in try tx.create(note("n\(number)"), type: "note") }
      if number % 10 == 0 { await Task.yield() }
    }
    var last = store.commits.makeAsyncIterator()
    try await store.write { tx in try tx.delete(note("n0")) }
    #expect(await last.next()?.mayHaveChanged(note("n0")) == true)
    let cancelled = Task { for await _ in store.commits {} }
    cancelled.cancel()
    await cancelled.value
    store.close()
    #expect(await last.next() == nil)
    for task in tasks { #expect(await task.value.isSubset(of: Set((0..<50).map { Name("n\($0)") }))) }
  }

  @Test("nothing is noted while nobody reads, and readers that ended are not counted")
  func readersEnd() async throws {
    let store = try await directory.noteStore()
    for _ in 0..<1000 {
      var iterator = store.commits.makeAsyncIterator()
      _ = consume iterator
      iterator = store.commits.makeAsyncIterator()
    }
    #expect(!store.core.journal.isRead)
    try await store.write { tx in try tx.create(note("a"), type: "note") }
    #expect(store.core.journal.lastID == nil)
  }

  @Test("100,000 subscriptions that ended hold no reader, and nothing is noted for them")
  func subscriptionsEnd() async throws {
    let store = try await directory.noteStore()
    let values = store.values { tx in try tx.records(in: noteZone).count }
    for number in 0..<100_000 {
      var iterator = values.makeAsyncIterator()
      if number % 1000 == 0 { #expect(try await iterator.next() == 0) }
    }
    while store.core.journal.isRead { await Task.yield() }
    #expect(try store.environment.information.readersUsed <= 1)
    let waiting = (0..<100).map { _ in
      Task { for try await count in values where count == 1 { break } }
    }
    try await store.write { tx in try tx.create(note("a"), type: "note") }
    for task in waiting { try await task.value }
    let cancelled = (0..<100).map { _ in Task { for try await _ in values {} } }
    for task in cancelled { task.cancel() }
    for task in cancelled { try await task.value }
    while store.core.journal.isRead { await Task.yield() }
  }

  @Test("commits of another process are seen, with the records that it changed")
  func otherProcess() async throws {
    let path = directory.path + "/store"
    let store = try directory.store()
    try await store.write { tx in
      for zone in ["notes", "other"] as [Name] { try tx.createZone(ZoneID(name: zone)) }
    }
    var (waiting, all) = (store.commits.makeAsyncIterator(), try reader(store))
    let child = ChildProcess("write", path, "unsynced", "p", "2", "40")
    let first = await waiting.next()
    #expect(first?.isOfOtherProcess == true)
    #expect(child.lines().last != nil && child.wait() == .exit(0))
    var seen: Set<RecordID> = []
    while let commit = try all.next() {
      for (zone, changes) in commit.zones {
        seen.formUnion((changes.records ?? [:]).keys.map { RecordID(zone: zone, name: $0) })
      }
      #expect(commit.transactions.allSatisfy { $0.isLocal && $0.label?.hasPrefix("p-") == true })
    }
    let records = try store.read { tx in
      try tx.zones().flatMap { zone in try tx.records(in: zone).map(\.id) }
    }
    #expect(records.count >= 40 && seen.isSuperset(of: records))
  }

  /// LMDB writes a commit to the data file, and then its number to the lock file. Between the two a process may have
  /// to wait for its turn.
  @Test(
    "a commit wakes observers also if readers see it long after it was written to the file",
    .timeLimit(.minutes(20)))
  func slowCommit() async throws {
    let store = try await directory.noteStore()
    for number in 0..<40 { try await store.write { tx in try tx.create(note("n\(number)"), type: "note") } }
    let last = try store.environment.visibleTransactionID
    let lock = open(directory.path + "/store/lock.mdb", O_RDWR)
    // To close it would release the locks of this process.
    defer {
      store.close()
      close(lock)
    }
    // In the header, after the lock of the readers.
    let words = stride(from: off_t(8), to: 128, by: 8).filter { Self.word(lock, $0) == last }
    try #require(words.count == 1)
    Self.setWord(lock, words[0], last - 1)
    var counts = store.values { tx in try tx.records(in: noteZone).count }.makeAsyncIterator()
    #expect(try await counts.next() == 39)
    let data = open(directory.path + "/store/data.mdb", O_RDWR)
    Self.setWord(data, 0, Self.word(data, 0))
    close(data)
    try await Task.sleep(for: .milliseconds(50))
    Self.setWord(lock, words[0], last)
    #expect(try await counts.next() == 40)
  }

  private static func word(_ file: Int32, _ offset: off_t) -> UInt64 {
    var word: UInt64 = 0
    let count = pread(file, &word, 8, offset)
    precondition(count == 8, "error \(errno)")
    return word
  }

  private static func setWord(_ file: Int32, _ offset: off_t, _ word: UInt64) {
    var word = word
    let count = pwrite(file, &word, 8, offset)
    precondition(count == 8, "error \(errno)")
  }

  @Test("what any commit may change wakes all who have read it")
  func readsOfSync() async throws {
    let store = try await directory.noteStore()
    for read in [
      { tx in _ = try tx.token(of: noteZone) }, { tx in _ = try tx.rejectedSegments(in: noteZone) },
      { tx in _ = try tx.pendingCount(in: noteZone) },
    ] as [(borrowing ReadTransaction) throws -> Void] {
      try store.read { tx in
        tx.readView.footprint = ReadFootprint()
        try read(tx)
        #expect(tx.readView.footprint?.readsAll == true)
      }
    }
  }

  @Test("a record that a filter passes over never has the query read again, however often it changes")
  func recordsPassedOver() async throws {
    let store = try directory.store("driven") { $0.writesOnCallingThread = true }
    try await store.makeZone()
    let query = RecordQuery(types: ["note"], condition: .compare(.value(of: "n"), .greater, 100))
    let watched = try store.watchedRead { tx in try tx.count(query) }
    try await store.write { tx in try tx.create(note("a"), type: "note") }
    for number in 0..<20 {
      try await store.write { tx in try tx.set("n", of: note("a"), to: .int(Int64(number))) }
      store.lookAtCommits()
      #expect(!watched.isTold)
    }
    try await store.write { tx in try tx.set("n", of: note("a"), to: 101) }
    store.lookAtCommits()
    #expect(watched.isTold)
    try watched.read()
    #expect(watched.value == 1)
  }

  @Test("the tree of ranges finds what a look at each of them finds", arguments: UInt64(1)...4)
  func ranges(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    func key() -> ReadFootprint.IndexKey {
      ReadFootprint.IndexKey(bytes: (0..<(1 + random.below(3))).map { _ in UInt8(random.below(12)) })
    }
    var tree = RangeTree()
    var known: [UInt64: [Range<ReadFootprint.IndexKey>]] = [:]
    for _ in 0..<2000 {
      let owner = UInt64(random.below(80))
      if known.removeValue(forKey: owner) != nil {
        tree.remove(owner)
      } else {
        let ranges = (0..<(1 + random.below(4))).map { _ in
          let (one, other) = (key(), key())
          return min(one, other)..<max(one, other)
        }
        tree.add(ranges, of: owner)
        known[owner] = ranges
      }
      let place = key()
      var found: Set<UInt64> = []
      tree.forEach(around: place) { found.insert($0) }
      let expected = known.filter { $0.value.contains { $0.contains(place) } }.keys
      #expect(found == Set(expected))
      #expect(tree.isEmpty == known.isEmpty)
    }
  }

  // MARK: Against what records show

  /// What records show, and who changed them.
  private struct Content: Equatable {
    var records: [Name: Record] = [:]
    var modified: [Name: SystemFields.Change] = [:]

    init(_ store: LocalStore) throws {
      try store.read { tx in
        try tx.scan(noteZone) { record in
          let name = try record.id.name
          records[name] = try record.record()
          modified[name] = try record.system.modified
          return true
        }
      }
    }

    func names(differingFrom other: Content) -> Set<Name> {
      Set(records.keys).union(other.records.keys).filter {
        records[$0] != other.records[$0] || modified[$0] != other.modified[$0]
      }
    }
  }

  /// Device clocks jump and segments arrive late: what was written before may show otherwise then.
  @Test(
    "all records that show something else are named, by this process's notes and by the log",
    arguments: UInt64(1)...12)
  func namesAll(seed: UInt64) async throws {
    var random = SeededGenerator(seed: seed)
    var remote = TestRemote()
    let clocks = (0..<2).map { _ in TestClock(1_700_000_000_000) }
    let stores = try clocks.enumerated().map { number, clock in
      try directory.store("\(number)") { $0.wallMilliseconds = { clock.milliseconds } }
    }
    for store in stores { try await store.makeZone() }
    var own = try stores.map { try reader($0) }
    var others = try stores.map { store in
      try CommitReader(store.core, listsTransactions: true, journal: CommitJournal())
    }
    var contents = try stores.map { try Content($0) }
    var (changed, named) = (0, 0)
    for _ in 0..<120 {
      let index = random.below(2)
      let store = stores[index]
      clocks[index].milliseconds += Int64(random.below(400_000)) - 100_000
      switch random.below(10) {
      case ..<5:
        let (record, field, number) = (random.below(6), random.below(3), random.below(100))
        try await store.write { tx in
          let id = note("r\(record)")
          if try !tx.contains(id) { try tx.create(id, type: "note") }
          switch number % 7 {
          case 0: try tx.delete(id)
          case 1: try tx.add(.int(Int64(number)), to: "count", of: id)
          case 2: try tx.insert(.int(Int64(number)), into: "set", of: id)
          default: try tx.set(Name("f\(field)"), of: id, to: .int(Int64(number)))
          }
        }
      case ..<8:
        let received = UInt64(1_700_000_000_000 + random.below(10_000_000))
        if let acknowledgement = try remote.ship(
          store, limit: 1 + random.below(4), receivedMilliseconds: received)
        {
          _ = try await store.acknowledge(acknowledgement)
        }
      default: _ = try await store.ingest(try remote.news(for: store, limit: 1 + random.below(4)))
      }
      if random.chance(30) { continue }
      for index in 0..<2 {
        let now = try Content(stores[index])
        let differing = now.names(differingFrom: contents[index])
        for commit in [try own[index].next(), try others[index].next()] {
          let unnamed = differing.filter {
            commit?.mayHaveChanged(RecordID(zone: noteZone, name: $0)) != true
          }
          #expect(unnamed == [], "seed \(seed)")
        }
        changed += differing.count
        contents[index] = now
      }
      named += 1
    }
    #expect(changed > 40 && named > 40)
  }
}
