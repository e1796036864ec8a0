import LMDB
import OperationFormat

/// Compacts the records of zones whose floor is not done, in steps: each is one commit. A record that changes meanwhile
/// is compacted before.
///
/// A record of many elements takes several steps: what is done is as it will be, and shows the same. A text, the order of
/// a list, and all that was added to one counter or contributed to one field are done at once: each is rewritten as a whole.
struct Compaction {
  /// The most records of a step, and rows that it touches; one record, or part of one, more or less.
  private static let (recordsMax, touchedRowsMax) = (1024, 50_000)

  let store: StoreTransaction
  var storage: TableStorage { store.storage }

  init(_ store: StoreTransaction) { self.store = store }

  /// Compacts some records.
  ///
  /// - Parameter zone: of which zone; nil for any.
  /// - Returns: false if there is nothing to do.
  func step(in zone: ZoneID? = nil) throws -> Bool {
    try storage.flush()
    guard let (zone, state, floor) = try storage.zoneToCompact(in: zone) else { return false }
    try step(zone, state, floor)
    return true
  }

  private func step(_ zone: ZoneNumber, _ state: StateNumber, _ floor: CompactionFloor) throws {
    try store.fold.flush()
    let before = try storage.stateRow(state)
    let names = try names(in: state, after: before.lastCompacted)
    var context = CausalContext(zone: zone, replica: .none, epoch: 0, sequence: 1, base: nil)
    context.floor = floor
    store.fold.context = context
    let start = storage.touchedRows
    let bound = store.fold.bound
    bound.begin(.pauses, at: before.pausedCompaction)
    defer { bound.end() }
    var last = before.lastCompacted
    var paused: ElementKey?
    for name in names where storage.touchedRows - start < Self.touchedRowsMax && !bound.isSpent {
      do {
        try store.fold.compact(name.span.bytes, in: state)
        last = name
      } catch is FoldBoundReached {
        paused = bound.next
        break
      }
    }
    try store.fold.flush()
    store.fold.reset()
    var row = try storage.stateRow(state)
    row.floor?.isDone = names.isEmpty
    (row.lastCompacted, row.pausedCompaction) = (names.isEmpty ? [] : last, paused)
    storage.setStateRow(row, state)
  }

  private func names(in state: StateNumber, after last: [UInt8]) throws -> [[UInt8]] {
    var names: [[UInt8]] = []
    let first = TableKey.record(state, last.span.bytes)
    try storage.transaction.forEachEntry(
      in: storage.tables.records, under: TableKey.state(state).span.bytes, from: first.span.bytes
    ) { key, _ in
      let name = key.extracting(droppingFirst: 4).bytes
      if name != last { names.append(name) }
      return names.count < Self.recordsMax
    }
    return names
  }

  /// Compacts all that is to be.
  ///
  /// - Parameter zone: of which zone; nil for all, which looks at each that has a floor.
  /// - Returns: whether anything was.
  @discardableResult
  static func finish(_ core: StoreCore, in zone: ZoneID?) async throws -> Bool {
    guard try core.read({ try $0.readView.zoneToCompact(in: zone) != nil }) else { return false }
    while try await core.performIfChanged({ try Compaction($0).step(in: zone) ? true : nil }) ?? false {}
    return true
  }
}

extension TableReading {
  /// A zone whose floor is not done, by the rows that are written; nil if there is none.
  ///
  /// - Parameter zone: that one, if it has such a floor; nil for any.
  /// - Complexity: for any linear in the zones that have a floor
  fileprivate func zoneToCompact(
    in zone: ZoneID?
  ) throws -> (zone: ZoneNumber, state: StateNumber, floor: CompactionFloor)? {
    for zone in try zone.map({ try [zones.find($0)?.number].compactMap(\.self) }) ?? zonesWithFloors() {
      // A fold of one zone has the states of no others.
      guard let row = try zoneRowIfThere(zone), row.status.isVisible, row.state != .none,
        let floor = try states.storedRowIfThere(of: row.state)?.floor, !floor.isDone
      else { continue }
      return (zone, row.state, floor)
    }
    return nil
  }
}
