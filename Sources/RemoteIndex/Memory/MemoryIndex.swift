public import OperationFormat
public import Replicator
internal import Synchronization

/// An index in memory: for tests and simulations. What it has ends with it.
public final class MemoryIndex: LogIndex {
  public let name: String
  private let rules: Mutex<MemoryRows>
  private let milliseconds: @Sendable () -> UInt64
  private let makeRandom: @Sendable () -> UInt64

  /// - Parameters:
  ///   - milliseconds: the clock of the server, in milliseconds since 1970.
  ///   - makeRandom: gives the identities of lists.
  public init(
    name: String = "memory index", milliseconds: @escaping @Sendable () -> UInt64,
    makeRandom: @escaping @Sendable () -> UInt64
  ) {
    (self.name, self.milliseconds, self.makeRandom) = (name, milliseconds, makeRandom)
    rules = Mutex(MemoryRows())
  }

  private func perform<Result: Sendable>(
    _ body: (inout IndexRules<MemoryRows>) throws -> Result
  ) throws(RemoteError) -> Result {
    let outcome = rules.withLock { rows in
      var rules = IndexRules(rows, milliseconds: milliseconds(), random: makeRandom, index: name)
      // The rows are here once: what is changed is not copied.
      rows = MemoryRows()
      defer { rows = rules.rows }
      return Swift.Result { try body(&rules) }
    }
    return try RemoteError.ofIndex(outcome, name)
  }

  public func list(of account: String) async throws(RemoteError) -> IndexedList {
    try perform { try IndexedList($0.list(of: account)) }
  }

  public func events(
    of account: String, after offset: UInt64, count: Int
  ) async throws(RemoteError) -> [[UInt8]] {
    try perform { try $0.events(of: account, after: offset, count: count) }
  }

  public func createZone(_ zone: IndexedZone) async throws(RemoteError) -> IncarnationID {
    try perform { try $0.createZone(zone) }
  }

  public func state(of zone: IndexedZone) async throws(RemoteError) -> IndexedState {
    try perform { try IndexedState($0.row(of: zone)) }
  }

  public func close(_ zone: IndexedZone, _ fate: ZoneFate) async throws(RemoteError) {
    try perform { try $0.close(zone, fate) }
  }

  public func reopen(_ zone: IndexedZone) async throws(RemoteError) { try perform { try $0.reopen(zone) } }

  public func append(
    _ segments: [PackedSegment], to zone: IndexedZone, after offset: UInt64
  ) async throws(RemoteError) -> [AppendOutcome] {
    try perform { try $0.append(segments, to: zone, after: offset) }
  }

  public func entries(
    of zone: IndexedZone, after token: ChangeToken, bytesMax: Int
  ) async throws(RemoteError) -> FetchOutcome {
    try perform { try $0.entries(of: zone, after: token, bytesMax: bytesMax) }
  }

  public func putBack(
    _ entry: StoredSegment, to zone: IndexedZone, after token: ChangeToken
  ) async throws(RemoteError) -> Bool {
    try perform { try $0.putBack(entry, to: zone, after: token) }
  }

  public func begin(_ zone: IndexedZone, with floor: IndexedFloor) async throws(RemoteError) -> Bool {
    try perform { try $0.begin(zone, with: floor) }
  }

  public func raise(_ zone: IndexedZone, to floor: IndexedFloor) async throws(RemoteError) -> UInt64 {
    try perform { try $0.raise(zone, to: floor) }
  }

  public func removeStep(of zone: IndexedZone) async throws(RemoteError) -> Bool {
    try perform { try $0.removeStep(of: zone) }
  }

  public func heads(of logs: [IncarnationID], for account: String) async throws(RemoteError) -> [ZoneHead] {
    try perform { try $0.heads(of: logs, for: account) }
  }

  public func changes() -> AsyncStream<RemoteHint> { AsyncStream { $0.finish() } }
}

/// Rows in dictionaries.
private struct MemoryRows: IndexRows {
  private struct Owned: Hashable {
    var account: String
    var zone: ZoneID
  }

  private struct Log {
    var row: LogRow
    var entries: [UInt64: EntryRow] = [:]
    var last: UInt64 = 0
    /// By the last sequence, ascending.
    var lanes: [LaneName: [(end: UInt64, offset: UInt64)]] = [:]
  }

  private var logs: [IncarnationID: Log] = [:]
  private var openLogs: [Owned: IncarnationID] = [:]
  private var lists: [String: ListRow] = [:]
  private var events: [String: [UInt64: [UInt8]]] = [:]

  func log(_ log: IncarnationID) -> LogRow? { logs[log]?.row }

  mutating func set(_ row: LogRow, _ log: IncarnationID) {
    if logs[log] == nil { logs[log] = Log(row: row) }
    logs[log]!.row = row
  }

  func openLog(of zone: ZoneID, of account: String) -> IncarnationID? {
    openLogs[Owned(account: account, zone: zone)]
  }

  mutating func setOpenLog(_ log: IncarnationID?, of zone: ZoneID, of account: String) {
    openLogs[Owned(account: account, zone: zone)] = log
  }

  func list(of account: String) -> ListRow? { lists[account] }
  mutating func set(_ row: ListRow, of account: String) { lists[account] = row }
  func event(_ offset: UInt64, of account: String) -> [UInt8]? { events[account]?[offset] }

  mutating func put(_ event: [UInt8], at offset: UInt64, of account: String) {
    events[account, default: [:]][offset] = event
  }

  func entry(_ offset: UInt64, of log: IncarnationID) -> EntryRow? { logs[log]?.entries[offset] }

  func forEachEntry(
    of log: IncarnationID, from offset: UInt64, _ body: (UInt64, _ read: () throws -> EntryRow) throws -> Bool
  ) throws {
    guard let found = logs[log], offset <= found.last else { return }
    // Between a floor and a passed end there may be very many offsets without an entry.
    guard found.last - offset < 4 * UInt64(found.entries.count) + 64 else {
      for offset in found.entries.keys.filter({ $0 >= offset }).sorted() {
        if let entry = found.entries[offset], try !body(offset, { entry }) { return }
      }
      return
    }
    for offset in offset...found.last {
      if let entry = found.entries[offset], try !body(offset, { entry }) { return }
    }
  }

  mutating func put(_ entry: EntryRow, at offset: UInt64, of log: IncarnationID) {
    logs[log]!.entries[offset] = entry
    logs[log]!.last = max(logs[log]!.last, offset)
  }

  mutating func removeEntry(_ offset: UInt64, of log: IncarnationID) { logs[log]!.entries[offset] = nil }

  func offset(of lane: LaneName, endingAtOrAfter sequence: UInt64, in log: IncarnationID) -> UInt64? {
    logs[log]?.lanes[lane]?.first { $0.end >= sequence }?.offset
  }

  mutating func put(_ offset: UInt64, of lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) {
    var ends = logs[log]!.lanes[lane] ?? []
    let index = ends.firstIndex { $0.end >= sequence } ?? ends.endIndex
    if index < ends.endIndex, ends[index].end == sequence {
      ends[index].offset = offset
    } else {
      ends.insert((sequence, offset), at: index)
    }
    logs[log]!.lanes[lane] = ends
  }

  mutating func remove(_ lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) {
    logs[log]!.lanes[lane]?.removeAll { $0.end == sequence }
  }
}
