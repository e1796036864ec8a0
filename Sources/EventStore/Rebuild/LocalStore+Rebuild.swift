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
    try await rebuild({ try $0.startRebuild() }, progress: progress)
  }

  /// Ends a rebuild, once it has begun.
  ///
  /// - Parameter checksPages: whether the pages are checked though they were since the store was opened.
  func rebuild(
    _ start: @escaping @Sendable (WriteBatch) throws -> RebuildReport, checksPages: Bool = true,
    progress: (_ done: UInt64, _ total: UInt64) throws -> Void = { _, _ in }
  ) async throws -> RebuildReport {
    if checksPages || !hasCheckedPages.value {
      try await assetThreads.run(.waits) { [self] _ in try checkAllPages() }
    }
    try await discardAll()
    var report = try await perform(isRepeatable: true, start)
    while true {
      let step = try await perform(isRepeatable: true) { try $0.rebuildStep() }
      report.transactions += step.transactions
      try progress(step.position.rawValue, step.last.rawValue)
      if step.isDone { break }
    }
    try await discardAll()
    return report
  }

  /// Takes away the rows of states that were replaced, in steps.
  private func discardAll() async throws {
    while try await performIfChanged({ try $0.discardStep() ? true : nil }) ?? false {}
  }
}

/// Up to where a rebuild has folded the log.
struct RebuildPlace: Sendable {
  /// The last transaction that was folded whole.
  var position: Position
  /// How many operations of the next one were folded too.
  var operations: Int
  /// Where in the elements of its record the next operation continues; nil if it has not begun, or begins again.
  var next: ElementKey?
  /// Whether only some zones are folded again: those that have a state for it.
  let isPartial: Bool

  init(_ position: Position, operations: Int = 0, next: ElementKey? = nil, isPartial: Bool = false) {
    self.position = position
    self.operations = operations
    self.next = next
    self.isPartial = isPartial
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
  private static let rowsOfState = 20

  /// Lets a rebuild that was begun continue, of some zones or of all; begins one of all where there is none and the records are behind
  /// the log. Another task, or another process, may have ended it meanwhile.
  func resumeRebuild() throws -> RebuildReport {
    guard try isFoldingAgain || storage.unfinishedRebuild() != nil else { return RebuildReport() }
    return try startRebuild(isPartial: storage.unfinishedRebuild()?.place.isPartial ?? false)
  }

  /// Gives every zone a state to be folded into, unless a rebuild of the same had begun already that knows all that this
  /// version does.
  ///
  /// - Parameter isPartial: whether one of some zones continues.
  func startRebuild(isPartial: Bool = false) throws -> RebuildReport {
    var report = RebuildReport()
    report.zones = try storage.tables.zones(storage.transaction).count {
      try storage.zoneRowIfThere($0.number) != nil
    }
    if let unfinished = try storage.unfinishedRebuild(), unfinished.lastKnown == OperationKind.lastKnown,
      unfinished.place.isPartial == isPartial
    {
      report.wasResumed = true
      return report
    }
    try beginRebuild { _, _ in true }
    try storage.setRebuilt(RebuildPlace(.start))
    return report
  }

  /// Begins to fold a zone again, with those that are being folded again already.
  func startRebuild(of zone: ZoneNumber) throws {
    let unfinished = try storage.unfinishedRebuild()
    let isPartial = unfinished.map { $0.place.isPartial && $0.lastKnown == OperationKind.lastKnown } ?? true
    try beginRebuild { !isPartial || $0 == zone || $1.building != .none }
    try storage.setRebuilt(RebuildPlace(.start, isPartial: isPartial))
  }

  /// Gives zones empty states to be folded into.
  private func beginRebuild(of isChosen: (ZoneNumber, ZoneRow) -> Bool) throws {
    for (zone, _) in try storage.tables.zones(storage.transaction) {
      guard var row = try storage.zoneRowIfThere(zone), isChosen(zone, row) else { continue }
      if row.building != .none {
        var abandoned = try storage.stateRow(row.building)
        abandoned.status = .discarded
        storage.setStateRow(abandoned, row.building)
      }
      row.building = try storage.makeState(for: zone, .building)
      storage.setZoneRow(row, zone)
    }
  }

  /// Folds some of the log into the new states; at its end lets the zones point to them.
  func rebuildStep() throws -> RebuildStep {
    var step = RebuildStep(position: .start, last: try storage.lastPosition())
    guard let unfinished = try storage.unfinishedRebuild() else {
      // Another call has ended the rebuild meanwhile.
      step.position = step.last
      step.isDone = true
      return step
    }
    var place = unfinished.place
    // A former version that works on the store too may have done some of the steps.
    let lastKnown = OperationKind(
      rawValue: min(unfinished.lastKnown.rawValue, OperationKind.lastKnown.rawValue))
    fold.bound.begin(.pauses, at: place.next)
    defer { fold.bound.end() }
    let replay = try LogReplay(batch: self)
    let reader = LogReader(storage.tables, storage.interned)
    var (byteCount, operationCount) = (0, 0)
    while place.position < step.last, !fold.bound.isSpent, byteCount < LogReplay.stepBytesMax,
      operationCount < LogReplay.stepOperationsMax
    {
      let position = place.position.next
      // The entry is copied: the fold writes while it reads.
      let entry = try reader.withEntryUnlessRemoved(at: position, storage.transaction) { header, body in
        byteCount += body.byteCount
        operationCount += 1
        return (header, try !place.isPartial || isFoldedAgain(header.zone) ? body.bytes : nil)
      }
      guard let (header, body) = entry else {
        let run = try storage.tables.removedRun(at: position, storage.transaction)
        move(&place, to: run?.upperBound ?? position)
        continue
      }
      if let body, let paused = try rebuild(header, body, at: position, replay, from: place.operations) {
        place.operations = paused
        place.next = fold.bound.next
        break
      }
      if body != nil { operationCount += layout.operations.count }
      step.transactions += 1
      move(&place, to: position)
    }
    try fold.flush()
    step.position = place.position
    if step.position < step.last {
      try storage.setRebuilt(place, lastKnown: lastKnown)
    } else if lastKnown != .lastKnown {
      // What that version passed over is to be folded.
      _ = try startRebuild()
      step.position = .start
    } else {
      try endRebuild(place)
      step.isDone = true
    }
    return step
  }

  /// Whether a zone is folded again, or to be folded again.
  func isFoldedAgain(_ zone: ZoneNumber) throws -> Bool {
    guard let row = try storage.zoneRowIfThere(zone) else { return false }
    return row.building != .none
  }

  private func move(_ place: inout RebuildPlace, to position: Position) {
    place = RebuildPlace(position, isPartial: place.isPartial)
    // What was left of an operation is done, or its zone is gone.
    fold.bound.next = nil
  }

  /// Folds a transaction into the new state of its zone.
  ///
  /// - Parameter first: the operation to begin with.
  /// - Returns: the operation that waits for the next step; nil if all were folded.
  private func rebuild(
    _ header: LogEntryHeader, _ body: [UInt8], at position: Position, _ replay: LogReplay, from first: Int
  ) throws -> Int? {
    let zone = try storage.zoneRow(header.zone)
    if !zone.status.isGone { try storage.nameSequence(header, position) }
    // A zone made since the rebuild began has nothing to rebuild.
    guard zone.building != .none else { return nil }
    let paused = try replay.fold(header, body: body.span.bytes, into: zone.building, from: first)
    return paused
  }

  private func endRebuild(_ place: RebuildPlace) throws {
    try swapStates()
    try storage.setRebuilt(nil)
    let kinds = try storage.unfoldedKinds()
    // In other zones there may be what this version knows and nobody has folded: the next fold is of all.
    guard !place.isPartial else { return try storage.setUnfoldedKinds(kinds.subtracting([.set])) }
    // Assets are counted as transactions come and go, but for those in operations that nobody knew then.
    try recountAssets(knowsMore: kinds.contains { $0.isKnown && $0 != .set })
    try storage.setUnfoldedKinds(kinds.filter { !$0.isKnown })
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
      try storage.removeRenamings(of: zone)
      row.state = row.building
      row.building = .none
      row.raiseBaseToToken()
      storage.setZoneRow(row, zone)
    }
  }

  /// Takes away some rows of states that were replaced.
  ///
  /// - Returns: whether there may be more.
  func discardStep() throws -> Bool {
    var left = Self.discardedRowsMax
    let tables = storage.tables
    var last = StateNumber.none
    while left > 0 {
      guard let state = try storage.discardedState(after: last) else { return left < Self.discardedRowsMax }
      last = state
      for table in [tables.records, tables.elements, tables.runs, tables.references] {
        let key = TableKey.state(state)
        var cursor = try storage.transaction.openCursor(table)
        while left > 0, try cursor.seek(atOrAfter: key.span),
          try cursor.withEntry({ key, _ in try key.bigEndian32(at: 0) }) == state.rawValue
        {
          try cursor.deleteCurrent()
          left -= 1
        }
      }
      guard left > 0 else { break }
      try storage.removeState(state)
      // A state takes as much as some rows.
      left -= Self.rowsOfState
    }
    return true
  }
}

extension TableStorage {
  /// Up to where an unfinished rebuild has folded, and what it knows; nil if there is none.
  func unfinishedRebuild() throws -> (place: RebuildPlace, lastKnown: OperationKind)? {
    let key = TableKey.meta(.rebuild)
    return try transaction.withValue(of: key.span, in: tables.meta) { row in
      var reader = ByteReader(row)
      var place = RebuildPlace(Position(rawValue: try reader.readVarint("rebuild")))
      let kind = reader.remaining > 0 ? try reader.readVarint("rebuild") : OperationKind.set.rawValue
      guard reader.remaining > 0 else { return (place, OperationKind(rawValue: kind)) }
      let isPartial = try reader.readVarint("rebuild", in: 0...UInt64(UInt32.max)) > 0
      place = RebuildPlace(
        place.position, operations: Int(try reader.readVarint("rebuild", in: 0...UInt64(Int32.max))),
        next: reader.remaining > 0 ? ElementKey(bytes: row.extracting(reader.position...).bytes) : nil,
        isPartial: isPartial)
      return (place, OperationKind(rawValue: kind))
    }
  }

  /// - Parameter lastKnown: what each version knows that has taken part.
  func setRebuilt(_ place: RebuildPlace?, lastKnown: OperationKind = .lastKnown) throws {
    guard let place else {
      let key = TableKey.meta(.rebuild)
      _ = try transaction.delete(key.span, in: tables.meta)
      return
    }
    try put(.meta(.rebuild), in: tables.meta) { writer in
      writer.append(varint: place.position.rawValue)
      writer.append(varint: lastKnown.rawValue)
      guard place.isPartial || place.operations > 0 || place.next != nil else { return }
      writer.append(varint: place.isPartial ? 1 : 0)
      writer.append(varint: UInt64(place.operations))
      if let next = place.next { writer.append(next.bytes.span.bytes) }
    }
  }

  /// The next state whose rows are to be taken away, nil if there is none.
  func discardedState(after last: StateNumber) throws -> StateNumber? {
    var cursor = try transaction.openCursor(tables.states)
    var isThere = try cursor.seek(atOrAfter: TableKey.state(StateNumber(rawValue: last.rawValue + 1)).span)
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

extension Tables {
  /// Whether zones are folded again, and those alone whose token is ahead of their records.
  func areOnlyBehindTokens(_ transaction: borrowing LMDBTransaction) throws -> Bool {
    var isAnyBehind = false
    for (zone, _) in try zones(transaction) {
      guard let row = try zoneRow(zone, transaction), row.building != .none else { continue }
      if !row.isBaseBehindToken { return false }
      isAnyBehind = true
    }
    return isAnyBehind
  }
}

extension LocalStore {
  /// Folds the log again if it has operations that a former version did not know and this one does: they were kept.
  ///
  /// Where records are behind the log only because a segment was too much for one commit, the next round of sync does it: until
  /// then they are what the zone was before it.
  func foldWhatIsKnownNow() throws {
    let reader = try environment.beginRead()
    let kinds = try tables.unfoldedKinds(reader).filter(\.isKnown)
    if try kinds.isEmpty || kinds == [.set] && tables.areOnlyBehindTokens(reader) { return }
    reader.abort()
    try checkAllPages()
    try performBlocking(isRepeatable: true) { _ = try $0.startRebuild() }
    let isDone = Shared(false)
    while !isDone.value {
      try performBlocking(isRepeatable: true) { isDone.value = try $0.rebuildStep().isDone }
    }
    // What was replaced goes with the next rebuild, or when the space is asked for.
  }
}
