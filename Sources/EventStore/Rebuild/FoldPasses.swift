import OperationFormat

/// In which passes the log is folded again.
///
/// Floors cut a zone's remote log into parts: what is placed up to the first floor's transaction, what comes behind it up
/// to the next one, and so on. A floor works behind all of its part, and before all of the next. The store's log may have
/// them in another order: what this store wrote before it fetched has a later place. So a pass over the log folds one
/// part, and then the floor is set; the last pass folds what no floor comes behind.
///
/// Most logs have nearly all in the order of the places. So a pass continues with the next part where it has folded all of
/// one and has skipped nothing of the next. That is the same as another pass, which would find nothing of the next
/// part before here. However many floors there are, there are few passes then.
///
/// How far a zone is stands in the row of its state. Each step of a rebuild makes these passes again: so they read of a zone
/// only the floor that comes next.
final class FoldPasses {
  /// A part of more entries is not compared with the next: it takes a pass.
  private static let comparedEntriesMax: UInt64 = 4096

  /// What is folded now of a zone with floors.
  private struct Pass {
    var incarnation: IncarnationNumber
    /// What is placed up to there was folded before.
    var after: UInt64
    /// The floor up to whose transaction what is placed is folded now; nil for all, also what has no place.
    var next: CompactionFloor?
    /// The last position of the part; nil until that is asked for.
    var last: Position?
    /// Whether the next part waits for another pass.
    var isLast = false
  }

  /// The floor of a zone's log that counts next behind another one; nil if there is none.
  typealias NextFloor = (ZoneNumber, ZoneRow.Token, _ after: CompactionFloor?) throws -> CompactionFloor?

  private let store: StoreTransaction
  private let target: (ZoneRow) -> StateNumber
  private let nextFloor: NextFloor
  private let position: (Lane, _ sequence: UInt64) throws -> Position?
  /// Of the zones that an entry was met of, or that the pass has ended for; nil for one without parts.
  private var passes: [ZoneNumber: Pass?] = [:]
  /// How many entries were left to a later pass.
  private(set) var waiting: UInt64 = 0
  private var storage: TableStorage { store.storage }

  /// - Parameters:
  ///   - source: the store whose log is folded.
  ///   - store: where it is folded.
  ///   - target: into which state of a zone; none if it is not.
  ///   - nextFloor: which floors count.
  init(
    of source: some TableReading, in store: StoreTransaction, into target: @escaping (ZoneRow) -> StateNumber,
    nextFloor: @escaping NextFloor
  ) {
    let log = source.log
    (self.store, self.target, self.nextFloor) = (store, target, nextFloor)
    position = { try log.position(of: $0.replica, $0.epoch, $1, in: $0.zone) }
  }

  /// What is folded now of a zone; nil if it has no parts, or is folded up to a position.
  private func pass(of zone: ZoneNumber) throws -> Pass? {
    if let known = passes[zone] { return known }
    var pass: Pass?
    if let token = try storage.zoneRowIfThere(zone)?.token, let state = try state(of: zone) {
      let row = try storage.stateRow(state)
      if row.foldedThrough == nil {
        pass = Pass(
          incarnation: token.incarnation, after: row.floor?.place ?? 0,
          next: try nextFloor(zone, token, row.floor))
      }
    }
    passes[zone] = .some(pass)
    return pass
  }

  /// The state into which a zone is folded; nil if it is not. A fold of one zone has the states of no others.
  private func state(of zone: ZoneNumber) throws -> StateNumber? {
    guard let state = try storage.zoneRowIfThere(zone).map(target), state != .none,
      try storage.states.storedRowIfThere(of: state) != nil
    else { return nil }
    return state
  }

  /// Whether an entry is folded in this pass. It may set floors before: nothing of the log may be in use.
  func take(_ header: LogEntryHeader, at position: Position) throws -> Bool {
    guard let state = try storage.zoneRowIfThere(header.zone).map(target), state != .none else { return true }
    if let through = try storage.stateRow(state).foldedThrough { return position > through }
    guard let pass = try pass(of: header.zone) else { return true }
    if pass.after == 0, pass.next == nil { return true }
    let place =
      try storage.placements.placement(
        of: header.replica, header.epoch, header.sequence, in: header.zone, pass.incarnation)?.offset ?? .max
    while let pass = try self.pass(of: header.zone) {
      if place <= pass.next?.place ?? .max { return place > pass.after }
      guard try goOn(header.zone, pass, at: position) else {
        waiting += 1
        return false
      }
    }
    return true
  }

  /// Continues with the next part, if the pass has folded all of this one, and skipped nothing of the next.
  ///
  /// - Parameter position: the entry that comes next, which is of no part so far.
  private func goOn(_ zone: ZoneNumber, _ pass: Pass, at position: Position) throws -> Bool {
    guard !pass.isLast, let floor = pass.next, let token = try storage.zoneRowIfThere(zone)?.token else {
      return false
    }
    var pass = pass
    defer { passes[zone] = pass }
    let through = floor.place
    guard let next = try nextFloor(zone, token, floor),
      max(through - pass.after, next.place - through) <= Self.comparedEntriesMax
    else {
      pass.isLast = true
      return false
    }
    let last =
      try pass.last ?? positions(of: zone, pass.incarnation, behind: pass.after, through: through)?.upperBound
      ?? .start
    pass.last = last
    guard last < position else { return false }
    let positions = try positions(of: zone, pass.incarnation, behind: through, through: next.place)
    guard positions?.lowerBound ?? position >= position else {
      pass.isLast = true
      return false
    }
    guard let state = try state(of: zone) else { return false }
    try store.fold.flush()
    store.fold.reset()
    var row = try storage.stateRow(state)
    row.take(floor)
    storage.setStateRow(row, state)
    pass = Pass(
      incarnation: pass.incarnation, after: through, next: next, last: positions?.upperBound ?? .start)
    return true
  }

  /// The positions of the first and the last transaction of a zone's log that are placed in a part of the remote log.
  private func positions(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, behind start: UInt64, through end: UInt64
  ) throws -> ClosedRange<Position>? {
    var found: ClosedRange<Position>?
    for offset in start + 1..<end + 1 {
      guard let segment = try storage.segments.row(at: offset, in: zone, incarnation),
        let placed = try storage.placements.placement(
          of: segment.replica, segment.epoch, segment.last, in: zone, incarnation), placed.offset == offset
      else { continue }
      // Others of the segment have an earlier place, or are in the snapshot that the zone begins with.
      let lane = Lane(zone: zone, replica: segment.replica, epoch: segment.epoch)
      let retired = try storage.retired(lane)
      for sequence in [max(placed.first, retired + 1), segment.last] where sequence > retired {
        guard let position = try position(lane, sequence) else { continue }
        found = min(found?.lowerBound ?? position, position)...max(found?.upperBound ?? position, position)
      }
    }
    return found
  }

  /// Ends a pass: sets the floors behind it.
  ///
  /// - Parameter last: the last position that was folded.
  /// - Returns: whether there is another pass.
  func end(at last: Position) throws -> Bool {
    let zones = try storage.zonesWithFloors()
    guard try zones.contains(where: { try pass(of: $0)?.next != nil }) else { return false }
    try storage.zones.forEachRow { zone, _ in
      guard let state = try state(of: zone) else { return }
      var row = try storage.stateRow(state)
      if let next = try pass(of: zone)?.next {
        row.take(next)
      } else {
        row.foldedThrough = last
      }
      storage.setStateRow(row, state)
    }
    return true
  }
}
