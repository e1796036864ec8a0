import OperationFormat

/// In which passes the log is folded again.
///
/// Floors cut a zone's remote log into parts: what is placed up to the first floor's transaction, what comes behind it up
/// to the next one, and so on. A floor works behind all of its part, and before all of the next. The store's log may have
/// them in another order: what this store wrote before it fetched has a later place. So a pass over the log folds one
/// part, and then the floor is set; the last pass folds what no floor comes behind.
///
/// Most logs have nearly all in the order of the places. So a pass goes on with the next part where it has folded all of
/// one and has passed over nothing of the next. That is the same as another pass, which would find nothing of the next
/// part before here. However many floors there are, there are few passes then.
///
/// How far a zone is stands in the row of its state.
final class FoldPasses {
  /// A part of more entries is not compared with the next: it takes a pass.
  private static let comparedEntriesMax: UInt64 = 4096

  private struct Pass {
    var incarnation: IncarnationNumber
    /// What is placed up to there was folded before.
    var after: UInt64
    /// Up to where what is placed is folded now; nil for all, also what has no place.
    var through: UInt64?
    /// What is up to there was folded before, all of it.
    var foldedThrough: Position?
    /// The last position of the part; nil until that is asked for.
    var last: Position?
    /// Whether the next part waits for another pass.
    var isLast = false
  }

  private let store: StoreTransaction
  private let states: [ZoneNumber: StateNumber]
  private let floors: [ZoneNumber: LogFloors]
  private let position: (Lane, _ sequence: UInt64) throws -> Position?
  private var passes: [ZoneNumber: Pass] = [:]
  private var storage: TableStorage { store.storage }

  /// - Parameters:
  ///   - states: into which zones are folded.
  ///   - floors: those that zones' logs name.
  ///   - position: the position of a transaction in the log that is folded; nil if it is not there.
  init(
    into states: [ZoneNumber: StateNumber], _ store: StoreTransaction, floors: [ZoneNumber: LogFloors],
    position: @escaping (Lane, _ sequence: UInt64) throws -> Position?
  ) throws {
    (self.store, self.states, self.floors, self.position) = (store, states, floors, position)
    for (zone, state) in states {
      let row = try storage.stateRow(state)
      guard let floors = floors[zone] else {
        if let through = row.foldedThrough {
          passes[zone] = Pass(incarnation: .none, after: 0, foldedThrough: through)
        }
        continue
      }
      passes[zone] = Pass(
        incarnation: floors.incarnation, after: row.floor?.place ?? 0,
        through: floors.next(after: row.floor)?.place, foldedThrough: row.foldedThrough)
    }
  }

  /// Whether an entry is folded in this pass. It may set floors before: nothing of the log may be in use.
  func take(_ header: LogEntryHeader, at position: Position) throws -> Bool {
    guard let pass = passes[header.zone] else { return true }
    if let through = pass.foldedThrough { return position > through }
    if pass.after == 0, pass.through == nil { return true }
    let place =
      try storage.placements.placement(
        of: header.replica, header.epoch, header.sequence, in: header.zone, pass.incarnation)?.offset ?? .max
    while let pass = passes[header.zone] {
      if place <= pass.through ?? .max { return place > pass.after }
      guard try goOn(header.zone, pass, at: position) else { return false }
    }
    return true
  }

  /// Goes on with the next part, if the pass has folded all of this one, and passed over nothing of the next.
  ///
  /// - Parameter position: the entry that comes next, which is of no part so far.
  private func goOn(_ zone: ZoneNumber, _ pass: Pass, at position: Position) throws -> Bool {
    guard !pass.isLast, let through = pass.through, let state = states[zone], let floors = floors[zone] else {
      return false
    }
    var pass = pass
    defer { passes[zone] = pass }
    var row = try storage.stateRow(state)
    let floor = floors.next(after: row.floor)
    guard let next = floors.next(after: floor)?.place,
      max(through - pass.after, next - through) <= Self.comparedEntriesMax
    else {
      pass.isLast = true
      return false
    }
    let last =
      try pass.last ?? positions(of: zone, pass.incarnation, behind: pass.after, through: through)?.upperBound
      ?? .start
    pass.last = last
    guard last < position else { return false }
    let positions = try positions(of: zone, pass.incarnation, behind: through, through: next)
    guard positions?.lowerBound ?? position >= position else {
      pass.isLast = true
      return false
    }
    try store.fold.flush()
    store.fold.reset()
    row.take(floor)
    storage.setStateRow(row, state)
    pass = Pass(
      incarnation: pass.incarnation, after: through, through: next, last: positions?.upperBound ?? .start)
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
    var isMore = false
    for (zone, state) in states {
      var row = try storage.stateRow(state)
      if row.foldedThrough == nil, let next = floors[zone]?.next(after: row.floor) {
        row.take(next)
        isMore = true
      } else {
        row.foldedThrough = last
      }
      storage.setStateRow(row, state)
    }
    return isMore
  }
}
