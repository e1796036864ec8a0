import OperationFormat

/// What a base from before a zone's log was read again reaches in the log as it is now.
///
/// The log may be shorter than it was, or another one from some offset on: a base that goes beyond that claims to have seen what
/// its transaction never saw.
struct RereadBases {
  let incarnation: IncarnationNumber
  /// The first offset that was read again.
  let first: UInt64
  /// The greatest base from before. Greater ones are of transactions that were made since.
  let seen: UInt64
  /// For each offset from the first on the least former base that had seen all of the log from there up to it.
  private var needed: [UInt64] = []

  init(incarnation: IncarnationNumber, first: UInt64, seen: UInt64) {
    self.incarnation = incarnation
    self.first = first
    self.seen = seen
  }

  /// Takes what is at the next offset.
  ///
  /// - Parameter former: the least offset where it was before; 0 if it has nothing to see, nil if it was nowhere.
  mutating func append(seenAt former: UInt64?) {
    needed.append(max(needed.last ?? 0, former ?? .max))
  }

  /// The greatest base in the log as it is now that reaches nothing which the given one did not; nil for none at all.
  func rebased(_ base: WriteBatch.BaseNumbers) -> WriteBatch.BaseNumbers? {
    guard base.incarnation == incarnation, base.offset >= first, base.offset <= seen else { return base }
    var (low, high) = (0, needed.count)
    while low < high {
      let middle = (low + high) / 2
      if needed[middle] <= base.offset { low = middle + 1 } else { high = middle }
    }
    let offset = first - 1 + UInt64(low)
    return offset == 0 ? nil : (incarnation, offset)
  }

  /// Whether a transaction with this base had seen what the log does not have.
  func changes(_ base: WriteBatch.BaseNumbers?) -> Bool {
    guard let base else { return false }
    return rebased(base)?.offset != base.offset
  }
}

extension WriteBatch {
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
      guard let entry = try entry(lane.replica, lane.epoch, sequence, zone) else { continue }
      if bases.changes(entry.header.base) { return sequence }
    }
    return nil
  }
}
