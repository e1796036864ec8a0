import LMDB
import OperationFormat

/// Reads a zone's remote log again from an offset, and makes the store agree with it.
struct LogRereading {
  let store: StoreTransaction
  var storage: TableStorage { store.storage }
  var identity: StoreIdentity { store.identity }

  var laneRewrite: LaneRewrite { LaneRewrite(store) }

  init(_ store: StoreTransaction) { self.store = store }

  /// Begins to read a zone's log again from an offset.
  ///
  /// Rejections, closures, placements and rows of segments from the offset on are taken back, and the token
  /// is set before it. No transaction is taken away: the store's own ones that have no placement any more are
  /// pending, those of others wait.
  ///
  /// - Parameter isParted: whether the log has something else from the offset on. Then all that the store has stays, and
  ///   is offered again: see ``BaseLimits``.
  /// - Parameter keepsOrigin: whether the zone's records begin with the same snapshot as before.
  /// - Parameter same: the offset up to which a log that has parted is still what was read.
  /// - Throws: ``StoreError`` `retired` if they do, and the offset is not behind that.
  /// - Complexity: linear in the segments from the offset on
  func begin(
    _ zone: ZoneID, from offset: UInt64, isParted: Bool = false, keepsOrigin: Bool = true,
    sameThrough same: UInt64 = 0
  ) throws -> UInt64? {
    let (number, known) = try storage.zones.visible(zone)
    guard let token = known.token else { return nil }
    var row = known
    let tables = storage.tables
    let before = try storage.lanes.rereading(of: number)
    let first = max(1, min(offset, token.offset + 1))
    if keepsOrigin, let origin = try storage.zones.origin(of: number), first <= origin.offset {
      throw StoreError.readAgainBeforeOrigin(zone, from: first, origin.offset)
    }
    // What only the origin has is in no place of the log until the next one is there.
    var seen = try max(keepsOrigin ? 0 : pendingBase(number, row, token), before?.seen ?? 0)
    let isParted = isParted || before?.isParted ?? false
    let last = max(first - 1, same)
    if isParted { try limitBases(of: number, token.incarnation, to: last) }
    let own = try storage.replicas.makeNumber(for: identity.replica)
    let written = try storage.lanes.writtenHere(in: number, row, identity)
    try storage.formerTimes.keep(of: number, token.incarnation, from: first)
    for lane in try storage.segments.takeBack(of: number, token.incarnation, from: first) {
      let isOwn = lane.replica == own
      try storage.placements.takeBack(lane.replica, lane.epoch, of: number, token.incarnation, from: first)
      if isOwn && lane.epoch == row.ownEpoch(identity) { continue }
      let key = TableKey.adoptedLane(number, lane.replica, lane.epoch)
      // What was pending of it stays pending.
      if try storage.transaction.contains(key.span, in: tables.replicas) { continue }
      try storage.lanes.adopt(lane.replica, lane.epoch, of: number)
      if isOwn { continue }
      // What this store wrote under a former identity, nobody else may have.
      let name = StoreIdentity(replica: try storage.replicaID(lane.replica), epoch: lane.epoch)
      let last = try storage.lastSequence(of: lane.replica, lane.epoch, in: number)
      if written.lastSequence(in: name) < last {
        try storage.lanes.hold(lane.replica, lane.epoch, of: number)
      }
    }
    // A user who says that the remote is right means its list of zones too. No zone goes because the list
    // does not name it.
    try storage.meta.readZoneListAgain()
    try storage.lanes.removeBranches(of: number, token)
    try storage.lanes.takeBackClosures(of: number, token.incarnation, from: first)
    try storage.lanes.takeBackFloors(of: number, token.incarnation, from: first)
    try storage.zones.removeCut(of: number)
    let hash = try storage.segments.row(at: first - 1, in: number, token.incarnation)?.hash
    row.token = ZoneRow.Token(incarnation: token.incarnation, offset: first - 1, hash: hash ?? .zero)
    // The base stays until the log was read to its end: transactions that are written before have seen what
    // is stored here. What the log has lost, they cannot say that they have seen.
    if keepsOrigin { seen = max(seen, try pendingBase(number, row, token)) }
    if isParted { row.base = last > 0 ? (token.incarnation, last) : nil }
    storage.setZoneRow(row, number)
    // What is folded again knows the floors up to the former token.
    if row.building != .none { try Rebuild(store).start(of: number) }
    try storage.lanes.setRereading(
      Rereading(first: min(first, before?.first ?? first), seen: seen, isParted: isParted), of: number)
    return first
  }

  /// Limits what the transactions of a zone had seen of a log, where they had seen more.
  ///
  /// - Complexity: linear in the transactions that are in no entry up to there, and in the lanes
  private func limitBases(
    of zone: ZoneNumber, _ incarnation: IncarnationNumber, to last: UInt64
  ) throws {
    for found in try storage.lanes.countedLanes(of: zone) {
      let lane = Lane(zone: zone, replica: found.replica, epoch: found.epoch)
      let placed = try storage.placements.lastPlaced(
        lane.replica, lane.epoch, in: zone, incarnation, before: last + 1)
      try limitBases(of: lane, after: placed, through: found.last) { base in
        base.incarnation == incarnation && base.offset > last ? (incarnation, last) : base
      }
    }
  }

  /// Limits what a lane's transactions had seen, from a sequence on.
  ///
  /// - Parameter limited: what one has seen that had seen so much; nil for nothing.
  private func limitBases(
    of lane: Lane, after sequence: UInt64, through last: UInt64, _ limited: (BaseNumbers) -> BaseNumbers?
  ) throws {
    let first = try max(sequence, storage.retired(lane)) + 1
    guard first <= last else { return }
    for sequence in first...last {
      guard let base = try storage.base(of: lane.replica, lane.epoch, sequence, in: lane.zone) else {
        continue
      }
      let limit = limited(base)
      if limit?.offset == base.offset { continue }
      try storage.baseLimits.set((base.incarnation, limit?.offset ?? 0), of: lane, sequence...sequence)
    }
  }

  /// Removes the transactions of a waiting lane that a segment of the log has with other bytes: the log
  /// counts.
  ///
  /// - Returns: whether a lane waited, and differs.
  func yieldLane(of zone: ZoneID, to segment: RemoteSegment) throws -> Bool {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token else { return false }
    let writer = try SegmentRules(storage).lane(of: segment)
    let key = TableKey.heldLane(number, writer.number, writer.epoch)
    guard try storage.transaction.contains(key.span, in: storage.tables.replicas) else { return false }
    let lane = try storage.lanes.pendingLane(writer.number, writer.epoch, of: number, token)
    guard let first = try laneRewrite.firstDifferent(from: lane, writer.id, number, in: segment) else {
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
  /// the log does not have are limited to what they had seen of it: see ``BaseLimits``.
  ///
  /// In a log that has parted, all that it lacks is pending, unless it has closed the lane.
  ///
  /// - Returns: how many transactions were taken out.
  /// - Complexity: linear in the transactions from the offset on, in one commit
  func end(_ zone: ZoneID) throws -> Int {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token, let rereading = try storage.lanes.rereading(of: number)
    else { return 0 }
    var removed = 0
    let bases = try rereadBases(number, token.incarnation, rereading)
    let givenUp = try givenUpParts(of: number, token.incarnation)
    for held in try storage.lanes.held(of: number) {
      let lane = try storage.lanes.pendingLane(held.replica, held.epoch, of: number, token)
      guard lane.count > 0 else { continue }
      let isClosed =
        try storage.lanes.closure(of: held.replica, held.epoch, in: number, token.incarnation) != nil
      // Whether its first transaction without a place lay in an entry which was given up since.
      let parts = givenUp[Lane(zone: number, replica: held.replica, epoch: held.epoch)] ?? []
      let isGivenUp = parts.contains { $0.contains(lane.placed + 1) }
      let isSeen = try firstRebased(of: lane, number, bases) == nil
      if isClosed || !rereading.isParted && (!isGivenUp || !isSeen) {
        try takeOut(lane.placed + 1, of: lane, number)
        removed += Int(lane.count)
      }
    }
    try store.clipOwnParent(of: number, row)
    try storage.lanes.removeRereading(of: number, token.incarnation, keepsHeld: rereading.isParted)
    try storage.formerTimes.forgetPlaced(of: number, token.incarnation)
    try storage.lanes.dropShipped(of: number, token.incarnation)
    try reorder(number, token.incarnation, from: rereading.first)
    try raiseBase(of: number, to: token)
    if rereading.isParted {
      let isPending = try storage.lanes.pendingCount(in: number, row, identity) > 0
      try storage.lanes.setSnapshotNeeded(behind: isPending ? token.offset : rereading.first - 1, in: number)
    } else {
      try rebase(number, token, bases)
    }
    try Rebuild(store).refold(number)
    return removed
  }

  /// Removes what is pending of others' lanes that a log had lost, and that it has closed since: their writers issue it
  /// again.
  ///
  /// - Returns: how many transactions were taken out.
  func letGoOfClosedLanes(of zone: ZoneID) throws -> Int {
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token, try storage.lanes.rereading(of: number) == nil else { return 0 }
    var removed = 0
    for held in try storage.lanes.closedHeld(of: number, token.incarnation) {
      let lane = try storage.lanes.pendingLane(held.replica, held.epoch, of: number, token)
      try takeOut(lane.placed + 1, of: lane, number)
      removed += Int(lane.count)
      try storage.lanes.dropIfShipped(held.replica, held.epoch, of: number, token.incarnation)
    }
    guard removed > 0 else { return 0 }
    try store.clipOwnParent(of: number, row)
    try storage.zones.removeCut(of: number)
    try Rebuild(store).refold(number)
    return removed
  }

  /// Sets the base of new transactions to the log's end.
  private func raiseBase(of zone: ZoneNumber, to token: ZoneRow.Token) throws {
    var row = try storage.zoneRow(zone)
    row.base = token.offset > 0 ? (token.incarnation, token.offset) : nil
    storage.setZoneRow(row, zone)
  }

  /// Limits the bases of pending transactions to what they had seen.
  private func rebase(_ zone: ZoneNumber, _ token: ZoneRow.Token, _ bases: RereadBases) throws {
    let row = try storage.zoneRow(zone)
    let own = try laneRewrite.ownLanes(of: zone, row, token)
    for lane in own {
      let name = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
      try limitBases(of: name, after: lane.placed, through: lane.last) { bases.rebased($0) }
    }
    for found in try storage.lanes.adopted(of: zone)
    where found.replica != own.last?.replica {
      let lane = try storage.lanes.pendingLane(found.replica, found.epoch, of: zone, token)
      let known = try storage.lanes.contest(of: lane.replica, lane.epoch, in: zone, token)
      let knownFirst = known.map { max($0.first, lane.placed + 1) }
      let found = try firstRebased(of: lane, zone, bases)
      guard lane.count > 0, let first = [knownFirst, found].compactMap({ $0 }).min(),
        let entry = try store.entry(lane.replica, lane.epoch, first, zone)
      else { continue }
      // Later transactions have seen no less.
      let limit = try storage.baseLimits.base(of: entry.header).flatMap {
        bases.rebased(($0.incarnation, min($0.offset, known?.baseMax ?? .max)))?.offset
      }
      try storage.lanes.setContest(
        Lane(zone: zone, replica: lane.replica, epoch: lane.epoch),
        .byBase(from: first, baseMax: limit ?? 0))
    }
  }

  /// The greatest offset that the zone, or anything pending of it, has seen.
  private func pendingBase(_ zone: ZoneNumber, _ row: ZoneRow, _ token: ZoneRow.Token) throws -> UInt64 {
    let lanes = try storage.lanes.pendingLanes(of: zone, row, identity)
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
    var parts: [Lane: [ClosedRange<UInt64>]] = [:]
    try storage.segments.forEachFormer(in: zone, incarnation) { offset, former in
      let found = try storage.segments.row(at: offset, in: zone, incarnation)
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
    let epoch = row.ownEpoch(identity)
    let own = try storage.replicaNumber(of: identity.replica)
    var isFormer = false
    try storage.segments.forEachFormer(in: zone, incarnation) { _, former in
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
    try laneRewrite.takeOut(positions, first, of: lane, zone)
  }

  private func position(
    _ sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ zone: ZoneNumber
  ) throws -> Position {
    let found = try storage.log.position(of: replica, epoch, sequence, in: zone)
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
    var order: [Position] = []
    try storage.segments.forEach(in: zone, incarnation, from: first) { offset, row in
      guard row.rejection == nil, !row.isQuarantined else { return }
      var next = row.first
      while next <= row.last {
        let place = try storage.placements.placement(of: row.replica, row.epoch, next, in: zone, incarnation)
        guard let place else { return }
        if place.offset == offset {
          let lane = Lane(zone: zone, replica: row.replica, epoch: row.epoch)
          for sequence in next...min(place.last, row.last) where try storage.retired(lane) < sequence {
            order.append(try position(sequence, of: row.replica, row.epoch, zone))
          }
        }
        next = place.last + 1
      }
    }
    var pending: [Position] = []
    for lane in try storage.lanes.countedLanes(of: zone) {
      let placed = try storage.placements.lastPlaced(lane.replica, lane.epoch, in: zone, incarnation)
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
    var left = order[kept...]
    var moves: [Position: Position] = [:]
    while !left.isEmpty {
      var moved: [(header: LogEntryHeader, body: [UInt8])] = []
      var byteCount = 0
      while byteCount < LogReplay.stepBytesMax, moved.count < left.count {
        let entry = try storage.log.withEntry(at: left[left.startIndex + moved.count]) { ($0, $1.bytes) }
        byteCount += entry.1.count
        moved.append(entry)
      }
      try storage.log.remove(Array(left.prefix(moved.count)))
      for (position, entry) in zip(left, moved) {
        moves[position] = try storage.log.append(entry.header, body: entry.body.span.bytes)
      }
      left = left.dropFirst(moved.count)
    }
    try storage.meta.moveUndos(moves)
    storage.forgetSequences()
  }

  /// Compares the log that was read again with what was folded before.
  ///
  /// - Complexity: linear in the segments that were read again, and in those that were there before
  func rereadBases(
    _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ rereading: Rereading
  ) throws -> RereadBases {
    var former: [ContentHash: UInt64] = [:]
    try storage.segments.forEachFormer(in: zone, incarnation) { offset, row in
      former[row.hash] = min(former[row.hash] ?? .max, offset)
    }
    var bases = RereadBases(incarnation: incarnation, first: rereading.first, seen: rereading.seen)
    try storage.segments.forEach(in: zone, incarnation, from: rereading.first) { _, row in
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
      if try bases.changes(storage.baseLimits.base(of: entry.header)) { return sequence }
    }
    return nil
  }
}
