import OperationFormat

/// In which passes the log is folded again. A floor works behind all that the remote log has up to its transaction, and
/// the store's log may have what comes behind in front of it. So a zone takes a pass for each floor that counts: it
/// folds what is placed up to the floor's transaction, then the floor is set. The last pass folds the rest.
///
/// How far a zone is stands in the row of its state.
struct FoldPasses {
  private struct Pass {
    var incarnation: IncarnationNumber
    /// What is placed up to there was folded before.
    var after: UInt64
    /// Up to where what is placed is folded now; nil for all, also what has no place.
    var through: UInt64?
    /// What is up to there was folded before, all of it.
    var foldedThrough: Position?
  }

  private let storage: TableStorage
  private let states: [ZoneNumber: StateNumber]
  private let floors: [ZoneNumber: LogFloors]
  private var passes: [ZoneNumber: Pass] = [:]

  /// - Parameters:
  ///   - states: into which zones are folded.
  ///   - floors: those that zones' logs name.
  init(
    into states: [ZoneNumber: StateNumber], _ storage: TableStorage, floors: [ZoneNumber: LogFloors]
  ) throws {
    (self.storage, self.states, self.floors) = (storage, states, floors)
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

  /// Whether an entry is folded in this pass.
  func take(_ header: LogEntryHeader, at position: Position) throws -> Bool {
    guard let pass = passes[header.zone] else { return true }
    if let through = pass.foldedThrough { return position > through }
    if pass.after == 0, pass.through == nil { return true }
    let place =
      try storage.placements.placement(
        of: header.replica, header.epoch, header.sequence, in: header.zone, pass.incarnation)?.offset ?? .max
    return place > pass.after && place <= pass.through ?? .max
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
        (row.floor, row.lastCompacted) = (next, [])
        isMore = true
      } else {
        row.foldedThrough = last
      }
      storage.setStateRow(row, state)
    }
    return isMore
  }
}
