package import OperationFormat

extension RecordReader {
  /// Whether the transaction of an operation had seen another operation of its zone. One that the log does not
  /// have yet, because it is of the present write, has seen all.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: reads the transaction.
  package func hasSeen(_ earlier: OperationID, by later: OperationID, in zone: ZoneID) throws -> Bool {
    let (id, other) = (later.transaction, earlier.transaction)
    // What is compacted is no more in conflict.
    if id.sequence == 0, other.sequence == 0 { return true }
    let (number, row) = try view.zones.visible(zone)
    guard let replica = try view.replicas.number(of: id.replica),
      let otherReplica = try view.replicas.number(of: other.replica)
    else { return true }
    let lane = Lane(zone: number, replica: replica, epoch: id.epoch)
    // One that was retired has seen what the zone's origin says of it.
    if try view.log.position(of: replica, id.epoch, id.sequence, in: number) == nil,
      try view.lanes.retired(lane) < id.sequence
    {
      return true
    }
    var context = CausalContext(
      zone: number, replica: replica, epoch: id.epoch, sequence: id.sequence,
      base: try view.log.base(of: replica, id.epoch, id.sequence, in: number))
    context.lineage = try view.lanes.lineage(of: replica, id.epoch, in: number)
    context.floor = try view.states.storedRow(of: row.state).floor
    let head = HeadID(
      replica: otherReplica, epoch: other.epoch, sequence: other.sequence, index: earlier.index)
    return try context.hasSeen(head, at: later.index) { replica, epoch, sequence, incarnation in
      try view.placements.placement(of: replica, epoch, sequence, in: number, incarnation)?.offset
    }
  }
}
