import LMDB
import OperationFormat

extension ReadTransaction {
  /// The next segment to ship of a zone: the stored cut, or a proposal that is not stored; nil if there is
  /// none.
  func nextCut(of zone: ZoneID) throws -> SegmentCut? {
    try CutChoice(readView, identity).next(of: zone)
  }
}

/// Chooses the pending transactions that a zone's next segment holds.
private struct CutChoice {
  /// A segment ends at the transaction that would make folding it more steps, besides those to make records
  /// again: a history in which files come and go would else be cut into many small segments.
  private static let stepsAimedAt = Limits.foldStepsMax / 2

  let view: ReadView
  let identity: StoreIdentity

  init(_ view: ReadView, _ identity: StoreIdentity) {
    self.view = view
    self.identity = identity
  }

  func next(of zone: ZoneID) throws -> SegmentCut? {
    let (number, row) = try view.zones.visible(zone)
    guard row.status == .attached, let token = row.token else { return nil }
    let lanes = try view.lanes.pendingLanes(of: number, row, identity)
    let incarnation = try view.incarnations.identity(of: token.incarnation)
    if let cut = try view.zones.cut(of: number),
      lanes.contains(where: { cut.isNext(after: $0, token.incarnation) })
    {
      var transactions: [[UInt8]] = []
      for sequence in cut.sequences {
        let bytes = try bytes(
          sequence, of: cut.replica, cut.epoch, number, statingOwner: cut.version == 1)
        guard let bytes else { throw StoreError.missing(sequence, zone) }
        transactions.append(bytes)
      }
      let replica = try view.replicas.identity(of: cut.replica)
      let lane = Lane(zone: number, replica: cut.replica, epoch: cut.epoch)
      return SegmentCut(
        header: cut.header(zone, incarnation, replica), isStored: true, transactions: transactions,
        formerReceivedMilliseconds: try view.formerTimes.time(of: lane, cut.sequences.lowerBound))
    }
    guard let lane = try nextLane(lanes, number) else { return nil }
    try checkIsOpen(lane, zone, number, token)
    let (transactions, limit) = try proposal(lane, number)
    guard !transactions.isEmpty else {
      throw StoreError.missing(lane.placed + 1, zone)
    }
    var previous = ContentHash.zero
    if let place = try view.placements.placement(
      of: lane.replica, lane.epoch, lane.placed, in: number, token.incarnation)
    {
      previous = try view.segments.hash(at: place.offset, in: number, token.incarnation)
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation,
      baseProof: { try view.segments.proof(of: $0, in: number, token.incarnation) }, previousHash: previous,
      limit: limit?.incarnation == token.incarnation ? limit?.offset : nil)
    let name = Lane(zone: number, replica: lane.replica, epoch: lane.epoch)
    return SegmentCut(
      header: header, isStored: false, transactions: transactions,
      formerReceivedMilliseconds: try view.formerTimes.time(of: name, lane.placed + 1))
  }

  /// The lane that is shipped next: the one whose next transaction comes first in the log. What a transaction
  /// continues or builds on comes before it there, and so before it in the remote log too. The store's own
  /// lane comes last if it is new: its first transaction names what all of the adopted ones hold.
  private func nextLane(_ lanes: [PendingLane], _ zone: ZoneNumber) throws -> PendingLane? {
    guard lanes.count > 1 else { return lanes.first }
    var next: (lane: PendingLane, position: Position)?
    let isOwnNew = try lanes.last!.placed == 0 && isOwn(lanes.last!, zone)
    for lane in lanes.dropLast(isOwnNew ? 1 : 0) {
      let position = try view.log.position(of: lane.replica, lane.epoch, lane.placed + 1, in: zone)
      guard let position else { continue }
      if next.map({ position < $0.position }) ?? true { next = (lane, position) }
    }
    return next?.lane ?? lanes.last
  }

  private func isOwn(_ lane: PendingLane, _ zone: ZoneNumber) throws -> Bool {
    guard let row = try view.zoneRowIfThere(zone) else { return false }
    return try lane.epoch == row.ownEpoch(identity)
      && view.replicas.number(of: identity.replica) == lane.replica
  }

  /// Throws if the log takes no more of a lane.
  private func checkIsOpen(
    _ lane: PendingLane, _ zone: ZoneID, _ number: ZoneNumber, _ token: ZoneRow.Token
  ) throws {
    if let refusal = try view.lanes.refusal(of: lane, in: number, token) {
      throw StoreError.refused(lane, refusal, zone)
    }
  }

  /// As many of a lane's next transactions as others fold at once without making their writers wait. All have the same
  /// limit, or none: see ``BaseLimits``; and the same former receive time, or none: see ``FormerReceiveTimes``.
  private func proposal(
    _ lane: PendingLane, _ zone: ZoneNumber
  ) throws -> (transactions: [[UInt8]], limit: BaseNumbers?) {
    let name = Lane(zone: zone, replica: lane.replica, epoch: lane.epoch)
    let limit = try view.baseLimits.limit(of: name, lane.placed + 1)
    let next = lane.placed + 1
    let last = try min(
      view.baseLimits.last(like: next, of: name, through: lane.last),
      view.formerTimes.last(like: next, of: name, through: lane.last))
    var transactions: [[UInt8]] = []
    var work = FoldWork()
    var byteCount = 0
    var decoder = BodyDecoder()
    var sequence = lane.placed + 1
    while sequence <= last, let bytes = try bytes(sequence, of: lane.replica, lane.epoch, zone) {
      var reader = ByteReader(bytes.span.bytes)
      _ = try TransactionHeader.read(from: &reader)
      try decoder.parse(bytes.span.bytes.extracting(reader.position...))
      work.add(decoder, bytes.span.bytes.extracting(reader.position...))
      byteCount += SegmentBody.byteCount(ofTransactionOf: bytes.count)
      let isOver =
        work.steps > Limits.foldStepsMax || work.steps - work.stepsToMakeAgain > Self.stepsAimedAt
        || byteCount > Limits.segmentPackedBytesMax
      // One transaction is never too large for a segment.
      if isOver && !transactions.isEmpty { break }
      if work.steps > Limits.foldStepsMax {
        let id = try view.zoneNumbers.identity(of: zone)
        throw StoreError.tooMuchWork("transaction \(sequence) of zone “\(id)”", work.steps)
      }
      transactions.append(bytes)
      sequence += 1
    }
    return (transactions, limit)
  }

  /// The canonical bytes of a transaction, nil if the log has none.
  private func bytes(
    _ sequence: UInt64, of replica: ReplicaNumber, _ epoch: UInt32, _ zone: ZoneNumber,
    statingOwner: Bool = false
  ) throws -> [UInt8]? {
    let position = try view.log.position(of: replica, epoch, sequence, in: zone)
    guard let position else { return nil }
    return try LogReader(view).bytes(at: position, statingOwner: statingOwner)
  }
}

extension CutRow {
  /// Whether it cuts what is next of a lane. A stored cut that is of none is left from before the zone was
  /// re-created or the store took another epoch.
  func isNext(after lane: PendingLane, _ incarnation: IncarnationNumber) -> Bool {
    self.incarnation == incarnation && replica == lane.replica && epoch == lane.epoch
      && sequences.lowerBound == lane.placed + 1
  }
}
