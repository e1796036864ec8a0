import LMDB
import OperationFormat

/// Observers by what they have read.
struct FootprintIndex {
  private var records: [[UInt8]: Set<UInt64>] = [:]
  /// By what the keys of their ranges begin with: a state and an index.
  private var ranges: [[UInt8]: RangeTree] = [:]
  private var filters: [StateNumber: [UInt64: [RecordQuery]]] = [:]
  private var states: [StateNumber: Set<UInt64>] = [:]
  private var zones: [ZoneID: Set<UInt64>] = [:]
  private var pending: [ZoneID: Set<UInt64>] = [:]
  private var all: Set<UInt64> = []
  private var zoneLists: Set<UInt64> = []

  mutating func add(_ footprint: ReadFootprint, of number: UInt64) {
    for key in footprint.records { records[key, default: []].insert(number) }
    for (prefix, some) in Dictionary(grouping: footprint.ranges, by: \.indexPrefix) {
      ranges[prefix, default: RangeTree()].add(some, of: number)
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
    for prefix in Set(footprint.ranges.map(\.indexPrefix)) {
      ranges[prefix]?.remove(number)
      if ranges[prefix]?.isEmpty ?? false { ranges[prefix] = nil }
    }
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

    /// Of what it reads, the records themselves are not noted: if they change, they are tested again.
    func holds(_ read: borrowing ReadTransaction) throws -> Bool {
      for record in records {
        let key = try record.name.withBytes { name in
          TableKey.record(try read.readView.state(of: record.zone), name).span.bytes
        }
        let isNoted = read.readView.footprint?.records.contains(key) ?? true
        if try read.fulfils(query, record) { return true }
        // Where records depend on others, another one may depend on it and have found that in the cache.
        if !isNoted, read.readView.fates.count == 0 { read.readView.footprint?.forget(record: key) }
      }
      return false
    }
  }

  /// Beyond so many records and queries, of an observer and of all, queries count as fulfilled: reading them again is in
  /// the tasks of those who wait, and keeps no other observer waiting.
  private static let (testsMax, allTestsMax) = (4096, 1 << 17)

  /// The observers of what a commit may have changed, and those of which tests tell.
  mutating func observers(
    concernedBy commit: Commit, _ seen: CommitReader.Seen
  ) -> (concerned: Set<UInt64>, unclear: [UInt64: [Test]]) {
    var found = all
    var tests: [UInt64: [Test]] = [:]
    var testCount = 0
    // What an asset is here or not decides is rare, and so is the arrival of one.
    if commit.assets != [] {
      for numbers in zones.values { found.formUnion(numbers) }
    }
    // In their order: what a test notes depends on what it read before.
    for (zone, changes) in commit.zones.sorted(by: { $0.key < $1.key }) {
      if changes.isSynced { found.formUnion(pending[zone] ?? []) }
      guard let records = changes.records, let state = seen.zones[zone]?.state else {
        found.formUnion(zones[zone] ?? [])
        found.formUnion(zoneLists)
        continue
      }
      if !records.isEmpty { found.formUnion(states[state] ?? []) }
      for name in records.keys {
        let key = name.withBytes { TableKey.record(state, $0).span.bytes }
        found.formUnion(self.records[key] ?? [])
      }
      if !records.isEmpty, seen.indexKeys == nil {
        let prefix = TableKey.state(state).span.bytes
        for (key, ranges) in ranges where key.starts(with: prefix) { found.formUnion(ranges.owners) }
      }
      guard !records.isEmpty, let filters = filters[state] else { continue }
      let changed = records.keys.sorted().map { RecordID(zone: zone, name: $0) }
      for (number, queries) in filters {
        let count = queries.count * records.count
        testCount += count
        if count > Self.testsMax || testCount > Self.allTestsMax {
          found.insert(number)
        } else {
          tests[number, default: []] += queries.map { Test(query: $0, records: changed) }
        }
      }
    }
    for key in seen.indexKeys ?? [] {
      let key = ReadFootprint.IndexKey(bytes: key)
      ranges[Array(key.bytes.prefix(IndexEntry.prefixBytes))]?.forEach(around: key) { found.insert($0) }
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
