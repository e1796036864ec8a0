import LMDB
public import OperationFormat

extension ReadTransaction {
  /// Whether the log takes no more of a lane of a zone that the store writes, or wrote and has something to
  /// ship of: it has closed it, or the first transaction of the present one is pending and names more of its
  /// parent than there is.
  func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
    let (number, row) = try tables.zone(zone, interned, transaction)
    guard let incarnation = row.token?.incarnation,
      let replica = try interned.replicas.number(of: identity.replica, in: tables.replicas, transaction)
    else { return false }
    let earlier = try tables.adoptedLanes(of: number, transaction).filter { $0.replica == replica }
    let epoch = row.ownEpoch(identity)
    return try (earlier + [(replica, epoch)]).contains {
      try tables.closure(of: $0.replica, $0.epoch, in: number, incarnation, transaction) != nil
    } || tables.namesClippedParent(replica, epoch, in: number, incarnation, interned, transaction)
  }

  /// The segments of a zone's remote log that every replica rejects, in order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in them
  public func rejectedSegments(in zone: ZoneID, limit: Int = .max) throws -> [RejectedSegment] {
    let (number, row) = try tables.zone(zone, interned, transaction)
    guard let incarnation = row.token?.incarnation, limit > 0 else { return [] }
    var found: [RejectedSegment] = []
    try tables.forEachRejection(in: number, incarnation, transaction) { offset, segment in
      let replica = try interned.replicas.identity(of: segment.replica, in: tables.replicas, transaction)
      found.append(
        RejectedSegment(
          offset: offset, writer: StoreIdentity(replica: replica, epoch: segment.epoch),
          sequences: segment.first...max(segment.first, segment.last), hash: segment.hash,
          reason: segment.rejection ?? .content))
      return found.count < limit
    }
    return found
  }
}

extension Tables {
  /// Whether the first transaction of a lane is pending, and names another parent than the lane has since
  /// transactions were taken out of the log.
  func namesClippedParent(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ interned: Interned, _ transaction: borrowing LMDBTransaction
  ) throws -> Bool {
    guard try lastPlaced(replica, epoch, in: zone, incarnation, transaction) == 0,
      let position = try position(of: replica, epoch, 1, in: zone, transaction)
    else { return false }
    let named = try LogReader(self, interned).withEntry(at: position, transaction) { header, _ in
      header.parent
    }
    guard let named else { return false }
    let left = try parent(of: replica, epoch, in: zone, transaction)
    return left.map { ($0.replica, $0.epoch, $0.through) != named } ?? true
  }
}
