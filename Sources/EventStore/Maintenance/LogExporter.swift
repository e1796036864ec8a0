import LMDB
package import OperationFormat

extension ReadTransaction {
  /// Calls a closure with the lines of the store's log, until it returns false: identity, policies, deletions
  /// of zones, zones, segments, lanes and transactions that had seen what a log has lost, lanes that were issued again, then
  /// the transactions in the log's order.
  ///
  /// - Parameter only: the zone to export; nil for all. Rows of other zones are not read: they may be
  ///   damaged.
  /// - Throws: ``StoreError`` `retired` if the log does not have all of a zone; `rereading` while the remote log of one of these zones is read again: what is
  ///   pending is not known before that ends. `damaged`; what the closure throws.
  package func forEachExportedLine(of only: ZoneID? = nil, _ body: (ExportedLine) throws -> Bool) throws {
    try LogExporter(self).forEachLine(of: only, body)
  }
}

/// Reads all that a log's export has, in its order.
private struct LogExporter: ~Copyable {
  private let read: ReadTransaction
  private var view: ReadView { read.readView }

  init(_ read: borrowing ReadTransaction) { self.read = read.alias() }

  func forEachLine(of only: ZoneID?, _ body: (ExportedLine) throws -> Bool) throws {
    let zones = try view.zones.allVisible(of: only)
    for (number, id) in zones where try view.lanes.rereading(of: number) != nil {
      throw StoreError(
        .rereading,
        "the log of zone “\(id)” is being read again: what is pending is not known before that ends",
        hint: "run `replay sync` until the zone is in sync, and export then")
    }
    for (number, id) in zones {
      guard try view.zones.origin(of: number) != nil else { continue }
      throw StoreError(
        .retired,
        "the log of zone “\(id)” begins with a snapshot: this store does not have what was before",
        hint: "copy the store with `replay backup`, or export the records with `replay export --records`")
    }
    guard try body(.header(read.identity)) else { return }
    for (type, policy) in try view.meta.policies().sorted(by: { $0.key < $1.key }) {
      guard try body(.policy(type: try view.name(type), policy)) else { return }
    }
    guard try forEachDeletion(of: only, body) else { return }
    for (number, id) in zones {
      guard let row = try view.zoneRowIfThere(number) else { continue }
      let base = try row.base.map { try self.base($0.incarnation, $0.offset) }
      let token = try row.token.map {
        ExportedToken(base: try self.base($0.incarnation, $0.offset), hash: $0.hash)
      }
      let attachment: ZoneAttachment = row.status == .attached ? .attached : .local
      let assets = try view.assets.policy(of: number)
      guard try body(.zone(id, attachment, token: token, base: base, assets: assets)) else { return }
    }
    guard try forEachSegment(zones, body), try forEachContest(zones, body), try forEachLimit(zones, body),
      try forEachReissue(zones, body)
    else {
      return
    }
    try read.history(zone: only) { try body(.transaction($0)) }
  }

  /// Zones that the remote has, or may have, and still has to delete. Without them, a store that imports the
  /// log and reads the remote's list of zones would create them again.
  private func forEachDeletion(of only: ZoneID?, _ body: (ExportedLine) throws -> Bool) throws -> Bool {
    for (number, row) in try view.zones.rows(of: only) where row.status == .deleting {
      guard let token = row.token, let id = try view.zones.id(of: number) else { continue }
      let incarnation = try base(token.incarnation, token.offset).incarnation
      guard try body(.deletion(id, incarnation)) else { return false }
    }
    return true
  }

  private func base(_ incarnation: IncarnationNumber, _ offset: UInt64) throws -> Base {
    Base(
      incarnation: try view.incarnations.identity(of: incarnation),
      offset: offset)
  }

  private func forEachSegment(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      var cursor = try view.transaction.openCursor(view.tables.segments)
      var isThere = try cursor.seek(atOrAfter: TableKey.segment(number, .none, 0).span)
      while isThere {
        let found = try cursor.withEntry { key, value -> ExportedSegment? in
          guard try key.bigEndian32(at: 0) == number.rawValue else { return nil }
          return try segment(of: id, key, SegmentRow(CheckedRow.content(of: value, under: key)))
        }
        guard let found else { break }
        guard try body(.segment(found)) else { return false }
        isThere = try cursor.next()
      }
    }
    return true
  }

  private func segment(of zone: ZoneID, _ key: RawSpan, _ row: SegmentRow) throws -> ExportedSegment {
    ExportedSegment(
      zone: zone,
      place: try base(IncarnationNumber(rawValue: try key.bigEndian32(at: 4)), try key.bigEndian64(at: 8)),
      replica: row.isQuarantined
        ? ReplicaID(rawValue: 0)
        : try view.replicas.identity(of: row.replica),
      epoch: row.epoch, sequences: row.first...max(row.first, row.last), hash: row.hash,
      receivedMilliseconds: row.receivedMilliseconds, rejection: row.rejection, chain: row.chain,
      isChainStated: row.isChainStated, limit: row.limit)
  }

  private func forEachLimit(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      var isWanted = true
      try view.baseLimits.forEach(of: number) { lane, sequences, limit in
        let line = ExportedLimit(
          zone: id, lane: try view.lanes.identity(of: lane), sequences: sequences,
          base: try base(limit.incarnation, limit.offset))
        isWanted = try body(.limit(line))
        return isWanted
      }
      guard isWanted else { return false }
    }
    return true
  }

  private func forEachReissue(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      for (lane, reissue) in try view.lanes.reissued(of: number) {
        let line = ExportedReissue(
          zone: id, lane: try view.lanes.identity(of: lane),
          former: try view.lanes.identity(of: reissue.former),
          first: reissue.first, count: reissue.count,
          branch: try reissue.branch.map { try base($0.incarnation, $0.offset) },
          milliseconds: reissue.milliseconds)
        guard try body(.reissued(line)) else { return false }
      }
    }
    return true
  }

  /// Adopted lanes that had seen what the remote log has lost. Another branch of a lane is not exported: the
  /// importing store finds it when it reads the log.
  private func forEachContest(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      guard let token = try view.zoneRowIfThere(number)?.token else { continue }
      for (replica, epoch) in try view.lanes.adopted(of: number) {
        let contested = try view.lanes.contest(of: replica, epoch, in: number, token)
        guard let contested, contested.isByBase else { continue }
        let lane = StoreIdentity(
          replica: try view.replicas.identity(of: replica), epoch: epoch)
        let line = ExportedContest(zone: id, lane: lane, first: contested.first, baseMax: contested.baseMax)
        guard try body(.contested(line)) else { return false }
      }
    }
    return true
  }
}
