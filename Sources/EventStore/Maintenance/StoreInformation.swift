import LMDB
public import OperationFormat

/// What is in a store, counted.
public struct StoreInformation: Hashable, Sendable {
  /// One zone of the store.
  public struct Zone: Hashable, Sendable {
    public let id: ZoneID
    /// Whether it is synced: `local` or `attached`.
    public let attachment: ZoneAttachment
    /// Transactions in the log.
    public let transactions: UInt64
    /// Own transactions that no remote has acknowledged.
    public let pending: Int
    /// Records that are there.
    public let records: Int
    /// Records that were deleted, or that a cascade hides.
    public let hiddenRecords: Int
    /// Cells that have losers.
    public let conflicts: Int
    /// Up to where the remote log was folded; nil for a zone that was never synced.
    public let token: Base?
    /// The same with its hash; also at offset 0, for a zone that the remote has and of which nothing was
    /// folded.
    public let changeToken: ChangeToken?
    /// Its writers, in the order of their identities.
    public let replicas: [Replica]
    /// Which of that this store wrote.
    package let writtenHere: WrittenHere
    /// The segments of its remote log that every replica rejects, in order.
    public let rejected: [RejectedSegment]
    /// Where two stores wrote under one identity, as far as the store knows.
    public let forks: [LaneFork]
    /// From which offset on its remote log is being read again; nil if it is not. Nothing is sent before its
    /// end.
    public let rereadFrom: UInt64?
    /// What is pending and cannot be sent as it is. Lanes that cannot be sent only because they continue one
    /// of these are not listed.
    public let closedLanes: [ClosedLane]
    /// The snapshot that its records begin with; nil if the log has all of its history.
    public let origin: Origin?
    /// Up to which offset of its remote log its records are compacted; nil for none.
    public let floor: UInt64?
    /// Records that were changed after compaction had dropped them: they are hidden until they are created.
    public let uncreatedRecords: Int
  }

  /// Pending transactions of one replica's epoch that the remote log does not take.
  public struct ClosedLane: Hashable, Sendable {
    /// Why the log does not take them.
    public enum Reason: Hashable, Sendable {
      /// The log has rejected a segment of it at an offset, and takes no more.
      case closed(offset: UInt64)
      /// The log has other transactions under the same sequences at an offset.
      case branched(offset: UInt64)
      /// The log does not have what they had seen.
      case basesUnknown
    }

    /// Who wrote them.
    public let writer: StoreIdentity
    /// How many they are.
    public let pending: UInt64
    /// Why the log does not take them.
    public let reason: Reason
  }

  /// The snapshot that a zone's records begin with.
  public struct Origin: Hashable, Sendable {
    /// The hash of its content.
    public let content: ContentHash
    /// Up to which offset of the zone's remote log it goes.
    public let offset: UInt64
    /// What the zone was before this position of the log, the store does not know any more.
    public let position: Position
    /// When the transaction there arrived here, in milliseconds since 1970; nil if a former version retired the history.
    public let arrivedMilliseconds: Int64?
  }

  /// One replica's part in a zone.
  public struct Replica: Hashable, Sendable {
    /// Who wrote.
    public let replica: ReplicaID
    /// Which epoch of it; it writes in one after the other.
    public let epoch: UInt32
    /// The last of its transactions that the store has; they count from 1.
    public let lastSequence: UInt64
  }

  /// The assets that the log names.
  public struct Assets: Hashable, Sendable {
    /// How many there are.
    public internal(set) var count = 0
    /// Their bytes, by what names them.
    public internal(set) var bytes: UInt64 = 0
    /// How many of them are not here.
    public internal(set) var missing = 0
    /// The bytes of those.
    public internal(set) var missingBytes: UInt64 = 0
  }

  /// One table of the data file.
  public struct Table: Hashable, Sendable {
    /// Its name in the data file.
    public let name: String
    /// How many keys it has.
    public let entries: Int
    /// Bytes of its pages.
    public let bytes: Int
  }

  /// Which replica the store is, and its epoch.
  public let identity: StoreIdentity
  /// Which replicas it was before it was copied, or put back from a backup, the last one first.
  public let formerReplicas: [ReplicaID]
  /// The version of the store's format: see ``LocalStore/formatVersion``. A former one may be opened read-only.
  public let formatVersion: UInt64
  /// Bytes of the data file.
  public let fileBytes: Int
  /// The last timestamp given out or seen.
  public let clock: Timestamp
  /// The first position in the log, `.start` if it is empty.
  public let firstPosition: Position
  /// The last position in the log, `.start` if it is empty.
  public let lastPosition: Position
  /// Whether the records are behind the log, which is being folded again.
  public let isFoldingAgain: Bool
  public let zones: [Zone]
  public let assets: Assets
  public let tables: [Table]
}

extension StoreCore {
  func information() throws -> StoreInformation {
    try read { transaction in
      try transaction.information(
        fileBytes: try environment.fileBytes, assets: try transaction.countAssets(in: assets))
    }
  }
}

extension ReadTransaction {
  fileprivate func countAssets(in files: AssetFiles) throws -> StoreInformation.Assets {
    var found = StoreInformation.Assets()
    try forEachAsset(in: files) { asset in
      found.count += 1
      found.bytes = Self.sum(found.bytes, asset.reference.byteCount)
      if !asset.isHere {
        found.missing += 1
        found.missingBytes = Self.sum(found.missingBytes, asset.reference.byteCount)
      }
      return true
    }
    return found
  }

  /// References come from others: what they say of sizes may be anything.
  private static func sum(_ left: UInt64, _ right: UInt64) -> UInt64 {
    let (sum, overflow) = left.addingReportingOverflow(right)
    return overflow ? .max : sum
  }

  fileprivate func information(fileBytes: Int, assets: StoreInformation.Assets) throws -> StoreInformation {
    var first = Position.start
    do {
      var cursor = try transaction.openCursor(tables.log)
      if try cursor.first() {
        first = try cursor.withEntry { key, _ in Position(rawValue: try key.bigEndian64(at: 0)) }
      }
    }
    var zones: [StoreInformation.Zone] = []
    for zone in try self.zones() { zones.append(try information(of: zone)) }
    return StoreInformation(
      identity: identity, formerReplicas: try readView.meta.formers(),
      formatVersion: try readView.meta.formatVersion() ?? OpenedStore.formatVersion,
      fileBytes: fileBytes,
      clock: try readView.meta.clock(), firstPosition: first, lastPosition: try lastPosition(),
      isFoldingAgain: try isFoldingAgain(), zones: zones, assets: assets,
      tables: try tables.all.map { name, table in
        let statistics = try transaction.statistics(of: table)
        return StoreInformation.Table(
          name: name, entries: Int(statistics.entries), bytes: Int(statistics.bytes))
      })
  }

  /// Counts what is in a zone.
  package func information(of zone: ZoneID) throws -> StoreInformation.Zone {
    var records = 0
    var hidden = 0
    var conflicts = 0
    var uncreated = 0
    try readView.forEachRow(in: zone) { name, row, state in
      if row.isUncreated {
        // Of some only numbers are left, or where they moved to.
        if try ExistencePolicy.typeOfAlive(in: readView.existences(in: row, state)) != nil { uncreated += 1 }
      } else if try readView.visible(row, state) == nil {
        hidden += 1
      } else {
        records += 1
      }
      conflicts += try reader.conflicts(of: RecordID(zone: zone, name: name), in: row, state).count
      return true
    }
    let (number, row) = try readView.zones.visible(zone)
    var transactions: UInt64 = 0
    var replicas: [StoreInformation.Replica] = []
    for lane in try readView.lanes.countedLanes(of: number) {
      transactions += lane.count
      replicas.append(
        StoreInformation.Replica(
          replica: try readView.replicas.identity(of: lane.replica),
          epoch: lane.epoch, lastSequence: lane.last))
    }
    return StoreInformation.Zone(
      id: zone, attachment: row.status == .attached ? .attached : .local, transactions: transactions,
      pending: try pendingCount(in: zone), records: records,
      hiddenRecords: hidden, conflicts: conflicts, token: try token(of: zone),
      changeToken: try changeToken(row.token, zone, number),
      replicas: replicas.sorted { ($0.replica, $0.epoch) < ($1.replica, $1.epoch) },
      writtenHere: try readView.lanes.writtenHere(in: number, row, identity),
      rejected: try rejectedSegments(in: zone), forks: try forks(in: zone),
      rereadFrom: try readView.lanes.rereading(of: number)?.first,
      closedLanes: try closedLanes(of: number, row),
      origin: try historyBegin(of: zone), floor: try readView.states.storedRow(of: row.state).floor?.offset,
      uncreatedRecords: uncreated)
  }

  /// The snapshot that a zone's records begin with; nil if the log has all of its history.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func historyBegin(of zone: ZoneID) throws -> StoreInformation.Origin? {
    try readView.zones.origin(of: readView.zones.number(of: zone)).map {
      StoreInformation.Origin(
        content: $0.content, offset: $0.offset, position: $0.position,
        arrivedMilliseconds: $0.arrivedMilliseconds)
    }
  }

  private func closedLanes(of zone: ZoneNumber, _ row: ZoneRow) throws -> [StoreInformation.ClosedLane] {
    guard let token = row.token else { return [] }
    let lanes = try readView.lanes.pendingLanes(of: zone, row, identity)
    return try lanes.compactMap { lane in
      var reason: StoreInformation.ClosedLane.Reason?
      var pending = lane.count
      if let offset = try readView.lanes.closure(of: lane.replica, lane.epoch, in: zone, token.incarnation) {
        reason = .closed(offset: offset)
      } else if let contested = try readView.lanes.contest(of: lane.replica, lane.epoch, in: zone, token) {
        reason = contested.isByBase ? .basesUnknown : .branched(offset: contested.offset)
        pending = contested.count(of: lane)
      }
      guard let reason else { return nil }
      let replica = try readView.replicas.identity(of: lane.replica)
      return StoreInformation.ClosedLane(
        writer: StoreIdentity(replica: replica, epoch: lane.epoch), pending: pending, reason: reason)
    }
  }

  /// Up to where a zone's remote log was folded; nil for a zone that was never synced.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`.
  public func token(of zone: ZoneID) throws -> Base? {
    guard let token = try view.zones.visible(zone).row.token, token.offset > 0 else { return nil }
    return Base(
      incarnation: try view.incarnations.identity(of: token.incarnation),
      offset: token.offset)
  }
}
