import OperationFormat

/// Rejects segments that break the rules of a log.
extension RemoteIngest {
  /// Records a segment as rejected: nothing of it is folded, its writer's lane is closed, and reading
  /// continues behind it.
  func reject(_ segment: RemoteSegment, _ reason: SegmentRejection, _ report: inout IngestReport) throws {
    let (zone, incarnation) = try target(segment.zone, segment.incarnation)
    try rules.checkFollows(segment, try storage.zoneRow(zone))
    let writer = try segment.writer ?? rules.lane(of: segment).id
    let replica = try storage.replicas.makeNumber(for: writer.replica)
    let sequences = segment.sequences
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: segment.offset)
    let link = try rules.link(of: segment, log)
    // Kept before any other reason: the token of such an entry has no chain that the remote states.
    let reason = link.continues ? reason : .chain
    var row = SegmentRow(
      replica: replica, epoch: writer.epoch, first: sequences.lowerBound, last: sequences.upperBound,
      hash: segment.hash, receivedMilliseconds: segment.receivedMilliseconds, rejection: reason,
      chain: link.chain)
    row.isChainStated = segment.statedChain != nil
    let known = try storage.segments.row(at: segment.offset, in: zone, incarnation)
    if let known { try Self.checkIsSame(row, as: known, at: segment.offset) }
    row.rejection = known?.rejection ?? reason
    if let known, known.chain != nil { (row.chain, row.isChainStated) = (known.chain, known.isChainStated) }
    let capped = try capped(replica, writer.epoch, of: zone, incarnation, from: segment.offset)
    if try storage.lanes.close(replica, writer.epoch, of: zone, incarnation, at: segment.offset) {
      try adoptAgain(replica, writer.epoch, of: zone)
    }
    // What was acknowledged after the offset has no placement any more, and so no receive time.
    try retime(capped, zone, &report)
    try storage.segments.reject(row, in: zone, incarnation, at: segment.offset)
    try removeCut(of: zone, replica, writer.epoch)
    if known?.rejection == nil { report.rejected += 1 }
    try moveToken(of: zone, incarnation, to: segment.offset, segment.hash)
    report.token = try token(of: zone, segment.zone, segment.incarnation)
  }

  /// Adopts a lane again, so that this store ships it, after placements of it were removed. Only acknowledged
  /// segments have placements ahead of the token: an adopted lane may have been dropped when the last of it
  /// was acknowledged, and an import leaves out one that its exporter had shipped.
  private func adoptAgain(_ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber) throws {
    let isShippedHere = try storage.lanes.ships(replica, epoch, of: zone, storage.zoneRow(zone), identity)
    if !isShippedHere { try storage.lanes.adopt(replica, epoch, of: zone) }
  }

  /// The transactions of a lane that have placements at or after an offset, and whose timestamps are limited
  /// by receive times.
  private func capped(
    _ replica: ReplicaNumber, _ epoch: UInt32, of zone: ZoneNumber, _ incarnation: IncarnationNumber,
    from offset: UInt64
  ) throws -> [Known] {
    var capped: [Known] = []
    var last = try storage.placements.lastPlaced(replica, epoch, in: zone, incarnation)
    while last > 0 {
      let place = try storage.placements.placement(of: replica, epoch, last, in: zone, incarnation)
      guard let place, place.offset >= offset else { break }
      for sequence in place.first...last {
        guard let entry = try store.entry(replica, epoch, sequence, zone) else { continue }
        if let known = try known(entry, receivedMilliseconds: nil) { capped.append(known) }
      }
      last = place.first - 1
    }
    return capped
  }

  /// Removes a zone's cut if it is of a lane that was closed.
  private func removeCut(of zone: ZoneNumber, _ replica: ReplicaNumber, _ epoch: UInt32) throws {
    let cut = try storage.zones.cut(of: zone)
    guard let cut, cut.replica == replica, cut.epoch == epoch else { return }
    try storage.zones.removeCut(of: zone)
  }

  /// The error that ingesting a segment would throw, found before anything of it is written, so that it can
  /// be rejected in one commit with others. The segment is parsed twice then. What is found later is invalid
  /// only here.
  func problem(of segment: RemoteSegment) throws -> StoreError? {
    do {
      try check(segment)
      return nil
    } catch let error as StoreError {
      return error
    }
  }

  private func check(_ segment: RemoteSegment) throws {
    let (zone, incarnation) = try target(segment.zone, segment.incarnation)
    try rules.checkFollows(segment, try storage.zoneRow(zone))
    if segment.isQuarantined { return }
    if let reason = segment.rejection { throw segment.invalid(reason, .mismatch, "\(reason)") }
    let lane = try rules.lane(of: segment)
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: segment.offset)
    try rules.checkFit(of: segment, lane, log)
    _ = try rules.chain(of: segment, log)
    let last = try storage.lastSequence(of: lane.number, lane.epoch, in: zone)
    _ = try forEachTransaction(of: segment, lane, log) { header, body, _ in
      if header.sequence > last {
        _ = try segment.parsing { try store.timestamp(ofArrived: body, in: ZoneID(name: header.zone.name)) }
      } else {
        _ = try compared(header, body, lane.number, log, segment)
      }
    }
  }

  /// Compares a transaction that the store has with the stored one. One at or below the floor is not compared: its sequence
  /// is enough.
  ///
  /// - Returns: the stored one; nil if it is not compared, or the store does not have its bytes.
  func compared(
    _ header: TransactionHeader, _ body: RawSpan, _ replica: ReplicaNumber, _ log: LogPrefix,
    _ segment: RemoteSegment
  ) throws -> (header: LogEntryHeader, body: [UInt8])? {
    if try rules.isBelowFloor(header.sequence, of: replica, header.epoch, log) { return nil }
    guard let entry = try store.entry(replica, header.epoch, header.sequence, log.zone) else {
      try compareRetired(header, body, replica, log, segment)
      return nil
    }
    try compare(header, body, with: entry, log, segment)
    return entry
  }
}
