import LMDB
import OperationFormat

extension SegmentTable where Source == TableStorage {
  /// Writes the row of the entry at an offset of an incarnation, without placements.
  func put(
    _ segment: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    try source.putChecked(.segment(zone, incarnation, offset), in: tables.segments) {
      segment.append(to: &$0)
    }
    source.forgetPlacements()
    source.forgetLookBack(from: offset)
  }

  /// Gives rows of an earlier program the chain that follows from them, up to an offset: some of them, from which
  /// that of the others follows soon, so that a commit writes few rows of a long log.
  ///
  /// - Returns: the chain at the offset; nil if it is not known.
  func completeChain(
    upTo offset: UInt64, in zone: ZoneNumber, _ incarnation: IncarnationNumber
  ) throws -> LogChain? {
    var chain: LogChain?
    try forEachLinkWithoutChain(upTo: offset, in: zone, incarnation, from: &chain) { place, row, link in
      guard place == offset || place % 64 == 0 else { return }
      var row = row
      (row.chain, row.isChainStated) = (link, false)
      try put(row, in: zone, incarnation, at: place)
    }
    return chain
  }

  /// Writes a segment's row, and gives its sequences that placement if they have none, or a later one: a
  /// segment may be acknowledged before the entries ahead of it are fetched.
  func place(
    _ segment: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    func putPlacement(_ sequences: ClosedRange<UInt64>, at offset: UInt64) throws {
      try self.putPlacement(sequences, of: segment, in: zone, incarnation, at: offset)
    }
    try put(segment, in: zone, incarnation, at: offset)
    if segment.isQuarantined { return }
    var next = segment.first
    while next <= segment.last {
      let known = try placements.placement(of: segment.replica, segment.epoch, next, in: zone, incarnation)
      guard let known else { return try putPlacement(next...segment.last, at: offset) }
      if known.offset > offset {
        if known.first < next { try putPlacement(known.first...next - 1, at: known.offset) }
        if known.last > segment.last { try putPlacement(segment.last + 1...known.last, at: known.offset) }
        try putPlacement(next...min(known.last, segment.last), at: offset)
      }
      next = known.last + 1
    }
  }

  /// Gives the sequences of a lane that come before those of a segment at or below a floor, and that no entry of a snapshot
  /// has, the segment's place: they are at or below the floor too.
  func placeFolded(
    before segment: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    if segment.isQuarantined { return }
    let placed = try placements.lastPlaced(segment.replica, segment.epoch, in: zone, incarnation)
    guard placed + 1 < segment.first else { return }
    try putPlacement(placed + 1...segment.first - 1, of: segment, in: zone, incarnation, at: offset)
    source.forgetPlacements()
  }

  private func putPlacement(
    _ sequences: ClosedRange<UInt64>, of segment: SegmentRow, in zone: ZoneNumber,
    _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    let key = TableKey.placement(
      zone, incarnation, segment.replica, segment.epoch, last: sequences.upperBound)
    try source.putChecked(key, in: tables.placements) { writer in
      writer.append(varint: sequences.lowerBound)
      writer.append(varint: offset)
    }
  }

  /// Writes the row of a rejected segment.
  func reject(
    _ row: SegmentRow, in zone: ZoneNumber, _ incarnation: IncarnationNumber, at offset: UInt64
  ) throws {
    try put(row, in: zone, incarnation, at: offset)
    try source.putChecked(.rejectedSegment(zone, incarnation, offset), in: tables.replicas) { _ in }
  }

  /// Removes the rows of an incarnation's segments from an offset on, also those of rejected ones.
  ///
  /// - Returns: the lanes with segments there, in the order of their first ones.
  func takeBack(of zone: ZoneNumber, _ incarnation: IncarnationNumber, from offset: UInt64) throws -> [Lane] {
    var lanes: [Lane] = []
    var known: Set<Lane> = []
    var rows: [(offset: UInt64, row: SegmentRow)] = []
    try forEach(in: zone, incarnation, from: offset) { offset, row in
      rows.append((offset, row))
      guard row.rejection == nil, !row.isQuarantined else { return }
      let lane = Lane(zone: zone, replica: row.replica, epoch: row.epoch)
      if known.insert(lane).inserted { lanes.append(lane) }
    }
    for (offset, row) in rows {
      let former = TableKey.formerSegment(zone, incarnation, offset)
      if row.rejection == nil, !row.isQuarantined,
        try !transaction.contains(former.span, in: tables.replicas)
      {
        try source.putChecked(former, in: tables.replicas) { row.append(to: &$0) }
      }
      let key = TableKey.segment(zone, incarnation, offset)
      _ = try transaction.delete(key.span, in: tables.segments)
      let rejected = TableKey.rejectedSegment(zone, incarnation, offset)
      _ = try transaction.delete(rejected.span, in: tables.replicas)
    }
    source.forgetPlacements()
    source.forgetLookBack(from: offset)
    return lanes
  }
}
