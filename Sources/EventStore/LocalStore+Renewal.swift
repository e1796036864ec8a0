import LMDB
package import OperationFormat

extension LocalStore {
  /// Gives a lane of this store's own of a zone a new epoch, and makes what the log cannot take any more new transactions of it:
  /// with their own bases and timestamps, so that they mean what they meant. Nothing is lost.
  ///
  /// The log takes no more of a lane where it has rejected a segment of it, or has another branch of it: the store was
  /// copied, restored from a backup, or somebody else wrote under its identity. What is the same in both branches keeps
  /// its identity. ``finishRenewal()`` is to be called afterwards.
  ///
  /// - Parameter segment: the other branch's segment, whose transactions differ from pending ones; nil where the log has
  ///   closed the lane.
  /// - Returns: how many transactions were issued again; nil if the lane is neither closed nor contested.
  /// - Throws: ``StoreError`` `zoneUnknown`, `incarnationChanged`, `damaged`.
  package func renewLane(of zone: ZoneID, contestedBy segment: RemoteSegment? = nil) async throws -> Int? {
    try await performIfFolded { try LaneRewrite($0).renewLane(of: zone, contestedBy: segment) }
  }

  /// Folds the log again after ``renewLane(of:contestedBy:)``, unless that was done. If it is cut short, the next call or
  /// the next opening of the store goes on.
  package func finishRenewal() async throws {
    guard try read({ try $0.isFoldingAgain() }) else { return }
    _ = try await rebuild({ try Rebuild($0).resume() }, checksPages: false)
  }

  /// Does something to a store whose records are not behind its log: folds it again before, if they are.
  func performFolded<R: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> R) async throws
    -> R
  {
    try await performIfFolded { .some(try body($0)) }!
  }

  /// As ``performFolded(_:)``; a body that gives nil has changed nothing.
  private func performIfFolded<R: Sendable>(
    _ body: @escaping @Sendable (StoreTransaction) throws -> R?
  ) async throws -> R? {
    while true {
      do {
        return try await performIfChanged { store in
          if try Rebuild(store).isRefolding { throw Behind() }
          return try body(store)
        }
      } catch is Behind {
        try await finishRenewal()
      }
    }
  }

  /// The records are behind the log.
  private struct Behind: Error {}

  /// Whether the log takes no more of a lane of a zone that the store writes, or wrote and has something to ship of: it has
  /// closed it, or the first transaction of the present one is pending and names more of its parent than there is.
  package func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
    try read { try $0.isOwnLaneClosed(of: zone) }
  }
}

extension ReadTransaction {
  /// Whether the records are behind the log: it has changed behind the fold, or this version knows more of it than the one that
  /// has folded it, and it was not folded again to its end.
  package func isFoldingAgain() throws -> Bool {
    try readView.meta.unfoldedKinds().contains(where: \.isKnown)
  }

  fileprivate func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
    let (number, row) = try readView.zones.visible(zone)
    guard let incarnation = row.token?.incarnation,
      let replica = try readView.replicas.number(of: identity.replica)
    else { return false }
    let earlier = try readView.lanes.adopted(of: number).filter { $0.replica == replica }
    let epoch = row.ownEpoch(identity)
    return try (earlier + [(replica, epoch)]).contains {
      try readView.lanes.closure(of: $0.replica, $0.epoch, in: number, incarnation) != nil
    } || readView.lanes.namesClippedParent(replica, epoch, in: number, incarnation)
  }

  /// The segments of a zone's remote log that every replica rejects, in order.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in them
  public func rejectedSegments(in zone: ZoneID, limit: Int = .max) throws -> [RejectedSegment] {
    let (number, row) = try readView.zones.visible(zone)
    guard let incarnation = row.token?.incarnation, limit > 0 else { return [] }
    var found: [RejectedSegment] = []
    try readView.segments.forEachRejected(in: number, incarnation) { offset, segment in
      let replica = try readView.replicas.identity(of: segment.replica)
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
  /// Whether the first transaction of a lane is pending, and names another parent than the lane has since transactions were
  /// taken out of the log.
  func namesClippedParent(
    _ replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> Bool {
    guard try placements.lastPlaced(replica, epoch, in: zone, incarnation) == 0,
      let position = try log.position(of: replica, epoch, 1, in: zone)
    else { return false }
    guard let named = try log.withEntry(at: position, { header, _ in header.parent }) else { return false }
    let left = try parent(of: replica, epoch, in: zone)
    return left.map { ($0.replica, $0.epoch, $0.through) != named } ?? true
  }
}
