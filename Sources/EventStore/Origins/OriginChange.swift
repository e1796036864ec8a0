import LMDB
import OperationFormat

/// Lets the records of a zone begin with a snapshot: in place of what the log has up to there.
///
/// The snapshot is loaded into a new state first, then one commit makes it the origin, and what the log has besides is folded
/// into that state before it counts. The entries that the snapshot has are taken out of the log last, in steps; and then what
/// the store knows of entries that the snapshot does not name. If it is cut short before the commit, nothing has changed;
/// after it, the next opening or sync continues.
struct OriginChange {
  let core: StoreCore
  let zone: ZoneID
  /// Is among the store's files.
  let manifest: SnapshotManifest
  /// An offset from which on the store is known to have read something else than the snapshot's log has; nil for none.
  var parting: UInt64?
  /// If the log is being read again, the offset up to which it is known to be what was read before.
  var sameThrough: UInt64 = 0
  /// Whether the snapshot may be of another log than the store has read; not one that the store has made itself.
  var mayPart = false

  /// - Parameter progress: called with how many records are loaded, of how many; what it throws ends the work.
  /// - Returns: the first offset at which the store had read something else than the snapshot's log has; nil if it had not.
  ///   Then the log is being read again, as ``LogRereading`` says of one that has parted: what it lacks is offered again.
  /// - Throws: ``StoreError`` `outOfOrder` if the zone is not in the snapshot's log, or further than the snapshot cannot
  ///   replace what is there; `laneClosed` if it has another branch of what the store was to send for others: that is noted,
  ///   and the user decides; `retired` if the logs differ before what the zone begins with, and the snapshot lacks some of that;
  ///   `damaged`, `zoneUnknown`, `full`.
  @discardableResult
  func run(_ progress: (_ done: UInt64, _ total: UInt64) throws -> Void) async throws -> UInt64? {
    let parting = try await commit(progress)
    try await RebuildRun(core).finish(zone)
    try await RebuildRun(core).discardAll()
    try await FoldedEntries.removeAll(core)
    return parting
  }

  /// Makes the snapshot the origin. What the log and the tables have besides is left as it is.
  ///
  /// - Returns, Throws: as ``run(_:)``.
  @discardableResult
  func commit(_ progress: (_ done: UInt64, _ total: UInt64) throws -> Void) async throws -> UInt64? {
    do {
      return try await commitUncontested(progress)
    } catch let found as ContestedBranches {
      _ = try await core.performIfChanged { [zone] in try found.note(in: zone, $0) ? true : nil }
      throw found.error(zone)
    }
  }

  private func commitUncontested(
    _ progress: (_ done: UInt64, _ total: UInt64) throws -> Void
  ) async throws -> UInt64? {
    let (zone, manifest, files) = (zone, manifest, core.snapshots)
    let number = try core.read { try $0.readView.zones.visible(zone).number }
    let head = try SnapshotHead(manifest) { try files.part($0, of: manifest) }
    // Loading it is much work.
    try await core.perform { store in
      _ = try OriginCommit(change: self, store: store, head: head).check()
    }
    let load = SnapshotLoad(core, number, manifest)
    defer { extendLifetime(load) }
    try await RebuildRun(core).makeRoom(for: load)
    let loaded = try await load.run(progress)
    do {
      return try await core.perform { store in
        try OriginCommit(change: self, store: store, head: head).run(loaded)
      }
    } catch {
      await load.discard(loaded.state)
      throw error
    }
  }
}

/// The one commit that makes a snapshot a zone's origin.
private struct OriginCommit {
  let change: OriginChange
  let store: StoreTransaction
  let head: SnapshotHead
  private var zone: ZoneID { change.zone }
  private var manifest: SnapshotManifest { change.manifest }
  private var storage: TableStorage { store.storage }

  /// - Returns: the first offset at which the store had read something else; nil if it had not.
  func run(_ loaded: (state: StateNumber, assets: Set<AssetReference>)) throws -> UInt64? {
    let (number, incarnation) = try RemoteIngest(store).target(zone, manifest.incarnation)
    guard try storage.states.storedRowIfThere(of: loaded.state)?.status == .loading else {
      throw StoreError(.outOfOrder, "the state that a snapshot was loaded into is gone", hint: "try again")
    }
    // Nothing could make it again once the log lacks what it has.
    _ = try change.core.snapshots.manifest(of: manifest.content)
    try keepWhatIsReadAgain(number, incarnation)
    let parting = try check()
    if let parting {
      _ = try LogRereading(store).begin(zone, from: parting, isParted: true, keepsOrigin: false)
      if let origin = try storage.zones.origin(of: number), parting <= origin.offset {
        try storage.lanes.forgetRetired(of: number)
      }
    }
    let replicas = try head.lanes.map { try storage.replicas.makeNumber(for: $0.id.replica) }
    let last = try lastArrival(number, replicas)
    try putEntries(number, incarnation, replicas)
    for (lane, replica) in zip(head.lanes, replicas) {
      let name = Lane(zone: number, replica: replica, epoch: lane.id.epoch)
      try storage.lanes.retire(name, through: lane.last, at: lane.timestamp, lane.bases, of: incarnation)
      store.clock.observe(lane.timestamp, wallMilliseconds: store.wallMilliseconds())
      if let parent = lane.parent {
        let found = head.lanes[parent.lane].id
        try storage.lanes.setParent(
          (replicas[parent.lane], found.epoch, parent.sequence), of: replica, lane.id.epoch, in: number)
      }
      if let closure = lane.closure {
        try storage.lanes.close(replica, lane.id.epoch, of: number, incarnation, at: closure)
      }
    }
    try storage.assets.setOriginAssets(loaded.assets, in: number) { try store.isHere($0) }
    // Who has sent the transactions again may not have had the files.
    if parting != nil { for asset in loaded.assets { try store.noteUnsent(asset, in: number) } }
    try storage.zones.setOrigin(
      ZoneOrigin(
        content: manifest.content, incarnation: incarnation, offset: manifest.offset, position: last.position,
        arrivedMilliseconds: last.milliseconds), of: number)
    try storage.meta.countRewrite()
    if let floor = manifest.floor {
      try storage.lanes.countFloor(floor, at: manifest.offset, of: number, incarnation)
    }
    try storage.lanes.setFolding(manifest.content, of: number)
    storage.forgetSequences()
    storage.forgetPlacements()
    try ZoneCatalog(store).removeShippedCut(number, incarnation)
    var row = try storage.zoneRow(number)
    if row.token?.offset ?? 0 < manifest.offset {
      row.token = ZoneRow.Token(incarnation: incarnation, offset: manifest.offset, hash: manifest.hash)
      row.snapshot.note(manifest, passing: row.logBytes)
      row.logBytes = 0
    }
    storage.setZoneRow(row, number)
    try Rebuild(store).refold(number, from: loaded.state)
    return parting
  }

  /// Lets a log that is read again, and that begins later by now, count as one that has parted: what the store has stays, and
  /// what the log lacks of it is sent again. What was written has seen the log as far as that is still what was read. Only once
  /// the zone begins with the snapshot: nothing takes that back.
  private func keepWhatIsReadAgain(_ number: ZoneNumber, _ incarnation: IncarnationNumber) throws {
    guard change.mayPart, let rereading = try storage.lanes.rereading(of: number), !rereading.isParted else {
      return
    }
    let same = try originParting(number, incarnation).sameThrough()
    _ = try LogRereading(store).begin(
      zone, from: .max, isParted: true, sameThrough: max(same, change.sameThrough))
  }

  /// The last position of what the snapshot has, and when that arrived: from there on the snapshot and the log know the zone.
  /// The log's last one, and now, if the log does not have all of that.
  private func lastArrival(
    _ number: ZoneNumber, _ replicas: [ReplicaNumber]
  ) throws -> (position: Position, milliseconds: Int64?) {
    let known = try storage.zones.origin(of: number)
    var last = Position.start
    for (lane, replica) in zip(head.lanes, replicas) {
      let name = Lane(zone: number, replica: replica, epoch: lane.id.epoch)
      if try storage.retired(name) >= lane.last { continue }
      guard let position = try storage.log.position(of: replica, name.epoch, lane.last, in: number) else {
        return (try storage.lastPosition(), store.wallMilliseconds())
      }
      last = max(last, position)
    }
    if let known, known.position >= last { return (known.position, known.arrivedMilliseconds) }
    return (last, last == .start ? nil : try storage.logReader.entry(at: last).arrivedMilliseconds)
  }

  /// Throws unless the snapshot may replace what is here.
  ///
  /// - Returns: the first offset at which the store has read something else than the snapshot's log has; nil if it has not.
  func check() throws -> UInt64? {
    let (number, incarnation) = try RemoteIngest(store).target(zone, manifest.incarnation)
    let origin = try storage.zones.origin(of: number)
    if change.mayPart, origin?.content == manifest.content { throw refuse("it begins with it") }
    let parting = try originParting(number, incarnation).find {
      refuse("the store has taken the entry at offset \($0) otherwise")
    }
    if let parting {
      guard change.mayPart else { throw StoreError.unsettled(zone, "its log has parted meanwhile") }
      if let origin, parting <= origin.offset, try !hasRetired(number, incarnation) {
        throw StoreError.readAgainBeforeOrigin(zone, from: parting, origin.offset)
      }
    }
    try check(number, incarnation, from: origin?.offset ?? 0, before: parting ?? .max)
    return parting
  }

  private func originParting(_ zone: ZoneNumber, _ incarnation: IncarnationNumber) throws -> OriginParting {
    try OriginParting(storage, zone, incarnation, manifest, head, known: change.parting)
  }

  /// Whether the snapshot has all transactions that the store's log does not have any more: then nothing of the origin is
  /// lost with it.
  ///
  /// A copy of a store may have written others under their sequences. Where the store still knows when the last one of a lane
  /// was made, that must be the same; and so must the hash of each entry that both logs have of the same sequences.
  private func hasRetired(_ number: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    let lanes = try head.lanes(in: number, storage)
    guard try hasSameEntries(number, incarnation) else { return false }
    return try storage.lanes.retiredLanes(of: number).allSatisfy { lane in
      guard let found = lanes[lane], let known = try storage.lanes.retirement(of: lane) else { return false }
      if found.last <= known.last { return found.last == known.last && found.timestamp == known.timestamp }
      guard let position = try storage.log.position(of: lane.replica, lane.epoch, found.last, in: number)
      else { return true }
      return try storage.logReader.entry(at: position).transaction.timestamp == found.timestamp
    }
  }

  /// Whether the snapshot's entries of what the store's log does not have any more are the store's, where both have cut the
  /// same sequences. The log has what it lost in other entries, if it was sent again with more.
  private func hasSameEntries(_ number: ZoneNumber, _ incarnation: IncarnationNumber) throws -> Bool {
    var placed: [Int: UInt64] = [:]
    for entry in head.entries where entry.row.rejection == nil {
      // One that repeats what was there before counts for nothing.
      guard let index = entry.lane, entry.row.last > placed[index] ?? 0 else { continue }
      placed[index] = entry.row.last
      let id = head.lanes[index].id
      guard let replica = try storage.replicas.number(of: id.replica),
        try entry.row.last <= storage.retired(Lane(zone: number, replica: replica, epoch: id.epoch)),
        let place = try storage.placements.placement(
          of: replica, id.epoch, entry.row.last, in: number, incarnation),
        let known = try storage.segments.row(at: place.offset, in: number, incarnation),
        known.first == entry.row.first, known.last == entry.row.last
      else { continue }
      if known.hash != entry.row.hash { return false }
    }
    return true
  }

  /// - Parameters:
  ///   - begin: the offset of the snapshot that the zone begins with; 0 if there is none.
  ///   - parting: what was sent counts as such before that offset.
  private func check(
    _ number: ZoneNumber, _ incarnation: IncarnationNumber, from begin: UInt64, before parting: UInt64
  ) throws {
    let row = try storage.zoneRow(number)
    // It keeps all that it has, and is read on from the snapshot.
    if let rereading = try storage.lanes.rereading(of: number),
      !(rereading.isParted || change.mayPart) || row.token?.offset ?? 0 >= manifest.offset
    {
      throw refuse("its log is being read again")
    }
    // One that has parted before its origin has what that has.
    if begin > manifest.offset, begin < parting { throw refuse("it begins at offset \(begin)") }
    let branches = try PendingBranches(storage: storage, zone: number, incarnation: incarnation, head: head)
      .find(before: parting, store.identity)
    guard branches.allSatisfy(\.isContestable) else {
      throw refuse("other transactions than the store's were sent under its sequences")
    }
    if !branches.isEmpty { throw ContestedBranches(branches: branches) }
    try checkFloor(number, incarnation, from: begin, before: parting)
  }

  /// Throws if a snapshot of another store states a floor that the log has not, as far as this store has read it. Floors only
  /// rise, and all that have read equally far have the same.
  ///
  /// - Parameters: as of ``check(_:_:from:before:)``.
  private func checkFloor(
    _ number: ZoneNumber, _ incarnation: IncarnationNumber, from begin: UInt64, before parting: UInt64
  ) throws {
    let token = try storage.zoneRow(number).token?.offset ?? 0
    let last = min(token, manifest.offset, max(1, parting) - 1)
    guard change.mayPart, last >= begin else { return }
    let (known, stated) = try (
      storage.lanes.countedFloor(of: number, incarnation, before: last + 1), manifest.floor ?? 0
    )
    guard last < manifest.offset ? stated >= known : stated == known else {
      throw StoreError(
        .mismatch,
        "the snapshot of zone “\(zone)” at offset \(manifest.offset) states the floor \(stated), and the log up to offset "
          + "\(last) has the floor \(known)",
        hint:
          "another snapshot, or the log, is read instead. If the zone waits, put a new snapshot there with another store"
      )
    }
  }

  private func refuse(_ why: String) -> StoreError {
    StoreError(
      .outOfOrder,
      "the snapshot of zone “\(zone)” at offset \(manifest.offset) cannot be its beginning: \(why)",
      hint: "sync the zone, then try again")
  }

  private func putEntries(
    _ number: ZoneNumber, _ incarnation: IncarnationNumber, _ replicas: [ReplicaNumber]
  ) throws {
    for entry in head.entries {
      let offset = entry.offset
      var row = entry.row
      if let lane = entry.lane {
        row.replica = replicas[lane]
        row.epoch = head.lanes[lane].id.epoch
      }
      if var known = try storage.segments.row(at: offset, in: number, incarnation) {
        let before = known
        known.add(row)
        if known != before { try storage.segments.put(known, in: number, incarnation, at: offset) }
      } else if row.rejection != nil {
        try storage.segments.reject(row, in: number, incarnation, at: offset)
      } else {
        if offset <= head.foldedThrough {
          try storage.segments.placeFolded(before: row, in: number, incarnation, at: offset)
        }
        try storage.segments.place(row, in: number, incarnation, at: offset)
      }
    }
  }
}

extension AssetTable {
  /// Counts each asset that the origin of a zone names, as that of one transaction.
  func countOriginAssets(in counts: inout [AssetName: UInt64]) throws {
    for (zone, _) in try zones.origins() {
      try forEach(of: zone, .inOrigin) { asset, _ in
        counts[AssetName(asset: asset, zone: zone), default: 0] += 1
        return true
      }
    }
  }
}

extension AssetTable where Source == TableStorage {
  /// Counts the assets that a zone's origin names, in place of those that its former one did.
  func setOriginAssets(
    _ assets: Set<AssetReference>, in zone: ZoneNumber, isHere: (AssetReference) throws -> Bool
  ) throws {
    var former: [AssetReference] = []
    try forEach(of: zone, .inOrigin) { asset, _ in
      former.append(asset)
      return true
    }
    let known = Set(former)
    let new = assets.subtracting(known).map { (name: $0.hash.description, asset: $0) }
    for (_, asset) in new.sorted(by: { $0.name < $1.name }) {
      try countName(of: asset, in: zone, isHere: try isHere(asset))
      try setNumber(0, of: asset, in: zone, .inOrigin)
    }
    for asset in former where !assets.contains(asset) {
      _ = try transaction.delete(TableKey.asset(asset, of: zone, .inOrigin).span, in: tables.assets)
      try uncountName(of: asset, in: zone)
    }
  }
}
