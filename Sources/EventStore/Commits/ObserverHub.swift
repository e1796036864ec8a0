import LMDB
import OperationFormat
import Synchronization

/// Finds out for all observers of a store what a commit may have changed of what they have read. It costs in
/// proportion to the commit, and to the observers that it concerns.
final class ObserverHub: Sendable {
  fileprivate struct State {
    var lastNumber: UInt64 = 0
    var observers: [UInt64: AsyncStream<Void>.Continuation] = [:]
    /// Who made the changes that observers were told of and have not read.
    var origins: [UInt64: Commit.Origins] = [:]
    /// Those that read, or have not read since they were told of changes.
    var busy: Set<UInt64> = []
    /// Observers that have read something and wait, with it and LMDB's number of the commit that they read.
    var waiting: [UInt64: (footprint: ReadFootprint, id: UInt64)] = [:]
    var index = FootprintIndex()
    /// The last commit that was looked at.
    var lastID: UInt64 = 0
    var watch: Task<Void, Never>?
  }

  private let core: StoreCore
  private let state = Mutex(State())

  init(_ core: StoreCore) { self.core = core }

  deinit { state.withLock { $0.watch?.cancel() } }

  // MARK: Observers

  /// An observer, until it is released.
  final class Observer: Sendable {
    private let hub: ObserverHub
    fileprivate let number: UInt64
    /// An element says that what was read may be another now.
    let changes: AsyncStream<Void>

    fileprivate init(_ hub: ObserverHub, _ number: UInt64, _ changes: AsyncStream<Void>) {
      (self.hub, self.number, self.changes) = (hub, number, changes)
    }

    deinit { hub.remove(number) }

    /// Who made the changes since the last call.
    func takeOrigins() -> Commit.Origins { hub.takeOrigins(of: number) }

    /// Waits for changes of what was read.
    ///
    /// - Parameter id: LMDB's number of the commit that was read.
    func wait(for footprint: ReadFootprint, readAt id: UInt64) {
      hub.add(footprint, of: number, readAt: id)
    }
  }

  /// - Throws: ``StoreError`` `closed`, `damaged`, `system`.
  func makeObserver() throws -> Observer {
    let (changes, tell) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = try state.withLock { state in
      if state.watch == nil {
        let reader = try CommitReader(core, listsTransactions: false)
        state.lastID = reader.seen.id
        state.watch = watch(reader)
      }
      state.lastNumber += 1
      state.observers[state.lastNumber] = tell
      state.busy.insert(state.lastNumber)
      return state.lastNumber
    }
    return Observer(self, number, changes)
  }

  private func remove(_ number: UInt64) {
    let ended = state.withLock { state -> Task<Void, Never>? in
      state.observers[number] = nil
      state.forget(number)
      state.origins[number] = nil
      state.busy.remove(number)
      return state.observers.isEmpty ? state.watch.take() : nil
    }
    ended?.cancel()
  }

  private func takeOrigins(of number: UInt64) -> Commit.Origins {
    state.withLock { $0.origins.removeValue(forKey: number) ?? [] }
  }

  private func add(_ footprint: ReadFootprint, of number: UInt64, readAt id: UInt64) {
    let missed = state.withLock { state -> AsyncStream<Void>.Continuation? in
      guard let tell = state.observers[number] else { return nil }
      state.forget(number)
      // Commits that were looked at meanwhile may concern it.
      guard state.lastID <= id else { return tell }
      state.busy.remove(number)
      state.waiting[number] = (footprint, id)
      state.index.add(footprint, of: number)
      return nil
    }
    missed?.yield()
  }

  // MARK: Commits

  private func watch(_ reader: CommitReader) -> Task<Void, Never> {
    let (commits, wake) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let observation = core.observers.add { wake.yield() }
    return Task { [weak self] in
      var reader = reader
      for await _ in commits {
        guard let self, self.lookAtCommits(&reader) else { break }
      }
      observation.cancel()
    }
  }

  /// Tells the observers that a commit since the last call may concern. Returns false at the end of the store.
  private func lookAtCommits(_ reader: inout CommitReader) -> Bool {
    let commit: Commit
    do {
      guard let next = try reader.next() else { return true }
      commit = next
    } catch {
      // They find out when they read.
      tell { state in state.take(Set(state.observers.keys), []) }
      return (error as? StoreError)?.code != .closed
    }
    let seen = reader.seen
    var tests: [UInt64: [FootprintIndex.Test]] = [:]
    tell { state in
      state.lastID = seen.id
      // Those that read just now may have missed it.
      for number in state.busy { state.origins[number, default: []].formUnion(commit.origins) }
      let (concerned, unclear) = state.index.observers(concernedBy: commit, seen)
      tests = unclear.filter { (state.waiting[$0.key]?.id ?? .max) < seen.id }
      return state.take(concerned.filter { (state.waiting[$0]?.id ?? 0) < seen.id }, commit.origins)
    }
    for (number, tests) in tests {
      // Each sees the store by itself: what was read for another is not noted again.
      let outcome = try? core.read { read in
        read.readView.footprint = ReadFootprint()
        let isConcerned = try tests.contains { try $0.holds(read) }
        return (isConcerned, read.readView.footprint ?? ReadFootprint())
      }
      tell { state in
        guard let (isConcerned, footprint) = outcome, !isConcerned else {
          return state.take([number], commit.origins)
        }
        // Whether the record fulfils the query may be another's doing.
        if state.waiting[number] != nil {
          state.waiting[number]!.footprint.add(footprint)
          state.index.add(footprint, of: number)
        }
        return []
      }
    }
    return true
  }

  private func tell(_ choose: (inout State) -> [AsyncStream<Void>.Continuation]) {
    for observer in state.withLock({ choose(&$0) }) { observer.yield() }
  }
}

extension ObserverHub.State {
  fileprivate mutating func forget(_ number: UInt64) {
    if let old = waiting.removeValue(forKey: number) { index.remove(old.footprint, of: number) }
  }

  /// The observers to tell of changes.
  fileprivate mutating func take(
    _ numbers: Set<UInt64>, _ origins: Commit.Origins
  ) -> [AsyncStream<Void>.Continuation] {
    numbers.compactMap { number in
      guard let observer = observers[number] else { return nil }
      forget(number)
      busy.insert(number)
      self.origins[number, default: []].formUnion(origins)
      return observer
    }
  }
}

/// Observers by what they have read.
private struct FootprintIndex {
  private var records: [[UInt8]: Set<UInt64>] = [:]
  /// By what the keys of their ranges begin with: a state and an index.
  private var ranges: [[UInt8]: [UInt64: [Range<ReadFootprint.IndexKey>]]] = [:]
  private var filters: [StateNumber: [UInt64: [RecordQuery]]] = [:]
  private var states: [StateNumber: Set<UInt64>] = [:]
  private var zones: [ZoneID: Set<UInt64>] = [:]
  private var pending: [ZoneID: Set<UInt64>] = [:]
  private var all: Set<UInt64> = []
  private var zoneLists: Set<UInt64> = []

  mutating func add(_ footprint: ReadFootprint, of number: UInt64) {
    for key in footprint.records { records[key, default: []].insert(number) }
    for range in footprint.ranges {
      ranges[range.indexPrefix, default: [:]][number, default: []].append(range)
    }
    for filter in footprint.filters {
      filters[filter.state, default: [:]][number, default: []].append(filter.query)
    }
    for state in footprint.states { states[state, default: []].insert(number) }
    for zone in footprint.zones { zones[zone, default: []].insert(number) }
    for zone in footprint.pending { pending[zone, default: []].insert(number) }
    if footprint.readsAll { all.insert(number) }
    if footprint.readsZones { zoneLists.insert(number) }
  }

  mutating func remove(_ footprint: ReadFootprint, of number: UInt64) {
    for key in footprint.records { records.remove(number, at: key) }
    for range in footprint.ranges { ranges.remove(number, at: range.indexPrefix) }
    for filter in footprint.filters { filters.remove(number, at: filter.state) }
    for state in footprint.states { states.remove(number, at: state) }
    for zone in footprint.zones { zones.remove(number, at: zone) }
    for zone in footprint.pending { pending.remove(number, at: zone) }
    all.remove(number)
    zoneLists.remove(number)
  }

  /// Whether some records fulfil a query.
  struct Test {
    let query: RecordQuery
    let records: [RecordID]

    func holds(_ read: borrowing ReadTransaction) throws -> Bool {
      try records.contains { try read.fulfils(query, $0) }
    }
  }

  /// Beyond so many records and queries, all count as fulfilled: reading again costs less.
  private static let testsMax = 4096

  /// The observers of what a commit may have changed, and those of which tests tell.
  func observers(
    concernedBy commit: Commit, _ seen: CommitReader.Seen
  ) -> (concerned: Set<UInt64>, unclear: [UInt64: [Test]]) {
    var found = all
    var tests: [UInt64: [Test]] = [:]
    // What an asset is here or not decides is rare, and so is the arrival of one.
    if commit.assets != [] {
      for numbers in zones.values { found.formUnion(numbers) }
    }
    for (zone, changes) in commit.zones {
      if changes.isSynced { found.formUnion(pending[zone] ?? []) }
      guard let records = changes.records, let state = seen.zones[zone]?.state else {
        found.formUnion(zones[zone] ?? [])
        found.formUnion(zoneLists)
        continue
      }
      if !records.isEmpty { found.formUnion(states[state] ?? []) }
      for name in records.keys {
        let key = Array(name.rawValue.utf8).withUnsafeBytes { TableKey.record(state, $0.bytes).span.bytes }
        found.formUnion(self.records[key] ?? [])
      }
      if !records.isEmpty, seen.indexKeys == nil {
        let prefix = TableKey.state(state).span.bytes
        for (key, observers) in ranges where key.starts(with: prefix) { found.formUnion(observers.keys) }
      }
      for (number, queries) in filters[state] ?? [:] where !records.isEmpty {
        if queries.count * records.count > Self.testsMax {
          found.insert(number)
        } else {
          let changed = records.keys.map { RecordID(zone: zone, name: $0) }
          tests[number, default: []] += queries.map { Test(query: $0, records: changed) }
        }
      }
    }
    for key in seen.indexKeys ?? [] {
      let key = ReadFootprint.IndexKey(bytes: key)
      for (number, ranges) in ranges[Array(key.bytes.prefix(IndexEntry.prefixBytes))] ?? [:]
      where !found.contains(number) && ranges.contains(where: { $0.contains(key) }) {
        found.insert(number)
      }
    }
    return (found, tests.filter { !found.contains($0.key) })
  }
}

extension Range<ReadFootprint.IndexKey> {
  fileprivate var indexPrefix: [UInt8] { Array(lowerBound.bytes.prefix(IndexEntry.prefixBytes)) }
}

extension Dictionary where Value == Set<UInt64> {
  fileprivate mutating func remove(_ number: UInt64, at key: Key) {
    self[key]?.remove(number)
    if self[key]?.isEmpty ?? false { self[key] = nil }
  }
}

extension Dictionary {
  fileprivate mutating func remove<T>(_ number: UInt64, at key: Key) where Value == [UInt64: T] {
    self[key]?.removeValue(forKey: number)
    if self[key]?.isEmpty ?? false { self[key] = nil }
  }
}
