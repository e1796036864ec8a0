import LMDB
package import OperationFormat

/// A segment of a zone's remote log, made again from the transactions of a store.
package struct SegmentCopy: Hashable, Sendable {
  package var cut: SegmentCut
  /// When the remote first received it, in milliseconds since 1970; nil where it keeps no such times.
  package var receivedMilliseconds: UInt64?
}

extension ReadTransaction {
  /// The offset of what comes before a segment in its lane, in the segment's zone and incarnation; 0 if not
  /// known.
  func offset(before segment: SegmentHeader) throws -> UInt64 {
    guard segment.sequences.lowerBound > 1 else { return 0 }
    let (number, _) = try readView.zones.visible(segment.zone)
    guard
      let incarnation = try readView.incarnations.number(of: segment.incarnation),
      let replica = try readView.replicas.number(of: segment.replica)
    else { return 0 }
    let place = try readView.placements.placement(
      of: replica, segment.epoch, segment.sequences.lowerBound - 1, in: number, incarnation)
    return place?.offset ?? 0
  }

  /// The incarnation of each synced zone's remote log, and the last offset of it where the store knows a
  /// segment.
  package func remoteLogs() throws -> [(zone: ZoneID, incarnation: IncarnationID, last: UInt64)] {
    try syncState().zones.compactMap { zone in
      guard let token = zone.token, [.attached, .local].contains(zone.attachment) else { return nil }
      let (number, row) = try readView.zones.visible(zone.zone)
      guard let found = row.token else { return nil }
      let last = try readView.segments.lastOffset(of: number, found.incarnation)
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
  /// - Returns: nil if the store knows no segment there.
  /// - Throws: ``StoreError`` `damaged`, `mismatch` if its transactions are not those of that segment.
  package func segmentCopy(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> SegmentCopy? {
    guard let (number, found, row) = try segmentRow(at: offset, of: zone, incarnation), !row.isQuarantined,
      row.rejection == nil
    else { return nil }
    let reader = LogReader(readView)
    var transactions: [[UInt8]] = []
    // A row that was damaged may name any sequences; those that are there are no more than the store has.
    for sequence in row.first...max(row.first, row.last) {
      let position = try readView.log.position(of: row.replica, row.epoch, sequence, in: number)
      guard let position else { throw StoreError.missing(sequence, zone) }
      transactions.append(try reader.bytes(at: position))
    }
    var previous = ContentHash.zero
    if row.first > 1,
      let place = try readView.placements.placement(
        of: row.replica, row.epoch, row.first - 1, in: number, found)
    {
      previous = try readView.segments.hash(at: place.offset, in: number, found)
    }
    let header = try SegmentHeader.describing(
      transactions, incarnation: incarnation,
      baseHash: { try readView.segments.hash(at: $0, in: number, found) },
      previousHash: previous)
    guard header.contentHash == row.hash else {
      throw StoreError(
        .mismatch,
        "the store's transactions are not those of the segment at offset \(offset) of zone “\(zone)”",
        hint: "try another store that has read the zone")
    }
    return SegmentCopy(
      cut: SegmentCut(header: header, isStored: false, transactions: transactions),
      receivedMilliseconds: row.receivedMilliseconds)
  }

  private func segmentRow(
    at offset: UInt64, of zone: ZoneID, _ incarnation: IncarnationID
  ) throws -> (zone: ZoneNumber, incarnation: IncarnationNumber, row: SegmentRow)? {
    let (number, _) = try readView.zones.visible(zone)
    guard
      let found = try readView.incarnations.number(of: incarnation),
      let row = try readView.segments.row(at: offset, in: number, found)
    else { return nil }
    return (number, found, row)
  }
}
