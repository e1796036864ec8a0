import LMDB
import OperationFormat

struct RebuildStep: Sendable {
  /// How many transactions were folded whole. Each is folded in one pass alone.
  var transactions: UInt64 = 0
  /// How many it has looked at.
  var looked: UInt64 = 0
  /// How many of those that it passed over wait for a later pass.
  var waiting: UInt64 = 0
  var position: Position
  var last: Position
  var isDone = false
}

/// Folds the log again, beside the present records, in steps.
struct Rebuild {
  /// The most rows of replaced states that one step removes.
  private static let discardedRowsMax = 10_000
  private static let rowsOfState = 20

  let store: StoreTransaction
  var storage: TableStorage { store.storage }

  init(_ store: StoreTransaction) { self.store = store }

  /// Whether the records are behind the log.
  var isRefolding: Bool { get throws { try storage.unfoldedKinds().contains(where: \.isKnown) } }

  /// Begins to fold the log again, which has changed behind the fold. ``LocalStore/finishRenewal()`` ends it.
  ///
  /// - Parameter zone: whose part of it has changed.
  func refold(_ zone: ZoneNumber) throws {
    try storage.setUnfoldedKinds(storage.unfoldedKinds().union([UnfoldedKinds.changedLog]))
    try start(of: zone)
  }

  /// Lets a rebuild that was begun continue, of some zones or of all; begins one of all where there is none
  /// and the records are behind the log. Another task, or another process, may have ended it meanwhile.
  func resume() throws -> RebuildReport {
    guard try isRefolding || storage.meta.unfinishedRebuild() != nil else { return RebuildReport() }
    return try start(isPartial: storage.meta.unfinishedRebuild()?.progress.isPartial ?? false)
  }

  /// Gives up a rebuild, unless the records are behind the log.
  func giveUp() throws {
    guard try !isRefolding, try storage.meta.unfinishedRebuild() != nil else { return }
    for (zone, _) in try storage.zones.allVisible() {
      guard var row = try storage.zoneRowIfThere(zone), row.building != .none else { continue }
      try set(.discarded, row.building)
      row.building = .none
      storage.setZoneRow(row, zone)
    }
    try storage.meta.setRebuilt(nil)
  }

  /// Gives every zone a state to be folded into, unless a rebuild of the same had begun already that knows
  /// all that this version does.
  ///
  /// - Parameter isPartial: whether one of some zones continues.
  func start(isPartial: Bool = false) throws -> RebuildReport {
    var report = RebuildReport()
    report.zones = try storage.zones.allVisible().count {
      try storage.zoneRowIfThere($0.number) != nil
    }
    if let unfinished = try storage.meta.unfinishedRebuild(), unfinished.lastKnown == OperationKind.lastKnown,
      unfinished.progress.isPartial == isPartial
    {
      report.wasResumed = true
      return report
    }
    // An earlier version has noted no floor.
    if try storage.unfoldedKinds().contains(.compact) { try noteFloors() }
    try begin { _, _ in true }
    try storage.meta.setRebuilt(RebuildProgress(.start))
    return report
  }

  /// Finds the transactions of the log that name floors, and which floors count.
  ///
  /// - Complexity: linear in the log
  private func noteFloors() throws {
    let last = try storage.lastPosition()
    var position = Position.start.next
    while position <= last {
      if let run = try storage.log.removedRun(at: position) {
        position = run.upperBound.next
        continue
      }
      let found = try storage.log.withEntryUnlessRemoved(at: position) { header, body in
        try store.decoder.parse(body)
        return (header, store.decoder.floor)
      }
      if let (header, floor) = found, let floor { try storage.lanes.noteFloor(floor, of: header) }
      position = position.next
    }
    for zone in try storage.zonesWithFloors() {
      guard let token = try storage.zoneRowIfThere(zone)?.token else { continue }
      let floors = try storage.logFloors(of: zone, token.incarnation, upTo: token.offset)
      try storage.lanes.countFloors(floors, upTo: token.offset, of: zone, token.incarnation)
    }
  }

  /// Begins to fold a zone again, with those that are being folded again already.
  func start(of zone: ZoneNumber) throws {
    let unfinished = try storage.meta.unfinishedRebuild()
    let isPartial =
      unfinished.map { $0.progress.isPartial && $0.lastKnown == OperationKind.lastKnown } ?? true
    try begin { !isPartial || $0 == zone || $1.building != .none }
    try storage.meta.setRebuilt(RebuildProgress(.start, isPartial: isPartial))
  }

  /// Begins to fold into a state what the log has besides the snapshot of a zone that was loaded into it.
  func refold(_ zone: ZoneNumber, from state: StateNumber) throws {
    var row = try storage.zoneRow(zone)
    for other in try storage.states.loading(for: zone) + [row.building]
    where other != .none && other != state {
      try set(.discarded, other)
    }
    guard try storage.lanes.countedLanes(of: zone).contains(where: { try $0.last > retired($0, zone) }) else {
      // The snapshot is all there is.
      try set(.discarded, row.state)
      try set(.live, state)
      store.fold.reset()
      try storage.lanes.removeRenamings(of: zone)
      (row.state, row.building) = (state, .none)
      row.raiseBaseToToken()
      return storage.setZoneRow(row, zone)
    }
    try set(.building, state)
    row.building = state
    storage.setZoneRow(row, zone)
    try storage.setUnfoldedKinds(storage.unfoldedKinds().union([UnfoldedKinds.changedLog]))
    let unfinished = try storage.meta.unfinishedRebuild()
    guard unfinished.map({ $0.progress.isPartial && $0.lastKnown == OperationKind.lastKnown }) ?? true else {
      // One of all zones is under way: it begins again, and this zone with it.
      try begin { number, _ in number != zone }
      return try storage.meta.setRebuilt(RebuildProgress(.start))
    }
    try begin { number, other in number != zone && other.building != .none }
    try storage.meta.setRebuilt(RebuildProgress(.start, isPartial: true))
  }

  private func retired(
    _ lane: (replica: ReplicaNumber, epoch: UInt32, count: UInt64, last: UInt64), _ zone: ZoneNumber
  ) throws -> UInt64 {
    try storage.lanes.retired(Lane(zone: zone, replica: lane.replica, epoch: lane.epoch))
  }

  private func set(_ status: StateRow.Status, _ state: StateNumber) throws {
    var row = try storage.stateRow(state)
    row.status = status
    storage.setStateRow(row, state)
  }

  /// Lets the zones that are to begin with a snapshot do so: it is loaded now.
  ///
  /// - Returns: whether the zone still waited for it.
  func setLoaded(_ state: StateNumber, of zone: ZoneNumber, _ origin: ZoneOrigin) throws -> Bool {
    guard var row = try storage.zoneRowIfThere(zone), row.building != .none,
      try storage.stateRow(row.building).status == .awaiting, try storage.zones.origin(of: zone) == origin
    else {
      try set(.discarded, state)
      return false
    }
    try set(.discarded, row.building)
    try set(.building, state)
    row.building = state
    storage.setZoneRow(row, zone)
    return true
  }

  /// The zone that waits for its snapshot, which is to be loaded before the log is folded on; nil if none does.
  func awaitingZone() throws -> (zone: ZoneNumber, origin: ZoneOrigin)? {
    try storage.zones.origins().first { zone, _ in
      guard let row = try storage.zoneRowIfThere(zone), row.building != .none else { return false }
      return try storage.stateRow(row.building).status == .awaiting
    }
  }

  /// Gives zones empty states to be folded into.
  private func begin(of isChosen: (ZoneNumber, ZoneRow) -> Bool) throws {
    for (zone, _) in try storage.zones.allVisible() {
      guard var row = try storage.zoneRowIfThere(zone), isChosen(zone, row) else { continue }
      if row.building != .none { try set(.discarded, row.building) }
      let hasOrigin = try storage.zones.origin(of: zone) != nil
      row.building = try storage.states.make(for: zone, hasOrigin ? .awaiting : .building)
      storage.setZoneRow(row, zone)
    }
  }

  /// Folds some of the log into the new states; at its end lets the zones point to them.
  func step() throws -> RebuildStep {
    var step = RebuildStep(position: .start, last: try storage.lastPosition())
    guard let unfinished = try storage.meta.unfinishedRebuild() else {
      // Another call has ended the rebuild meanwhile.
      step.position = step.last
      step.isDone = true
      return step
    }
    if let (zone, origin) = try awaitingZone() { throw OriginNeeded(zone: zone, origin: origin) }
    var progress = unfinished.progress
    // A former version that works on the store too may have done some of the steps.
    let lastKnown = OperationKind(
      rawValue: min(unfinished.lastKnown.rawValue, OperationKind.lastKnown.rawValue))
    store.fold.bound.begin(.pauses, at: progress.next)
    defer { store.fold.bound.end() }
    let replay = try LogReplay(store)
    let lanes = storage.lanes
    let passes = FoldPasses(
      of: storage, in: store, into: { $0.building },
      nextFloor: { try lanes.nextCountedFloor(of: $0, $1, after: $2) })
    var (byteCount, work) = (0, 0)
    while progress.position < step.last, !store.fold.bound.isSpent, byteCount < LogReplay.stepBytesMax,
      work < LogReplay.stepWorkMax
    {
      let position = progress.position.next
      // The entry is copied: the fold writes while it reads.
      let entry = try storage.log.withEntryUnlessRemoved(at: position) { header, body in
        byteCount += body.byteCount
        work += 2
        return (header, try !progress.isPartial || isRefolded(header.zone) ? body.bytes : nil)
      }
      guard let (header, body) = entry else {
        let run = try storage.log.removedRun(at: position)
        move(&progress, to: run?.upperBound ?? position)
        continue
      }
      if let body, try passes.take(header, at: position),
        let paused = try rebuild(header, body, at: position, replay, from: progress.operations, &work, &step)
      {
        progress.operations = paused
        progress.next = store.fold.bound.next
        break
      }
      step.looked += 1
      move(&progress, to: position)
    }
    try store.fold.flush()
    step.position = progress.position
    step.waiting = passes.waiting
    if step.position < step.last {
      try storage.meta.setRebuilt(progress, lastKnown: lastKnown)
    } else if try passes.end(at: step.last) {
      step.position = .start
      try storage.meta.setRebuilt(
        RebuildProgress(.start, isPartial: progress.isPartial), lastKnown: lastKnown)
    } else if lastKnown != .lastKnown {
      // What that version passed over is to be folded.
      _ = try start()
      step.position = .start
    } else {
      try end(progress)
      step.isDone = true
    }
    return step
  }

  /// Whether a zone is folded again, or to be folded again.
  func isRefolded(_ zone: ZoneNumber) throws -> Bool {
    guard let row = try storage.zoneRowIfThere(zone) else { return false }
    return row.building != .none
  }

  private func move(_ progress: inout RebuildProgress, to position: Position) {
    progress = RebuildProgress(position, isPartial: progress.isPartial)
    // What was left of an operation is done, or its zone is gone.
    store.fold.bound.next = nil
  }

  /// Folds a transaction into the new state of its zone.
  ///
  /// - Parameters:
  ///   - first: the operation to begin with.
  ///   - work: the steps that it takes are added.
  ///   - step: counts it once all of it is folded.
  /// - Returns: the operation that waits for the next step; nil if all were folded.
  private func rebuild(
    _ header: LogEntryHeader, _ body: [UInt8], at position: Position, _ replay: LogReplay, from first: Int,
    _ work: inout Int, _ step: inout RebuildStep
  ) throws -> Int? {
    let zone = try storage.zoneRow(header.zone)
    if !zone.status.isGone { try storage.log.nameSequence(header, position) }
    // A zone made since the rebuild began has nothing to rebuild.
    guard zone.building != .none, try !storage.isRetired(header) else { return nil }
    let paused = try replay.fold(header, body: body.span.bytes, into: zone.building, from: first)
    // The fold has parsed this body.
    work += FoldWork.steps(of: store.decoder, body.span.bytes)
    if paused == nil { step.transactions += 1 }
    return paused
  }

  private func end(_ progress: RebuildProgress) throws {
    try swapStates()
    try storage.meta.setRebuilt(nil)
    let kinds = try storage.unfoldedKinds()
    // Other zones may have operations that this version knows and that were not folded: the next fold is of
    // all.
    guard !progress.isPartial else {
      return try storage.setUnfoldedKinds(kinds.subtracting([UnfoldedKinds.changedLog]))
    }
    // Assets are counted as transactions come and go, except in operations that were unknown then.
    try recountAssets(knowsMore: kinds.contains { $0.isKnown && $0 != UnfoldedKinds.changedLog })
    try storage.setUnfoldedKinds(kinds.filter { !$0.isKnown })
  }

  private func swapStates() throws {
    store.fold.reset()
    for (zone, _) in try storage.zones.allVisible() {
      guard var row = try storage.zoneRowIfThere(zone) else { continue }
      guard row.building != .none else { continue }
      for (state, status) in [(row.state, StateRow.Status.discarded), (row.building, .live)] {
        var stateRow = try storage.stateRow(state)
        (stateRow.status, stateRow.foldedThrough) = (status, nil)
        storage.setStateRow(stateRow, state)
      }
      try storage.lanes.removeRenamings(of: zone)
      row.state = row.building
      row.building = .none
      row.raiseBaseToToken()
      storage.setZoneRow(row, zone)
    }
  }

  /// Removes some rows of states that were replaced.
  ///
  /// - Returns: whether there may be more.
  func discardStep() throws -> Bool {
    var left = Self.discardedRowsMax
    let tables = storage.tables
    var last = StateNumber.none
    while left > 0 {
      guard let state = try storage.states.next(.discarded, after: last) else {
        return left < Self.discardedRowsMax
      }
      last = state
      let prefix = TableKey.state(state).span.bytes
      for table in [tables.records, tables.elements, tables.runs, tables.references] {
        try storage.transaction.deleteEntries(in: table, under: prefix, &left)
      }
      try storage.indexes.removeRows(under: prefix, &left)
      guard left > 0 else { break }
      try storage.removeStateRow(state)
      // A state takes as much as some rows.
      left -= Self.rowsOfState
    }
    return true
  }
}

/// Before a step, the snapshot that a zone begins with is to be loaded.
struct OriginNeeded: Error {
  var zone: ZoneNumber
  var origin: ZoneOrigin
}

extension StateTable {
  /// Whether any state has a status.
  ///
  /// - Complexity: linear in the states
  func hasAny(_ status: StateRow.Status) throws -> Bool { try next(status, after: .none) != nil }

  /// The next state that has a status; nil if there is none.
  fileprivate func next(_ status: StateRow.Status, after last: StateNumber) throws -> StateNumber? {
    guard last.rawValue < .max else { return nil }
    var cursor = try transaction.openCursor(tables.states)
    var isThere = try cursor.seek(atOrAfter: TableKey.state(StateNumber(rawValue: last.rawValue + 1)).span)
    while isThere {
      let state = try cursor.withEntry { key, row in
        try StateRow(row).status == status ? StateNumber(rawValue: try key.bigEndian32(at: 0)) : nil
      }
      if let state { return state }
      isThere = try cursor.next()
    }
    return nil
  }
}

extension ZoneTable {
  /// Whether zones are being folded again, and only zones whose token is ahead of their records.
  func areOnlyBehindTokens() throws -> Bool {
    var isAnyBehind = false
    for (zone, _) in try allVisible() {
      guard let row = try source.zoneRowIfThere(zone), row.building != .none else { continue }
      if !row.isBaseBehindToken { return false }
      isAnyBehind = true
    }
    return isAnyBehind
  }
}
