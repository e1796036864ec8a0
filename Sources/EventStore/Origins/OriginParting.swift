import OperationFormat

/// Where the log of a snapshot parts from what a store has read of it, as far as the snapshot tells.
struct OriginParting {
  private let storage: TableStorage
  private let zone: ZoneNumber
  private let incarnation: IncarnationNumber
  private let manifest: SnapshotManifest
  private let head: SnapshotHead
  private let token: UInt64
  /// The offset of the snapshot that the zone begins with; 0 if there is none.
  private let origin: UInt64
  private let known: UInt64?

  /// - Parameter known: an offset from which on the logs are known to differ; nil for none.
  init(
    _ storage: TableStorage, _ zone: ZoneNumber, _ incarnation: IncarnationNumber,
    _ manifest: SnapshotManifest, _ head: SnapshotHead, known: UInt64?
  ) throws {
    (self.storage, self.zone, self.incarnation) = (storage, zone, incarnation)
    (self.manifest, self.head) = (manifest, head)
    token = try storage.zoneRow(zone).token?.offset ?? 0
    origin = try storage.zones.origin(of: zone)?.offset ?? 0
    // Another process may have read the other log since.
    let isRead =
      try token >= manifest.offset && storage.segments.hasLog(of: manifest, in: zone, incarnation)
    self.known = isRead ? nil : known.map { min($0, manifest.offset) }
  }

  /// The first offset at which the store has read something else; nil if there is none. Where a snapshot stands for what it
  /// has read, it may be a lower one: right behind the last entry that both are known to have.
  ///
  /// What tells is an entry that the snapshot names, or the place of that entry's last transaction; or where transactions are
  /// that its lanes lack. In a log that had the store's entries, they would not.
  ///
  /// - Parameter refusal: the error if the store has taken the entry at an offset otherwise, in the same log.
  func find(_ refusal: (UInt64) -> StoreError) throws -> UInt64? {
    var first = known
    func note(_ offset: UInt64) { first = min(first ?? offset, offset) }
    var alike: [UInt64] = []
    var placed: [Int: UInt64] = [:]
    for entry in head.entries {
      let known = try storage.segments.row(at: entry.offset, in: zone, incarnation)
      if let known {
        if try !isSame(entry, as: known) {
          note(entry.offset)
        } else if known.rejection != entry.row.rejection {
          guard entry.offset > min(token, (first ?? .max) - 1) else { throw refusal(entry.offset) }
          note(entry.offset)
        } else if let chain = known.chain, chain == entry.row.chain {
          alike.append(entry.offset)
        }
      }
      guard let lane = entry.lane, entry.row.rejection == nil, entry.row.last > placed[lane] ?? 0 else {
        continue
      }
      placed[lane] = entry.row.last
      let id = head.lanes[lane].id
      guard let replica = try storage.replicas.number(of: id.replica) else { continue }
      let place = try storage.placements.placement(
        of: replica, id.epoch, entry.row.last, in: zone, incarnation)
      // What the origin has may have a later place here than in the log: see `placeFolded`.
      if let place,
        place.offset < entry.offset
          || place.offset > entry.offset && (known != nil || place.offset > origin)
      {
        note(min(place.offset, entry.offset))
      }
    }
    if let offset = try firstLacked() { note(offset) }
    // The chain may tell what the entries that it names do not.
    if token >= manifest.offset, try !storage.segments.hasLog(of: manifest, in: zone, incarnation) {
      note(manifest.offset)
    }
    guard let first, first <= origin else { return first }
    return (alike.last { $0 < first } ?? 0) + 1
  }

  /// The last offset up to which what was read before the log is read again is in the snapshot's log, as far as the snapshot
  /// tells; 0 for none.
  func sameThrough() throws -> UInt64 {
    let lanes = try head.lanes(in: zone, storage)
    let entries = Dictionary(head.entries.map { ($0.offset, $0) }, uniquingKeysWith: { first, _ in first })
    var (last, isSame): (UInt64, Bool) = (0, true)
    try storage.segments.forEachFormer(in: zone, incarnation) { offset, former in
      guard isSame, offset <= manifest.offset else { return }
      let lane = Lane(zone: zone, replica: former.replica, epoch: former.epoch)
      isSame =
        try lanes[lane]?.last ?? 0 >= former.last
        && entries[offset].map { try $0.row.rejection == nil && self.isSame($0, as: former) } ?? true
      if isSame { last = offset }
    }
    return last
  }

  /// The first place of transactions that the snapshot's lanes lack; nil if they have all up to its offset.
  private func firstLacked() throws -> UInt64? {
    let lanes = try head.lanes(in: zone, storage)
    var first: UInt64?
    for known in try storage.lanes.countedLanes(of: zone) {
      let lane = Lane(zone: zone, replica: known.replica, epoch: known.epoch)
      let last = lanes[lane]?.last ?? 0
      let placed = try storage.placements.lastPlaced(
        lane.replica, lane.epoch, in: zone, incarnation, before: manifest.offset + 1)
      guard placed > last else { continue }
      let place = try storage.placements.placement(
        of: lane.replica, lane.epoch, last + 1, in: zone, incarnation)
      if let place { first = min(first ?? place.offset, place.offset) }
    }
    return first
  }

  /// Whether an entry is the one that the store knows.
  private func isSame(
    _ entry: (offset: UInt64, lane: Int?, row: SegmentRow), as known: SegmentRow
  ) throws -> Bool {
    var row = entry.row
    if let lane = entry.lane {
      let id = head.lanes[lane].id
      row.replica = try storage.replicas.number(of: id.replica) ?? known.replica
      row.epoch = id.epoch
    }
    if row.isChainStated, known.isChainStated, let chain = row.chain, let other = known.chain, chain != other
    {
      return false
    }
    return row.isSame(as: known)
  }
}

extension SnapshotHead {
  /// The lanes by how a store names them; without those of replicas that it does not know.
  func lanes(
    in zone: ZoneNumber, _ storage: TableStorage
  ) throws -> [Lane: SnapshotDecoder.FoundLane] {
    var found: [Lane: SnapshotDecoder.FoundLane] = [:]
    for lane in lanes {
      guard let replica = try storage.replicas.number(of: lane.id.replica) else { continue }
      found[Lane(zone: zone, replica: replica, epoch: lane.id.epoch)] = lane
    }
    return found
  }
}
