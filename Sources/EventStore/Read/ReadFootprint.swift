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
  /// More than so many records count as all of their states.
  private static let recordsMax = 10_000

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
    states.formUnion(records.map { StateNumber(rawValue: $0.prefix(4).reduce(0) { $0 << 8 | UInt32($1) }) })
    if let state = try? key.bigEndian32(at: 0) { states.insert(StateNumber(rawValue: state)) }
    records.removeAll()
  }

  /// - Parameter isClosed: whether the upper key was read too.
  mutating func note(from lower: [UInt8], to upper: [UInt8], isClosed: Bool = false) {
    let upper = isClosed ? upper + [0] : upper
    guard lower.lexicographicallyPrecedes(upper) else { return }
    ranges.append(IndexKey(bytes: lower)..<IndexKey(bytes: upper))
  }

  mutating func note(_ filter: Filter) { filters.append(filter) }
  mutating func note(allOf state: StateNumber) { states.insert(state) }
  mutating func note(_ zone: ZoneID) { zones.insert(zone) }
  mutating func note(pendingOf zone: ZoneID) { pending.insert(zone) }
  mutating func noteZones() { readsZones = true }
  mutating func noteAll() { readsAll = true }
}
