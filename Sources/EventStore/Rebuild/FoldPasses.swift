import OperationFormat

/// In which passes the log is folded again. A floor works behind all that the remote log has up to its transaction, and
/// the store's log may have what comes behind in front of it. So a zone takes a pass for each floor that counts: it
/// folds what is placed up to the floor's transaction, then the floor is set. The last pass folds the rest.
///
/// How far a zone is stands in the row of its state.
struct FoldPasses {
  /// What is folded now of a zone with floors.
  private struct Pass {
    var incarnation: IncarnationNumber
    /// What is placed up to there was folded before.
    var after: UInt64
    /// The floor up to whose transaction what is placed is folded now; nil for all, also what has no place.
    var next: CompactionFloor?
  }

  private let storage: TableStorage
  private let target: (ZoneRow) -> StateNumber
  private var passes: [ZoneNumber: Pass] = [:]

  /// - Parameters:
  ///   - log: the store whose log is folded.
  ///   - storage: where it is folded.
  ///   - target: into which state of a zone; none if it is not.
  ///   - isChosen: the transactions that name floors which may count.
  /// - Complexity: linear in the zones that have a floor, and in the transactions that name one
  init(
    of log: some TableReading, in storage: TableStorage, into target: @escaping (ZoneRow) -> StateNumber,
    where isChosen: (LogFloors.Named) -> Bool = { _ in true }
  ) throws {
    (self.storage, self.target) = (storage, target)
    for zone in try log.zonesWithFloors() {
      guard let token = try log.zoneRowIfThere(zone)?.token, let state = try state(of: zone) else { continue }
      let row = try storage.stateRow(state)
      if row.foldedThrough != nil { continue }
      let floors = try log.logFloors(of: zone, token.incarnation, upTo: token.offset).filter(isChosen)
      passes[zone] = Pass(
        incarnation: token.incarnation, after: row.floor?.place ?? 0, next: floors.next(after: row.floor))
    }
  }

  /// The state into which a zone is folded; nil if it is not. A fold of one zone has the states of no others.
  private func state(of zone: ZoneNumber) throws -> StateNumber? {
    guard let state = try storage.zoneRowIfThere(zone).map(target), state != .none,
      try storage.states.storedRowIfThere(of: state) != nil
    else { return nil }
    return state
  }

  /// Whether an entry is folded in this pass.
  func take(_ header: LogEntryHeader, at position: Position) throws -> Bool {
    guard let state = try storage.zoneRowIfThere(header.zone).map(target), state != .none else { return true }
    if let through = try storage.stateRow(state).foldedThrough { return position > through }
    guard let pass = passes[header.zone] else { return true }
    if pass.after == 0, pass.next == nil { return true }
    let place =
      try storage.placements.placement(
        of: header.replica, header.epoch, header.sequence, in: header.zone, pass.incarnation)?.offset ?? .max
    return place > pass.after && place <= pass.next?.place ?? .max
  }

  /// Ends a pass: sets the floors behind it.
  ///
  /// - Parameter last: the last position that was folded.
  /// - Returns: whether there is another pass.
  func end(at last: Position) throws -> Bool {
    guard passes.values.contains(where: { $0.next != nil }) else { return false }
    try storage.zones.forEachRow { zone, _ in
      guard let state = try state(of: zone) else { return }
      var row = try storage.stateRow(state)
      if let next = passes[zone]?.next {
        (row.floor, row.lastCompacted) = (next, [])
      } else {
        row.foldedThrough = last
      }
      storage.setStateRow(row, state)
    }
    return true
  }
}
