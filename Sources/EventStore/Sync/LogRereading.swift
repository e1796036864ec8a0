import LMDB
import OperationFormat

/// Reads a zone's remote log again from an offset, and makes the store agree with it.
struct LogRereading {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  var lanes: LaneRewrite { LaneRewrite(store) }

  init(_ store: StoreTransaction) { self.store = store }

  /// Begins to read a zone's log again from an offset.
  ///
  /// Rejections, closures, placements and rows of segments from the offset on are taken back, and the token
  /// is set before it. No transaction is taken away: the store's own ones that have no placement any more are
  /// pending, those of others wait.
  ///
  /// - Complexity: linear in the segments from the offset on
  func begin(_ zone: ZoneID, from offset: UInt64) throws -> UInt64? {
    let (number, known) = try storage.zone(zone)
    guard let token = known.token else { return nil }
    var row = known
    let tables = storage.tables
    let before = try tables.rereading(of: number, storage.transaction)
    let first = max(1, min(offset, token.offset + 1))
    let own = try storage.makeReplicaNumber(for: identity.replica)
    for lane in try storage.takeBackSegments(of: number, token.incarnation, from: first) {
      let isOwn = lane.replica == own
      try storage.takeBackPlaces(lane.replica, lane.epoch, of: number, token.incarnation, from: first)
      if isOwn && lane.epoch == row.ownEpoch(identity) { continue }
      let key = TableKey.adoptedLane(number, lane.replica, lane.epoch)
      // What was pending of it stays pending.
      if try storage.transaction.contains(key.span, in: tables.replicas) { continue }
      try storage.adoptLane(lane.replica, lane.epoch, of: number)
      if !isOwn { try storage.holdLane(lane.replica, lane.epoch, of: number) }
    }
    // If the remote's log is right, so is its list of zones. No zone is removed because the list does not
    // name it.
    try storage.readZoneListAgain()
    try storage.removeBranches(of: number, token)
    try storage.takeBackClosures(of: number, token.incarnation, from: first)
    try storage.removeCut(of: number)
    let hash = try tables.segment(at: first - 1, in: number, token.incarnation, storage.transaction)?.hash
    row.token = ZoneRow.Token(incarnation: token.incarnation, offset: first - 1, hash: hash ?? .zero)
    storage.setZoneRow(row, number)
    // The base stays until the log was read to its end: transactions that are written before have seen what
    // is stored here.
    let seen = try max(pendingBase(number, row, token), before?.seen ?? 0)
    try storage.setRereading(Rereading(first: min(first, before?.first ?? first), seen: seen), of: number)
    return first
  }

  /// Removes the transactions of a waiting lane that a segment of the log has with other bytes: the log
  /// counts.
  ///
  /// - Returns: whether a lane waited, and differs.
  func yieldLane(of zone: ZoneID, to segment: RemoteSegment) throws -> Bool {
    let (number, row) = try storage.zone(zone)
    guard let token = row.token else { return false }
    let writer = try SegmentRules(storage).lane(of: segment)
    let key = TableKey.heldLane(number, writer.number, writer.epoch)
    guard try storage.transaction.contains(key.span, in: storage.tables.replicas) else { return false }
    let lane = try storage.tables.pendingLane(
      writer.number, writer.epoch, of: number, token, storage.transaction)
    guard let first = try lanes.firstDifferent(from: lane, writer.id, number, in: segment) else {
      return false
    }
    try takeOut(first, of: lane, number)
    // The same transaction may come again from the log.
    if try !isOwnFirstFormer(number, row, token.incarnation) { try store.clipOwnParent(of: number, row) }
    try Rebuild(store).refold(number)
    return true
  }

  /// Brings the store in line with the log, which was read to its end.
  ///
  /// What is in the log comes in the log's order here too, and what is pending behind it, so that folding
  /// meets causes before effects. Of others' transactions that have no placement any more, those that were in
  /// an entry which was given up are pending, and are shipped unchanged. Those that the log does not take, or
  /// has replaced, are removed: the store has what a new one would have. The store's own that had seen what
  /// the log does not have are issued again, with bases that reach no further than what they had seen of it.
  ///
  /// - Returns: how many transactions were taken out.
  /// - Complexity: linear in the transactions from the offset on, in one commit
  func end(_ zone: ZoneID) throws -> Int {
    let (number, row) = try storage.zone(zone)
    let tables = storage.tables
    guard let token = row.token, let rereading = try tables.rereading(of: number, storage.transaction)
    else { return 0 }
    var removed = 0
    let bases = try rereadBases(number, token.incarnation, rereading)
    let givenUp = try givenUpParts(of: number, token.incarnation)
    for held in try tables.heldLanes(of: number, storage.transaction) {
      let lane = try tables.pendingLane(held.replica, held.epoch, of: number, token, storage.transaction)
      guard lane.count > 0 else { continue }
      let isClosed =
        try tables.closure(
          of: held.replica, held.epoch, in: number, token.incarnation, storage.transaction) != nil
      // Whether its first transaction without a placement was in an entry that was given up since.
      let parts = givenUp[Lane(zone: number, replica: held.replica, epoch: held.epoch)] ?? []
      let isGivenUp = parts.contains { $0.contains(lane.placed + 1) }
      let isSeen = try firstRebased(of: lane, number, bases) == nil
      if isClosed || !isGivenUp || !isSeen {
        try takeOut(lane.placed + 1, of: lane, number)
        removed += Int(lane.count)
      }
    }
    try store.clipOwnParent(of: number, row)
    try storage.removeRereading(of: number, token.incarnation)
    try storage.dropShippedLanes(of: number, token.incarnation)
    try reorder(number, token.incarnation, from: rereading.first)
    try rebase(number, token, bases)
    try Rebuild(store).refold(number)
    return removed
  }

  /// Sets the base of new transactions to the log's end, and limits those of pending ones to what they had
  /// seen.
  private func rebase(_ zone: ZoneNumber, _ token: ZoneRow.Token, _ bases: RereadBases) throws {
    var row = try storage.zoneRow(zone)
    row.base = token.offset > 0 ? (token.incarnation, token.offset) : nil
    storage.setZoneRow(row, zone)
    let own = try lanes.ownLanes(of: zone, row, token)
    let cuts = try own.compactMap { lane in
      try firstRebased(of: lane, zone, bases).map { LaneRewrite.LaneCut(lane: lane, first: $0) }
    }
    _ = try lanes.issueAgain(cuts, of: zone) { bases.rebased($0) }
    for found in try storage.tables.adoptedLanes(of: zone, storage.transaction)
    where found.replica != own.last?.replica {
      let lane = try storage.tables.pendingLane(
        found.replica, found.epoch, of: zone, token, storage.transaction)
      let known = try storage.tables.contest(
        of: lane.replica, lane.epoch, in: zone, token, storage.transaction)
      let knownFirst = known.map { max($0.first, lane.placed + 1) }
      let found = try firstRebased(of: lane, zone, bases)
      guard lane.count > 0, let first = [knownFirst, found].compactMap({ $0 }).min(),
        let entry = try store.entry(lane.replica, lane.epoch, first, zone)
      else { continue }
      // Later transactions have seen no less.
      let limit = entry.header.base.flatMap {
        bases.rebased(($0.incarnation, min($0.offset, known?.baseMax ?? .max)))?.offset
      }
      try storage.contest(
        Lane(zone: zone, replica: lane.replica, epoch: lane.epoch),
        .byBase(from: first, baseMax: limit ?? 0))
    }
  }

  /// The greatest offset that the zone, or anything pending of it, has seen.
  private func pendingBase(_ zone: ZoneNumber, _ row: ZoneRow, _ token: ZoneRow.Token) throws -> UInt64 {
    let lanes = try storage.tables.pendingLanes(
      of: zone, row, identity, storage.interned, storage.transaction)
    // In a lane they never go back.
    let bases = try [row.base] + lanes.map { try storage.base(of: $0.replica, $0.epoch, $0.last, in: zone) }
    return bases.reduce(0) { seen, base in
      base.map { $0.incarnation == token.incarnation ? max(seen, $0.offset) : seen } ?? seen
    }
  }

  /// The sequences in entries that were given up since, by lane.
  ///
  /// - Complexity: linear in the segments that were read again
  private func givenUpParts(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> [Lane: [ClosedRange<UInt64>]] {
    let tables = storage.tables
    var parts: [Lane: [ClosedRange<UInt64>]] = [:]
    try tables.forEachFormerSegment(in: zone, incarnation, storage.transaction) { offset, former in
      let found = try tables.segment(at: offset, in: zone, incarnation, storage.transaction)
      guard found?.isQuarantined ?? false, former.first <= former.last else { return }
      let lane = Lane(zone: zone, replica: former.replica, epoch: former.epoch)
      parts[lane, default: []].append(former.first...former.last)
    }
    return parts
  }

  /// Whether this store's first transaction of its own lane was in the log before it was read again.
  private func isOwnFirstFormer(
    _ zone: ZoneNumber, _ row: ZoneRow, _ incarnation: IncarnationNumber
  ) throws -> Bool {
    let (tables, epoch) = (storage.tables, row.ownEpoch(identity))
    let own = try storage.replicaNumber(of: identity.replica)
    var isFormer = false
    try tables.forEachFormerSegment(in: zone, incarnation, storage.transaction) { _, former in
      isFormer = isFormer || former.replica == own && former.epoch == epoch && former.first == 1
    }
    return isFormer
  }

  /// Removes a lane's transactions from the log, from one on. What the lane continues stays known until its
  /// first transaction comes again.
  private func takeOut(_ first: UInt64, of lane: PendingLane, _ zone: ZoneNumber) throws {
    guard first <= lane.last else { return }
    let positions = try (first...lane.last).map { try position($0, of: lane.replica, lane.epoch, zone) }
    for position in positions { try store.uncountAssets(at: position, in: zone) }
    try lanes.takeOut(positions, first, of: lane, zone)
  }

  private func position(
    _ sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ zone: ZoneNumber
  ) throws -> Position {
    let found = try storage.tables.position(of: replica, epoch, sequence, in: zone, storage.transaction)
    if let found { return found }
    throw StoreError(
      .damaged, "sequence \(sequence) of zone number \(zone.rawValue) has no position",
      hint: StoreError.damageHint)
  }

  /// Sorts a zone's transactions from an offset on into the order of its remote log, with pending ones at the
  /// end.
  private func reorder(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, from first: UInt64
  ) throws {
    let tables = storage.tables
    var order: [Position] = []
    try tables.forEachSegment(in: zone, incarnation, from: first, storage.transaction) { offset, row in
      guard row.rejection == nil, !row.isQuarantined else { return }
      var next = row.first
      while next <= row.last {
        let place = try tables.placement(
          of: row.replica, row.epoch, next, in: zone, incarnation, storage.transaction)
        guard let place else { return }
        if place.offset == offset {
          for sequence in next...min(place.last, row.last) {
            order.append(try position(sequence, of: row.replica, row.epoch, zone))
          }
        }
        next = place.last + 1
      }
    }
    var pending: [Position] = []
    for lane in try tables.lanes(of: zone, storage.transaction) {
      let placed = try tables.lastPlaced(
        lane.replica, lane.epoch, in: zone, incarnation, storage.transaction)
      guard placed < lane.last else { continue }
      for sequence in placed + 1...lane.last {
        pending.append(try position(sequence, of: lane.replica, lane.epoch, zone))
      }
    }
    order += pending.sorted()
    // Transactions that are in order already keep their position.
    var least = order
    for index in least.indices.dropLast().reversed() { least[index] = min(least[index], least[index + 1]) }
    let kept = zip(order, least).prefix { $0 == $1 }.count
    let reader = storage.logReader
    for position in order[kept...] {
      let (header, body) = try reader.withEntry(at: position, storage.transaction) { ($0, $1.bytes) }
      try storage.removeEntries(position...position)
      _ = try storage.append(header, body: body.span.bytes)
    }
    storage.forgetSequences()
  }

  /// Compares the log that was read again with what was folded before.
  ///
  /// - Complexity: linear in the segments that were read again, and in those that were there before
  func rereadBases(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ rereading: Rereading
  ) throws -> RereadBases {
    let tables = storage.tables
    var former: [ContentHash: UInt64] = [:]
    try tables.forEachFormerSegment(in: zone, incarnation, storage.transaction) { offset, row in
      former[row.hash] = min(former[row.hash] ?? .max, offset)
    }
    var bases = RereadBases(incarnation: incarnation, first: rereading.first, seen: rereading.seen)
    try tables.forEachSegment(in: zone, incarnation, from: rereading.first, storage.transaction) { _, row in
      let isEmpty = row.rejection != nil || row.isQuarantined
      bases.append(seenAt: isEmpty ? 0 : former[row.hash])
    }
    return bases
  }

  /// The first pending transaction of a lane that had seen what the log does not have; nil if none had.
  func firstRebased(of lane: PendingLane, _ zone: ZoneNumber, _ bases: RereadBases) throws -> UInt64? {
    guard lane.placed < lane.last else { return nil }
    for sequence in lane.placed + 1...lane.last {
      guard let entry = try store.entry(lane.replica, lane.epoch, sequence, zone) else { continue }
      if bases.changes(entry.header.base) { return sequence }
    }
    return nil
  }
}

extension Tables {
  /// From where a zone's log is being read again; nil if it is not.
  func rereading(of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction) throws -> Rereading? {
    try transaction.withCheckedValue(of: .rereading(zone), in: replicas) { row in
      var reader = ByteReader(row)
      let first = try reader.readVarint("rereading")
      // An earlier version wrote only the first offset.
      return Rereading(first: first, seen: reader.remaining > 0 ? try reader.readVarint("rereading") : .max)
    }
  }

  /// The lanes of others whose places were taken back.
  fileprivate func heldLanes(
    of zone: ZoneNumber, _ transaction: borrowing LMDBTransaction
  ) throws -> [(replica: ReplicaNumber, epoch: UInt32)] {
    try lanes(under: .heldLanes(zone), transaction).filter { $0.replica != .none }
  }
}
