import OperationFormat

extension ReadTransaction {
  /// Whether what a transaction has replaced is not known any more, because its zone is compacted up to it.
  func isCompacted(_ id: TransactionID, in zone: ZoneID) throws -> Bool {
    guard let found = try readView.zones.find(zone), found.row.state != .none,
      let floor = try readView.states.storedRow(of: found.row.state).floor,
      let replica = try readView.replicas.number(of: id.replica)
    else { return false }
    return floor.covers(
      try readView.placements.placement(
        of: replica, id.epoch, id.sequence, in: found.number, floor.incarnation)?.offset)
  }
}
