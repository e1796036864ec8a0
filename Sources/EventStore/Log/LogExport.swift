import LMDB
package import OperationFormat

/// One line of an exported log: all that a store needs to be made anew from it, in the order in which it is
/// exported.
package enum ExportedLine: Hashable, Sendable {
  /// Which store it was.
  case header(StoreIdentity)
  case policy(type: Name, ExistencePolicy)
  /// A zone that was deleted, which the remote is still to be told.
  case deletion(ZoneID, IncarnationID)
  case zone(ZoneID, ZoneAttachment, token: ExportedToken?, base: Base?, assets: AssetPolicy)
  case segment(ExportedSegment)
  case contested(ExportedContest)
  case transaction(LogEntry)
}

/// A zone's token with the hash of the segment it lies on.
package struct ExportedToken: Hashable, Sendable {
  package var base: Base
  package var hash: ContentHash

  package init(base: Base, hash: ContentHash) {
    self.base = base
    self.hash = hash
  }
}

/// A segment of a remote log that a store has folded or shipped. One whose sequences are 0 to 0 stands for an entry that
/// was given up, and the hash is its tombstone's.
package struct ExportedSegment: Hashable, Sendable {
  package var zone: ZoneID
  package var place: Base
  package var replica: ReplicaID
  package var epoch: UInt32
  package var sequences: ClosedRange<UInt64>
  package var hash: ContentHash
  package var receivedMilliseconds: UInt64?
  /// Why every replica rejects it; nil for one that was folded.
  package var rejection: SegmentRejection?

  package init(
    zone: ZoneID, place: Base, replica: ReplicaID, epoch: UInt32, sequences: ClosedRange<UInt64>,
    hash: ContentHash, receivedMilliseconds: UInt64?, rejection: SegmentRejection? = nil
  ) {
    self.zone = zone
    self.place = place
    self.replica = replica
    self.epoch = epoch
    self.sequences = sequences
    self.hash = hash
    self.receivedMilliseconds = receivedMilliseconds
    self.rejection = rejection
  }
}

/// A lane that a store was to ship for another one, and that had seen what the zone's log has lost since.
package struct ExportedContest: Hashable, Sendable {
  package var zone: ZoneID
  package var lane: StoreIdentity
  /// Its first transaction that cannot be shipped.
  package var first: UInt64
  /// The last offset that those from there on had seen and that the log still has; 0 for none.
  package var baseMax: UInt64

  package init(zone: ZoneID, lane: StoreIdentity, first: UInt64, baseMax: UInt64) {
    self.zone = zone
    self.lane = lane
    self.first = first
    self.baseMax = baseMax
  }
}

extension ReadTransaction {
  /// Calls a closure with the lines of the store's log, until it returns false: identity, policies, deletions of zones,
  /// zones, segments, lanes that had seen what a log has lost, then the transactions in the log's order.
  ///
  /// - Parameter only: the zone to export; nil for all. What others have is not read: it may be damaged.
  /// - Throws: ``StoreError`` `rereading` while the remote log of one of these zones is being read again: whose the
  ///   transactions without a place are, and what takes their place, shows at its end. `damaged`, and what the closure
  ///   throws.
  package func forEachExportedLine(
    of only: ZoneID? = nil, _ body: (ExportedLine) throws -> Bool
  ) throws {
    let zones = try readView.zones.allVisible(of: only)
    for (number, id) in zones where try readView.lanes.rereading(of: number) != nil {
      throw StoreError(
        .rereading,
        "the log of zone “\(id)” is being read again: what is pending is not known before that ends",
        hint: "run `replay sync` until the zone is in sync, and export then")
    }
    guard try body(.header(identity)) else { return }
    for (type, policy) in try readView.meta.policies().sorted(by: { $0.key < $1.key }) {
      guard try body(.policy(type: try readView.name(type), policy)) else { return }
    }
    guard try forEachDeletion(of: only, body) else { return }
    for (number, id) in zones {
      guard let row = try readView.zoneRowIfThere(number) else { continue }
      let base = try row.base.map { try self.base($0.incarnation, $0.offset) }
      let token = try row.token.map {
        ExportedToken(base: try self.base($0.incarnation, $0.offset), hash: $0.hash)
      }
      let attachment: ZoneAttachment = row.status == .attached ? .attached : .local
      let assets = try readView.assets.policy(of: number)
      guard try body(.zone(id, attachment, token: token, base: base, assets: assets)) else { return }
    }
    guard try forEachSegment(zones, body), try forEachContest(zones, body) else { return }
    try history(zone: only) { try body(.transaction($0)) }
  }

  /// Zones that the remote has, or may have, and is to delete: a store that reads its list of zones would take them for new.
  private func forEachDeletion(of only: ZoneID?, _ body: (ExportedLine) throws -> Bool) throws -> Bool {
    for (number, row) in try readView.zones.rows(of: only) where row.status == .deleting {
      guard let token = row.token, let id = try readView.zones.id(of: number) else { continue }
      let incarnation = try base(token.incarnation, token.offset).incarnation
      guard try body(.deletion(id, incarnation)) else { return false }
    }
    return true
  }

  private func base(_ incarnation: IncarnationNumber, _ offset: UInt64) throws -> Base {
    Base(
      incarnation: try readView.incarnations.identity(of: incarnation),
      offset: offset)
  }

  private func forEachSegment(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      var cursor = try transaction.openCursor(tables.segments)
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
        : try readView.replicas.identity(of: row.replica),
      epoch: row.epoch, sequences: row.first...max(row.first, row.last), hash: row.hash,
      receivedMilliseconds: row.receivedMilliseconds, rejection: row.rejection)
  }
}

extension ReadTransaction {
  /// Another branch of a lane is met again where the log is read on: only what had seen too much is told of.
  private func forEachContest(
    _ zones: [(number: ZoneNumber, id: ZoneID)], _ body: (ExportedLine) throws -> Bool
  ) throws -> Bool {
    for (number, id) in zones {
      guard let token = try readView.zoneRowIfThere(number)?.token else { continue }
      for (replica, epoch) in try readView.lanes.adopted(of: number) {
        let contested = try readView.lanes.contest(of: replica, epoch, in: number, token)
        guard let contested, contested.isByBase else { continue }
        let lane = StoreIdentity(
          replica: try readView.replicas.identity(of: replica), epoch: epoch
        )
        let line = ExportedContest(zone: id, lane: lane, first: contested.first, baseMax: contested.baseMax)
        guard try body(.contested(line)) else { return false }
      }
    }
    return true
  }
}
