import LMDB
import OperationFormat

/// Removes transactions from the log, and appends them as those of another lane.
extension LaneRewrite {
  /// The first pending transaction of a lane that a segment has with other bytes; nil if it has none, or is
  /// another's.
  func firstDifferent(
    from lane: PendingLane, _ id: StoreIdentity, _ zone: ZoneNumber, in segment: RemoteSegment
  ) throws -> UInt64? {
    for bytes in segment.transactions {
      var reader = ByteReader(bytes.span.bytes)
      let header = try TransactionHeader.read(from: &reader, in: segment.zone)
      guard header.replica == id.replica, header.epoch == id.epoch else { return nil }
      guard header.sequence > lane.placed,
        let entry = try store.entry(lane.replica, lane.epoch, header.sequence, zone)
      else { continue }
      let body = bytes.span.bytes.extracting(reader.position...)
      if try !store.isSame(header, body, as: entry) { return header.sequence }
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
    var moves: [Position: Position] = [:]
    for (index, entry) in entries.enumerated() {
      var header = LogEntryHeader(
        zone: entry.header.zone, replica: replica, epoch: epoch, sequence: UInt64(index) + 1,
        base: entry.header.base.flatMap(rebased), parent: index == 0 ? parent : nil,
        arrivalDelay: entry.header.arrivalDelay)
      header.raiseBase(to: seen)
      moves[entry.position] = try storage.log.append(header, body: entry.body.span.bytes)
      try store.decoder.parse(entry.body.span.bytes)
      if let floor = store.decoder.floor { try storage.lanes.noteFloor(floor, of: header) }
    }
    try storage.meta.moveUndos(moves)
  }

  /// A lane's transactions from one on, with what they have seen as their bases.
  func entries(_ first: UInt64, of lane: PendingLane, _ zone: ZoneNumber) throws -> [LostEntry] {
    guard first <= lane.last else { return [] }
    return try (first...lane.last).map { sequence in
      guard let (found, body) = try store.entry(lane.replica, lane.epoch, sequence, zone),
        let position = try storage.log.position(of: lane.replica, lane.epoch, sequence, in: zone)
      else { throw StoreError.missing(sequence, try storage.zoneNumbers.identity(of: zone)) }
      var header = found
      header.base = try storage.baseLimits.base(of: header)
      return LostEntry(position: position, header: header, body: body)
    }
  }

  /// Transactions as those of another lane say the same: what they have inserted into lists and texts has
  /// other names there.
  ///
  /// - Parameter earlier: the renamings of lanes that this one continues.
  func renamed(
    _ entries: [LostEntry], _ lane: PendingLane, _ maker: UnitMaker, _ state: StateNumber,
    after earlier: UnitRenamings = UnitRenamings()
  ) throws -> (entries: [LostEntry], renaming: UnitRenaming) {
    let reader = storage.logReader
    let transactions = try entries.map { try reader.entry(at: $0.position).transaction }
    let renaming = try UnitRenaming(of: maker, in: transactions) { record, field, isText in
      guard try store.fold.load(Array(record.rawValue.utf8).span.bytes, in: state) else { return 0 }
      let cell = CellNumber(try store.internName(field), isText ? .text : .list)
      return try store.fold.unitOrder(of: cell).nextNumber(of: lane.replica, lane.epoch)
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
    let logReader = storage.logReader
    return try entries.map { entry in
      var (renamed, transaction) = (
        entry, try logReader.entry(at: entry.position).transaction
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
      try Self.checkFolds(renamed.body)
      return renamed
    }
  }

  /// Refuses a transaction that no replica would fold. What a store wrote has room for its units' new names;
  /// what it imported may not.
  static func checkFolds(_ body: [UInt8]) throws {
    var (decoder, work) = (BodyDecoder(), FoldWork())
    try decoder.parse(body.span.bytes)
    work.add(decoder, body.span.bytes)
    guard work.steps > Limits.foldStepsMax else { return }
    throw StoreError.tooMuchWork("a transaction that is issued again", work.steps)
  }

  /// Removes a lane's transactions from the log, from one on.
  ///
  /// - Parameter comeAgain: whether they come again under the same name.
  func takeOut(
    _ positions: [Position], _ first: UInt64, of lane: PendingLane, _ zone: ZoneNumber,
    comeAgain: Bool = false
  ) throws {
    store.fold.reset()
    if !positions.isEmpty {
      let lane = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
      if !comeAgain { try storage.lanes.endReissue(of: lane, before: first) }
      let sequences = first...first + UInt64(positions.count - 1)
      try storage.log.removeSequences(sequences, of: lane)
      try storage.log.remove(positions)
      try storage.baseLimits.set(nil, of: lane, sequences)
    }
    storage.forgetSequences()
  }

  /// The least epoch of a replica after its own that nothing in a zone is of: others can use some up, never
  /// the ones between.
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
        try storage.lanes.closure(of: replica, epoch, in: zone, incarnation) == nil
      {
        return epoch
      }
    }
    throw StoreError(
      .laneClosed,
      "all epochs of this store are used up in zone “\(try storage.zoneNumbers.identity(of: zone))”",
      hint: "export the log and import it into a new store")
  }

  /// Notes that transactions were issued again, for good.
  ///
  /// - Parameter branch: where the log has others under their sequences; nil where it only took no more.
  func noteReissue(
    of old: Lane, from first: UInt64, _ count: Int, _ branch: BaseNumbers?, as new: Lane
  ) throws {
    let reissue = ReissuedLane(
      former: old, first: first, count: UInt64(count), branch: branch, milliseconds: store.wallMilliseconds())
    try storage.lanes.setReissue(reissue, of: new)
  }

  /// Notes that a zone's records have other names for a lane, from a sequence on, and for its units than the
  /// log now has.
  func note(_ units: UnitRenaming, from first: UInt64, of old: Lane, as new: Lane) throws {
    try storage.lanes.addRenaming(LaneRenaming(old: old, new: new, shift: first - 1))
    let state = try storage.zoneRow(old.zone).state
    for (cell, kept) in units.kept
    where try store.fold.load(Array(cell.record.rawValue.utf8).span.bytes, in: state) {
      let number = CellNumber(try store.internName(cell.field), cell.isText ? .text : .list)
      try storage.lanes.setKeptUnits(kept, of: old, try store.fold.recordNumber, number)
    }
  }
}
