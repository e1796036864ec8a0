import LMDB
public import OperationFormat

extension ReadTransaction {
  /// Whether the log takes no more of a lane of a zone that the store writes, or wrote and has something to
  /// ship of: it has closed it, or the first transaction of the present one is pending and names more of its
  /// parent than there is.
  func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
    let (number, row) = try view.zones.visible(zone)
    guard let incarnation = row.token?.incarnation,
      let replica = try view.replicas.number(of: identity.replica)
    else { return false }
    let earlier = try view.lanes.adopted(of: number).filter { $0.replica == replica }
    let epoch = row.ownEpoch(identity)
    return try (earlier + [(replica, epoch)]).contains {
      try view.lanes.closure(of: $0.replica, $0.epoch, in: number, incarnation) != nil
    } || view.lanes.namesClippedParent(replica, epoch, in: number, incarnation)
  }

  /// Whether the log has closed a lane of another store that it had lost, and that this store was to offer again.
  func hasClosedHeldLane(of zone: ZoneID) throws -> Bool {
    let (number, row) = try view.zones.visible(zone)
    return try row.token.map { try !view.lanes.closedHeld(of: number, $0.incarnation).isEmpty } ?? false
  }

  /// Whether this store was a replica before it was copied, or put back from a backup.
  package func isFormer(_ replica: ReplicaID?) throws -> Bool {
    try replica.map { try view.meta.formers().contains($0) } ?? false
  }

  /// Whether the log has another branch of something that this store wrote under a former identity.
  func hasRefusedFormerLane(of zone: ZoneID) throws -> Bool {
    let (number, row) = try view.zones.visible(zone)
    guard let token = row.token, try view.lanes.hasAdopted(of: number), try !view.meta.formers().isEmpty
    else {
      return false
    }
    let refused = try view.lanes.refusedLanes(of: number, token, but: identity)
    return try !view.lanes.formerLanes(of: refused, in: number).isEmpty
  }

  /// The segments of a zone's remote log that every replica rejects, in order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in them
  public func rejectedSegments(in zone: ZoneID, limit: Int = .max) throws -> [RejectedSegment] {
    let (number, row) = try view.zones.visible(zone)
    guard let incarnation = row.token?.incarnation, limit > 0 else { return [] }
    var found: [RejectedSegment] = []
    try view.segments.forEachRejected(in: number, incarnation) { offset, segment in
      let replica = try view.replicas.identity(of: segment.replica)
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

extension LaneTable {
  /// Whether the first transaction of a lane is pending, and names another parent than the lane has since
  /// transactions were taken out of the log.
  func namesClippedParent(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> Bool {
    guard try placements.lastPlaced(replica, epoch, in: zone, incarnation) == 0,
      let position = try log.position(of: replica, epoch, 1, in: zone)
    else { return false }
    guard let named = try log.withEntry(at: position, { header, _ in header.parent }) else { return false }
    let left = try parent(of: replica, epoch, in: zone)
    return left.map { $0 != named } ?? true
  }
}
