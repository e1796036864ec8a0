import OperationFormat

/// What a read has looked at, so that it is known whether a commit may change what it gives.
///
/// It is what predicate locks are in databases that detect conflicts of transactions (Eswaran and others: The
/// notions of consistency and predicate locks in a database system, 1976).
struct ReadFootprint: Sendable {
  /// A query that read all records of a state: those that fulfil it are among ``records``.
  struct Filter: Sendable {
    let state: StateNumber
    let query: RecordQuery
  }

  /// The keys of rows of records, whether they are there or not.
  private(set) var records: Set<[UInt8]> = []
  /// Ranges of keys of indexes: from one up to and without another.
  private(set) var ranges: [Range<IndexKey>] = []
  private(set) var filters: [Filter] = []
  /// The states of which all records were read.
  private(set) var states: Set<StateNumber> = []
  /// The zones that were looked up, also those that are not there.
  private(set) var zones: Set<ZoneID> = []
  /// Whether it looked which zones there are.
  private(set) var readsZones = false
  /// Whether it read the log, or something else of which any commit may change something.
  private(set) var readsAll = false
  /// The zones of which it was asked what is pending.
  private(set) var pending: Set<ZoneID> = []
  /// More than so many records, ranges or filters count as all of their states.
  private static let (recordsMax, rangesMax) = (10_000, 1000)

  struct IndexKey: Hashable, Comparable, Sendable {
    let bytes: [UInt8]

    static func < (left: IndexKey, right: IndexKey) -> Bool {
      compareBytes(left.bytes.span.bytes, right.bytes.span.bytes) < 0
    }
  }

  mutating func note(record key: RawSpan) {
    guard records.count >= Self.recordsMax else {
      records.insert(key.bytes)
      return
    }
    states.formUnion(records.map { StateNumber(ofKey: $0) })
    states.insert(StateNumber(ofKey: key.bytes))
    records.removeAll()
  }

  mutating func forget(record key: [UInt8]) { records.remove(key) }

  /// - Parameter isClosed: whether the upper key was read too.
  mutating func note(from lower: [UInt8], to upper: [UInt8], isClosed: Bool = false) {
    let upper = isClosed ? upper + [0] : upper
    guard lower.lexicographicallyPrecedes(upper) else { return }
    if ranges.count >= Self.rangesMax {
      states.formUnion(ranges.map { StateNumber(ofKey: $0.lowerBound.bytes) })
      ranges.removeAll()
    }
    ranges.append(IndexKey(bytes: lower)..<IndexKey(bytes: upper))
  }

  mutating func note(_ filter: Filter) {
    if filters.count >= Self.rangesMax {
      states.formUnion(filters.map(\.state))
      filters.removeAll()
    }
    filters.append(filter)
  }

  /// Whether another one has all of it. Ranges and filters are not compared.
  func isPart(of other: ReadFootprint) -> Bool {
    ranges.isEmpty && filters.isEmpty && records.isSubset(of: other.records)
      && states.isSubset(of: other.states) && zones.isSubset(of: other.zones)
      && pending.isSubset(of: other.pending) && (!readsZones || other.readsZones)
      && (!readsAll || other.readsAll)
  }

  /// Notes what another read has looked at too.
  mutating func add(_ other: ReadFootprint) {
    for key in other.records { note(record: key.span.bytes) }
    for range in other.ranges { note(from: range.lowerBound.bytes, to: range.upperBound.bytes) }
    for filter in other.filters { note(filter) }
    states.formUnion(other.states)
    zones.formUnion(other.zones)
    pending.formUnion(other.pending)
    readsZones = readsZones || other.readsZones
    readsAll = readsAll || other.readsAll
  }

  mutating func note(allOf state: StateNumber) { states.insert(state) }
  mutating func note(_ zone: ZoneID) { zones.insert(zone) }
  mutating func note(pendingOf zone: ZoneID) { pending.insert(zone) }
  mutating func noteZones() { readsZones = true }
  mutating func noteAll() { readsAll = true }
}
