import OperationFormat

/// What happens where the token comes to an entry that names a floor.
extension RemoteIngest {
  /// Lets the floor count that the entry at the token names, if it does. Where transactions without a place up to there
  /// are in the records, the log is folded again: alone up to there, then compacted, then what comes behind.
  func takeFloor(
    of zone: ZoneNumber, _ row: ZoneRow, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    guard try storage.hasFloors(zone),
      let segment = try storage.segments.row(at: offset, in: zone, incarnation), segment.rejection == nil,
      !segment.isQuarantined
    else { return }
    let lane = Lane(zone: zone, replica: segment.replica, epoch: segment.epoch)
    let floors = try storage.floors(of: lane, segment.first...max(segment.first, segment.last), incarnation)
      .filter { $0.place == offset }
    if floors.named.isEmpty { return }
    try storage.lanes.countFloors(floors, upTo: offset, of: zone, incarnation)
    // While it is read again, the log is folded at the end.
    if try storage.lanes.rereading(of: zone) != nil { return }
    if foldsLater || row.building != .none { return try Rebuild(store).refold(zone) }
    let known = try storage.stateRow(row.state).floor
    guard let floor = floors.next(after: known) else { return }
    guard try isSettled(zone, incarnation, upTo: offset) else { return try Rebuild(store).refold(zone) }
    try store.fold.flush()
    store.fold.reset()
    var state = try storage.stateRow(row.state)
    state.take(floor)
    storage.setStateRow(state, row.state)
    // Nor does any row tell that one is missing which was not there: those who refer to it show something else.
    storage.noteOtherView()
  }

  /// Whether all transactions of a zone that are here have a place up to an offset.
  private func isSettled(_ zone: ZoneNumber, _ incarnation: IncarnationNumber, upTo offset: UInt64) throws
    -> Bool
  {
    try storage.lanes.countedLanes(of: zone).allSatisfy { lane in
      let placed = try storage.placements.lastPlaced(
        lane.replica, lane.epoch, in: zone, incarnation, before: offset + 1)
      return try lane.last
        <= max(placed, storage.retired(Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)))
    }
  }
}
