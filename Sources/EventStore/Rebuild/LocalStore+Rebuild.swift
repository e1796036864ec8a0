import LMDB
import OperationFormat

/// What a rebuild did.
public struct RebuildReport: Hashable, Sendable {
  /// Transactions that were folded again.
  public internal(set) var transactions: UInt64 = 0
  /// Zones whose records were made anew.
  public internal(set) var zones = 0
  /// Whether it went on where an earlier one had been cut short.
  public internal(set) var wasResumed = false
}

extension LocalStore {
  /// Drops what is derived and folds the log again: records come out as the same bytes.
  ///
  /// It works in steps, and reads and writes go on meanwhile. Records are made anew beside the present ones, which
  /// one small commit then replaces. If it is cut short, by a crash or a thrown error, nothing has changed, and the
  /// next call goes on where it ended.
  ///
  /// - Parameter progress: called after each step with how many transactions are done, of how many; what it throws
  ///   ends the work.
  /// - Throws: ``StoreError`` `readOnly`, `damaged`, `full`; what `progress` throws.
  /// - Complexity: linear in the log.
  public func rebuild(
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    while try await perform(isRepeatable: true, { try $0.discardStep() }) {}
    var report = try await perform(isRepeatable: true) { try $0.startRebuild() }
    while true {
      let step = try await perform(isRepeatable: true) { try $0.rebuildStep() }
      report.transactions += step.transactions
      try progress(step.position.rawValue, step.last.rawValue)
      if step.isDone { break }
    }
    while try await perform(isRepeatable: true, { try $0.discardStep() }) {}
    return report
  }
}

struct RebuildStep: Sendable {
  var transactions: UInt64 = 0
  var position: Position
  var last: Position
  var isDone = false
}

extension WriteBatch {
  /// Rows that one step takes away of a state that was replaced.
  private static let discardedRowsMax = 10_000

  /// Gives every zone a state to be folded into, unless a rebuild had begun already.
  func startRebuild() throws -> RebuildReport {
    var report = RebuildReport()
    for (zone, _) in try storage.tables.zones(storage.transaction) {
      guard try storage.zoneRowIfThere(zone) != nil else { continue }
      report.zones += 1
    }
    if try storage.rebuiltThrough() != nil {
      report.wasResumed = true
      return report
    }
    for (zone, _) in try storage.tables.zones(storage.transaction) {
      guard var row = try storage.zoneRowIfThere(zone) else { continue }
      row.building = try storage.makeState(for: zone, .building)
      storage.setZoneRow(row, zone)
    }
    try storage.setRebuiltThrough(.start)
    return report
  }

  /// Folds some of the log into the new states; at its end lets the zones point to them.
  func rebuildStep() throws -> RebuildStep {
    var step = RebuildStep(position: .start, last: try storage.lastPosition())
    guard let done = try storage.rebuiltThrough() else {
      // Another call has ended the rebuild meanwhile.
      step.position = step.last
      step.isDone = true
      return step
    }
    step.position = done
    let replay = try LogReplay(batch: self)
    let reader = LogReader(storage.tables, storage.interned)
    var byteCount = 0
    while step.position < step.last, byteCount < LogReplay.stepBytesMax {
      let position = step.position.next
      // The entry is copied: the fold writes while it reads.
      let (header, body) = try reader.withEntry(at: position, storage.transaction) { ($0, $1.bytes) }
      let zone = try storage.zoneRow(header.zone)
      let building = zone.building
      if !zone.status.isGone { try storage.nameSequence(header, position) }
      // A zone made since the rebuild began has nothing to rebuild.
      if building != .none { try replay.fold(header, body: body.span.bytes, into: building) }
      byteCount += body.count
      step.transactions += 1
      step.position = position
    }
    try fold.flush()
    if step.position == step.last {
      try swapStates()
      try storage.setRebuiltThrough(nil)
      step.isDone = true
    } else {
      try storage.setRebuiltThrough(step.position)
    }
    return step
  }

  private func swapStates() throws {
    fold.reset()
    for (zone, _) in try storage.tables.zones(storage.transaction) {
      guard var row = try storage.zoneRowIfThere(zone) else { continue }
      guard row.building != .none else { continue }
      for (state, status) in [(row.state, StateRow.Status.discarded), (row.building, .live)] {
        var stateRow = try storage.stateRow(state)
        stateRow.status = status
        storage.setStateRow(stateRow, state)
      }
      row.state = row.building
      row.building = .none
      storage.setZoneRow(row, zone)
    }
  }

  /// Takes away some rows of states that were replaced.
  ///
  /// - Returns: whether there may be more.
  func discardStep() throws -> Bool {
    guard let state = try storage.discardedState() else { return false }
    var left = Self.discardedRowsMax
    for table in [storage.tables.records, storage.tables.elements] {
      let key = TableKey.state(state)
      var cursor = try storage.transaction.openCursor(table)
      while left > 0, try cursor.seek(atOrAfter: key.span),
        try cursor.withEntry({ key, _ in try key.bigEndian32(at: 0) }) == state.rawValue
      {
        try cursor.deleteCurrent()
        left -= 1
      }
    }
    if left > 0 { try storage.removeState(state) }
    return true
  }
}

extension TableStorage {
  /// Up to where an unfinished rebuild has folded, nil if there is none.
  func rebuiltThrough() throws -> Position? {
    let key = TableKey.meta(.rebuild)
    return try transaction.withValue(of: key.span, in: tables.meta) { row in
      var reader = ByteReader(row)
      return Position(rawValue: try reader.readVarint("rebuild"))
    }
  }

  func setRebuiltThrough(_ position: Position?) throws {
    guard let position else {
      let key = TableKey.meta(.rebuild)
      _ = try transaction.delete(key.span, in: tables.meta)
      return
    }
    try put(.meta(.rebuild), in: tables.meta) { $0.append(varint: position.rawValue) }
  }

  /// A state whose rows are to be taken away, nil if there is none.
  func discardedState() throws -> StateNumber? {
    var cursor = try transaction.openCursor(tables.states)
    var isThere = try cursor.first()
    while isThere {
      let state = try cursor.withEntry { key, row in
        try StateRow(row).status == .discarded ? StateNumber(rawValue: try key.bigEndian32(at: 0)) : nil
      }
      if let state { return state }
      isThere = try cursor.next()
    }
    return nil
  }
}
