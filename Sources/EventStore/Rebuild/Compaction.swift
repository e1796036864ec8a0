import LMDB
import OperationFormat

/// Compacts the records of zones whose floor is not done, in steps: each is one commit. A record that changes meanwhile
/// is compacted before.
struct Compaction {
  /// The most records of a step, and rows that it touches; one record more or less.
  private static let (recordsMax, touchedRowsMax) = (1024, 50_000)

  let store: StoreTransaction
  var storage: TableStorage { store.storage }

  init(_ store: StoreTransaction) { self.store = store }

  /// Compacts some records.
  ///
  /// - Returns: false if there is nothing to do.
  func step() throws -> Bool {
    for (zone, _) in try storage.zones.allVisible() {
      // A fold of one zone has the states of no others.
      guard let row = try storage.zoneRowIfThere(zone), row.state != .none,
        try storage.states.storedRowIfThere(of: row.state) != nil
      else { continue }
      guard let floor = try storage.stateRow(row.state).floor, !floor.isDone else { continue }
      try step(zone, row.state, floor)
      return true
    }
    return false
  }

  private func step(_ zone: ZoneNumber, _ state: StateNumber, _ floor: CompactionFloor) throws {
    try store.fold.flush()
    let names = try names(in: state, after: storage.stateRow(state).lastCompacted)
    var context = CausalContext(zone: zone, replica: .none, epoch: 0, sequence: 1, base: nil)
    context.floor = floor
    store.fold.context = context
    let start = storage.touchedRows
    var last: [UInt8]?
    for name in names where storage.touchedRows - start < Self.touchedRowsMax {
      try store.fold.compact(name.span.bytes, in: state)
      last = name
    }
    try store.fold.flush()
    store.fold.reset()
    var row = try storage.stateRow(state)
    if let last {
      row.lastCompacted = last
    } else {
      row.floor?.isDone = true
      row.lastCompacted = []
    }
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
  /// - Returns: whether anything was.
  @discardableResult
  static func finish(_ core: StoreCore) async throws -> Bool {
    guard try core.read({ try $0.readView.isCompacting() }) else { return false }
    while try await core.performIfChanged({ try Compaction($0).step() ? true : nil }) ?? false {}
    return true
  }
}

extension ReadView {
  /// Whether the floor of a zone is not done.
  func isCompacting() throws -> Bool {
    try zones.allVisible().contains { zone, _ in
      guard let state = try zoneRowIfThere(zone)?.state, state != .none,
        let floor = try states.storedRowIfThere(of: state)?.floor
      else { return false }
      return !floor.isDone
    }
  }
}
