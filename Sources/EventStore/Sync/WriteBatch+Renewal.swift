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
    try await performIfFolded { try $0.renewLane(of: zone, contestedBy: segment) }
  }

  /// Folds the log again after ``renewLane(of:contestedBy:)``, unless that was done. If it is cut short, the next call or
  /// the next opening of the store goes on.
  package func finishRenewal() async throws {
    guard try read({ try $0.isFoldingAgain() }) else { return }
    _ = try await rebuild({ try $0.resumeRebuild() }, checksPages: false)
  }

  /// Does something to a store whose records are not behind its log: folds it again before, if they are.
  func performFolded<R: Sendable>(_ body: @escaping @Sendable (WriteBatch) throws -> R) async throws -> R {
    try await performIfFolded { .some(try body($0)) }!
  }

  /// As ``performFolded(_:)``; a body that gives nil has changed nothing.
  private func performIfFolded<R: Sendable>(
    _ body: @escaping @Sendable (WriteBatch) throws -> R?
  ) async throws -> R? {
    while true {
      do {
        return try await performIfChanged { batch in
          if try batch.isFoldingAgain { throw Behind() }
          return try body(batch)
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
    try tables.unfoldedKinds(transaction).contains(where: \.isKnown)
  }

  fileprivate func isOwnLaneClosed(of zone: ZoneID) throws -> Bool {
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
  /// Whether the first transaction of a lane is pending, and names another parent than the lane has since transactions were
  /// taken out of the log.
  fileprivate func namesClippedParent(
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

extension WriteBatch {
  func renewLane(of zone: ZoneID, contestedBy segment: RemoteSegment?) throws -> Int? {
    let (number, known) = try storage.zone(zone)
    guard let token = known.token else { return nil }
    for lane in try ownLanes(of: number, known, token) {
      guard let first = try firstLost(of: lane, number, token.incarnation, segment) else { continue }
      return try issueAgain([LaneCut(lane: lane, first: first)], of: number)
    }
    return nil
  }

  var isFoldingAgain: Bool { get throws { try storage.unfoldedKinds().contains(where: \.isKnown) } }

  /// Begins to fold the log again, which has changed behind the fold. ``LocalStore/finishRenewal()`` ends it.
  ///
  /// - Parameter zone: whose part of it has changed.
  func foldAgain(_ zone: ZoneNumber) throws {
    try storage.setUnfoldedKinds(storage.unfoldedKinds().union([.set]))
    try startRebuild(of: zone)
  }

  /// The first own transaction that the log cannot take; nil if it can take all.
  private func firstLost(
    of lane: PendingLane, _ zone: ZoneNumber, _ incarnation: IncarnationNumber, _ segment: RemoteSegment?
  ) throws -> UInt64? {
    if try storage.tables.closure(
      of: lane.replica, lane.epoch, in: zone, incarnation, storage.transaction) != nil
    {
      return lane.placed + 1
    }
    if try storage.tables.namesClippedParent(
      lane.replica, lane.epoch, in: zone, incarnation, storage.interned, storage.transaction)
    {
      return 1
    }
    let id = StoreIdentity(replica: identity.replica, epoch: lane.epoch)
    return try segment.flatMap { try firstDifferent(from: lane, id, zone, in: $0) }
  }

  /// The first pending transaction of a lane that a segment has with other bytes; nil if it has none, or is another's.
  func firstDifferent(
    from lane: PendingLane, _ id: StoreIdentity, _ zone: ZoneNumber, in segment: RemoteSegment
  ) throws -> UInt64? {
    for bytes in segment.transactions {
      var reader = ByteReader(bytes.span.bytes)
      let header = try TransactionHeader.read(from: &reader)
      guard header.replica == id.replica, header.epoch == id.epoch else { return nil }
      guard header.sequence > lane.placed,
        let entry = try entry(lane.replica, lane.epoch, header.sequence, zone)
      else { continue }
      let body = bytes.span.bytes.extracting(reader.position...)
      if try !isSame(header, body, as: entry) { return header.sequence }
    }
    return nil
  }

  /// A transaction that the log does not take as it is.
  struct LostEntry {
    var position: Position
    var header: LogEntryHeader
    var body: [UInt8]
  }

  /// Appends transactions to the log once more, as those of another lane. They are folded with the log.
  ///
  /// - Parameters:
  ///   - seen: what they have seen at least.
  ///   - rebased: gives another base to what had seen something that the log does not have.
  func append(
    _ entries: [LostEntry], as replica: ReplicaNumber, _ epoch: UInt32, _ parent: LaneParent?,
    atLeast seen: BaseNumbers? = nil, rebased: (BaseNumbers) -> BaseNumbers? = { $0 }
  ) throws {
    for (index, entry) in entries.enumerated() {
      var header = LogEntryHeader(
        zone: entry.header.zone, replica: replica, epoch: epoch, sequence: UInt64(index) + 1,
        base: entry.header.base.flatMap(rebased), parent: index == 0 ? parent : nil,
        arrivalDelay: entry.header.arrivalDelay)
      header.raiseBase(to: seen)
      _ = try storage.append(header, body: entry.body.span.bytes)
    }
  }

  /// A lane's transactions from one on.
  func entries(_ first: UInt64, of lane: PendingLane, _ zone: ZoneNumber) throws -> [LostEntry] {
    guard first <= lane.last else { return [] }
    return try (first...lane.last).map { sequence in
      guard let (header, body) = try entry(lane.replica, lane.epoch, sequence, zone),
        let position = try storage.tables.position(
          of: lane.replica, lane.epoch, sequence, in: zone, storage.transaction)
      else { throw StoreError.missing(sequence, try storage.zoneID(zone)) }
      return LostEntry(position: position, header: header, body: body)
    }
  }

  /// Transactions as those of another lane say the same: what they have inserted into lists and texts has other names
  /// there.
  ///
  /// - Parameter earlier: what is renamed besides, of lanes that this one continues.
  func renamed(
    _ entries: [LostEntry], _ lane: PendingLane, _ maker: UnitMaker, _ state: StateNumber,
    after earlier: UnitRenamings = UnitRenamings()
  ) throws -> (entries: [LostEntry], renaming: UnitRenaming) {
    let reader = LogReader(storage.tables, storage.interned)
    let transactions = try entries.map { try reader.entry(at: $0.position, storage.transaction).transaction }
    let renaming = try UnitRenaming(of: maker, in: transactions) { record, field, isText in
      guard try fold.find(Array(record.rawValue.utf8).span.bytes, in: state) else { return 0 }
      let cell = CellNumber(try internName(field), isText ? .text : .list)
      return try fold.sequence(of: cell).nextNumber(of: lane.replica, lane.epoch)
    }
    var renamings = earlier
    renamings.add(renaming)
    return (try renamed(entries, renamings), renaming)
  }

  /// Transactions with their units renamed.
  ///
  /// - Complexity: linear in the transactions, and in the renamings of lanes whose units each one names.
  func renamed(_ entries: [LostEntry], _ renamings: UnitRenamings) throws -> [LostEntry] {
    guard !entries.isEmpty, !renamings.isEmpty else { return entries }
    let logReader = LogReader(storage.tables, storage.interned)
    return try entries.map { entry in
      var (renamed, transaction) = (
        entry, try logReader.entry(at: entry.position, storage.transaction).transaction
      )
      let before = transaction.operations
      for renaming in renamings.renamings(of: before) {
        transaction.operations = renaming.renamed(transaction.operations) ?? transaction.operations
      }
      if transaction.operations == before { return entry }
      let bytes = try transaction.encoded()
      var reader = ByteReader(bytes.span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      renamed.body = bytes.span.bytes.extracting(reader.position...).bytes
      try checkFolds(renamed.body)
      return renamed
    }
  }

  /// Refuses what nobody would fold. What a store wrote has room for its units' new names; what it imported may not.
  private func checkFolds(_ body: [UInt8]) throws {
    var (layout, work) = (BodyDecoder(), FoldWork())
    try layout.parse(body.span.bytes)
    work.add(layout, body.span.bytes)
    guard work.steps > Limits.foldStepsMax else { return }
    throw StoreError.tooMuchWork("a transaction that is issued again", work.steps)
  }

  /// Takes a lane's transactions from one on out of the log.
  func takeOut(
    _ positions: [Position], _ first: UInt64, of lane: PendingLane, _ zone: ZoneNumber
  ) throws {
    fold.reset()
    for (index, position) in positions.enumerated() {
      let key = TableKey.sequence(zone, lane.replica, lane.epoch, first + UInt64(index))
      _ = try storage.transaction.delete(key.span, in: storage.tables.sequences)
      try storage.removeEntries(position...position)
    }
    storage.forgetSequences()
  }

  /// The least epoch of a replica after its own that nothing in a zone is of: others can use some up, never the ones between.
  ///
  /// - Complexity: linear in the epochs after its own that are used
  ///
  /// - Parameter last: one that the same commit got, if any: those before it are not looked at again.
  func nextEpoch(
    of replica: ReplicaNumber, _ zone: ZoneNumber, _ incarnation: IncarnationNumber, after last: UInt32? = nil
  ) throws -> UInt32 {
    var epoch = try last ?? storage.zoneRow(zone).ownEpoch(identity)
    while epoch < .max {
      epoch += 1
      if try storage.lastSequence(of: replica, epoch, in: zone) == 0,
        try storage.tables.closure(of: replica, epoch, in: zone, incarnation, storage.transaction) == nil
      {
        return epoch
      }
    }
    throw StoreError(
      .laneClosed, "all epochs of this store are used up in zone “\(try storage.zoneID(zone))”",
      hint: "export the log and import it into a new store")
  }
}

extension TableStorage {
  fileprivate func zoneID(_ number: ZoneNumber) throws -> ZoneID {
    try interned.zones.identity(of: number, in: tables.zones, transaction)
  }
}
