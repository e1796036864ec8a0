public import OperationFormat
public import Replicator
internal import Synchronization

/// An index in memory: for tests and simulations. What it has ends with it.
public final class MemoryIndex: IndexOfRows {
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

  public func read<Result: Sendable>(
    _ body: @escaping @Sendable (inout IndexRules<MemoryRows>) throws -> Result
  ) async throws(RemoteError) -> Result { try perform(body) }

  public func write<Result: Sendable>(
    _ scope: IndexScope, _ body: @escaping @Sendable (inout IndexRules<MemoryRows>) throws -> Result
  ) async throws(RemoteError) -> Result { try perform(body) }

  private func perform<Result: Sendable>(
    _ body: @Sendable (inout IndexRules<MemoryRows>) throws -> Result
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
}

/// Rows in dictionaries.
public struct MemoryRows: IndexRows {
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

  private var placeRow: PlaceRow?
  private var logs: [IncarnationID: Log] = [:]
  private var openLogs: [Owned: IncarnationID] = [:]
  private var lists: [String: ListRow] = [:]
  private var events: [String: [UInt64: [UInt8]]] = [:]

  public func place() -> PlaceRow? { placeRow }
  public mutating func set(_ row: PlaceRow) { placeRow = row }

  public func log(_ log: IncarnationID) -> LogRow? { logs[log]?.row }

  public mutating func set(_ row: LogRow, _ log: IncarnationID) {
    if logs[log] == nil { logs[log] = Log(row: row) }
    logs[log]!.row = row
  }

  public func openLog(of zone: ZoneID, of account: String) -> IncarnationID? {
    openLogs[Owned(account: account, zone: zone)]
  }

  public mutating func setOpenLog(_ log: IncarnationID?, of zone: ZoneID, of account: String) {
    openLogs[Owned(account: account, zone: zone)] = log
  }

  public func list(of account: String) -> ListRow? { lists[account] }
  public mutating func set(_ row: ListRow, of account: String) { lists[account] = row }
  public func events(of account: String, after offset: UInt64, count: Int) -> [[UInt8]] {
    var found: [[UInt8]] = []
    while found.count < count, let event = events[account]?[offset + UInt64(found.count) + 1] {
      found.append(event)
    }
    return found
  }

  public mutating func put(_ event: [UInt8], at offset: UInt64, of account: String) {
    events[account, default: [:]][offset] = event
  }

  public func entry(_ offset: UInt64, of log: IncarnationID) -> EntryRow? { logs[log]?.entries[offset] }

  public func forEachEntry(
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

  public mutating func put(_ entry: EntryRow, at offset: UInt64, of log: IncarnationID) {
    logs[log]!.entries[offset] = entry
    logs[log]!.last = max(logs[log]!.last, offset)
  }

  public mutating func removeEntry(_ offset: UInt64, of log: IncarnationID) {
    logs[log]!.entries[offset] = nil
  }

  public func offset(of lane: LaneName, endingAtOrAfter sequence: UInt64, in log: IncarnationID) -> UInt64? {
    logs[log]?.lanes[lane]?.first { $0.end >= sequence }?.offset
  }

  public mutating func put(
    _ offset: UInt64, of lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID
  ) {
    var ends = logs[log]!.lanes[lane] ?? []
    let index = ends.firstIndex { $0.end >= sequence } ?? ends.endIndex
    if index < ends.endIndex, ends[index].end == sequence {
      ends[index].offset = offset
    } else {
      ends.insert((sequence, offset), at: index)
    }
    logs[log]!.lanes[lane] = ends
  }

  public mutating func remove(_ lane: LaneName, endingAt sequence: UInt64, in log: IncarnationID) {
    logs[log]!.lanes[lane]?.removeAll { $0.end == sequence }
  }
}
