import LMDB
package import OperationFormat

/// A segment of a zone's remote log, made again from the transactions of a store.
package struct SegmentCopy: Hashable, Sendable {
  package var cut: SegmentCut
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  package var receivedMilliseconds: UInt64?
  /// The log's chain there as the remote stated it; nil if it stated none.
  package var chain: LogChain?
}

extension ReadTransaction {
  /// A place in a zone's remote log before a segment that is shipped: at the given offset, or at what comes
  /// before it in its lane if that is later.
  func place(
    before segment: SegmentHeader, of zone: ZoneID, atLeast offset: UInt64
  ) throws -> ChangeToken {
    let (number, _) = try view.zones.visible(zone)
    var token = ChangeToken.start(of: zone, segment.incarnation)
    guard let incarnation = try view.incarnations.number(of: segment.incarnation) else { return token }
    var place = offset
    if segment.sequences.lowerBound > 1, let replica = try view.replicas.number(of: segment.replica) {
      let before = try view.placements.placement(
        of: replica, segment.epoch, segment.sequences.lowerBound - 1, in: number, incarnation)
      place = max(place, before?.offset ?? 0)
    }
    // What the zone's snapshot has is not shipped, and what it stands for may be gone.
    if let origin = try view.zones.origin(of: number), origin.incarnation == incarnation {
      place = max(place, origin.offset)
    }
    if place > 0 { try move(&token, to: place, of: number, incarnation) }
    return token
  }

  /// A place in a zone's remote log, as the store knows the log; nil if it does not know the chain there.
  func place(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> ChangeToken? {
    let (number, _) = try view.zones.visible(zone)
    guard let found = try view.incarnations.number(of: incarnation) else { return nil }
    var token = ChangeToken.start(of: zone, incarnation)
    try move(&token, to: offset, of: number, found)
    return token.chain == nil ? nil : token
  }

  /// Places in a zone's remote log, as the store knows the log: at an offset, and before it back to the first
  /// where the remote stated the chain.
  func placesBack(
    from offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID, limit: Int
  ) throws -> [ChangeToken] {
    let (number, _) = try view.zones.visible(zone)
    guard let found = try view.incarnations.number(of: incarnation) else { return [] }
    var places: [ChangeToken] = []
    var offset = offset
    while offset > 0, places.count < limit,
      let row = try view.segments.row(at: offset, in: number, found)
    {
      var token = ChangeToken.start(of: zone, incarnation)
      try move(&token, to: offset, of: number, found)
      places.append(token)
      if row.isChainStated { break }
      offset -= 1
    }
    return places
  }

  private func move(
    _ token: inout ChangeToken, to offset: UInt64, of zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws {
    token.offset = offset
    token.hash = try view.segments.row(at: offset, in: zone, incarnation)?.hash ?? .zero
    token.chain = try view.segments.chain(at: offset, in: zone, incarnation)
  }

  /// The incarnation of each synced zone's remote log, and the last offset of it where the store knows a
  /// segment.
  package func remoteLogs() throws -> [(zone: ZoneID, incarnation: IncarnationID, last: UInt64)] {
    try syncState().zones.compactMap { zone in
      guard let token = zone.token, [.attached, .local].contains(zone.attachment) else { return nil }
      let (number, row) = try view.zones.visible(zone.zone)
      guard let found = row.token else { return nil }
      let last = try view.segments.lastOffset(of: number, found.incarnation)
      return (zone.zone, token.incarnation, max(last, token.offset))
    }
  }

  /// The hash of the segment at an offset of a zone's remote log, by what the store folded or shipped; nil if
  /// it knows none there.
  package func segmentHash(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> ContentHash? {
    try segmentRow(at: offset, of: zone, incarnation)?.row.hash
  }

  /// Makes the segment at an offset of a zone's remote log again.
  ///
  /// - Parameter isProven: whether it counts only if the log's chain shows that it is the one that was there.
  /// - Returns: nil if the store knows no segment there.
  /// - Throws: ``StoreError`` `damaged`, `mismatch` if its transactions are not those of that segment; `retired` if the
  ///   store has some of them only in a snapshot.
  package func segmentCopy(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID, isProven: Bool = false
  ) throws -> SegmentCopy? {
    guard let (number, found, row) = try segmentRow(at: offset, of: zone, incarnation), !row.isQuarantined,
      row.rejection == nil
    else { return nil }
    let chain = try view.segments.chain(at: offset, in: number, found)
    let stated = row.isChainStated ? chain : nil
    let before = try view.segments.chain(at: offset - 1, in: number, found)
    var newest: SegmentCut?
    // The chain shows which version its header has; not after an entry that was given up, over which it is.
    for version in row.isOfFirstVersion ? [1] : [SegmentHeader.newestVersion, 1] {
      guard let cut = try segmentCut(row, of: zone, number, found, version) else { continue }
      if let before, chain == LogChain(cut.header.statement.hash, at: offset, after: before) {
        return SegmentCopy(cut: cut, receivedMilliseconds: row.receivedMilliseconds, chain: stated)
      }
      newest = newest ?? cut
    }
    if isProven { return nil }
    guard let newest else {
      throw StoreError(
        .mismatch,
        "the store's transactions are not those of the segment at offset \(offset) of zone “\(zone)”",
        hint: "try another store that has read the zone")
    }
    return SegmentCopy(cut: newest, receivedMilliseconds: row.receivedMilliseconds, chain: stated)
  }

  /// Makes the cut of a segment again, with a header of a version; nil if it is not that segment.
  private func segmentCut(
    _ row: SegmentRow, of zone: ZoneID, _ number: ZoneNumber, _ incarnation: IncarnationNumber,
    _ version: UInt8
  ) throws -> SegmentCut? {
    let reader = LogReader(view)
    var transactions: [[UInt8]] = []
    // A row that was damaged may name any sequences; those that are there are no more than the store has.
    for sequence in row.first...max(row.first, row.last) {
      let position = try view.log.position(of: row.replica, row.epoch, sequence, in: number)
      guard let position else {
        let retired = try view.lanes.retired(Lane(zone: number, replica: row.replica, epoch: row.epoch))
        guard sequence > retired else {
          throw StoreError(
            .retired, "the store has retired transactions of that segment of zone “\(zone)”",
            hint: "try another store that has read the zone")
        }
        throw StoreError.missing(sequence, zone)
      }
      transactions.append(try reader.bytes(at: position, statingOwner: version == 1))
    }
    var previous = ContentHash.zero
    if row.first > 1,
      let place = try view.placements.placement(
        of: row.replica, row.epoch, row.first - 1, in: number, incarnation)
    {
      previous = try view.segments.hash(at: place.offset, in: number, incarnation)
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: try view.incarnations.identity(of: incarnation), version: version,
      baseProof: {
        version == 1
          ? try view.segments.hash(at: $0, in: number, incarnation)
          : try view.segments.proof(of: $0, in: number, incarnation)
      }, previousHash: previous, limit: version > 1 ? row.limit : nil)
    guard header.contentHash == row.hash else { return nil }
    return SegmentCut(header: header, isStored: false, transactions: transactions)
  }

  private func segmentRow(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> (zone: ZoneNumber, incarnation: IncarnationNumber, row: SegmentRow)? {
    let (number, _) = try view.zones.visible(zone)
    guard
      let found = try view.incarnations.number(of: incarnation),
      let row = try view.segments.row(at: offset, in: number, found)
    else { return nil }
    return (number, found, row)
  }
}
