import EventStore

/// Compaction, as a store does it: see `Compaction` of EventStore.
extension FoldDriver {
  /// Takes a floor, up to which all that was folded has its place: records are compacted before they change, and as the
  /// job comes to them.
  ///
  /// - Parameter counts: false for one that only a planted fault lets count.
  func take(_ taken: OracleFloor, counts: Bool = true) throws {
    try fold.flush()
    fold.reset()
    (floor, compacted) = (taken.compactionFloor, 0)
    guard counts else { return }
    floors.append(taken)
    history.coverage.floors += 1
  }

  /// Compacts the next records, up to a number. Once there are none left, the floor is done.
  ///
  /// - Returns: which they were, one bit each.
  @discardableResult
  func compact(next count: Int) throws -> UInt8 {
    guard let floor, !floor.isDone else { return 0 }
    var records: UInt8 = 0
    for _ in 0..<min(count, history.records - compacted) {
      records |= 1 << UInt8(compacted)
      compacted += 1
    }
    try compact(records)
    if compacted == history.records { self.floor?.isDone = true }
    try restart()
    return records
  }

  /// Compacts some records, one bit each.
  func compact(_ records: UInt8) throws {
    for record in 0..<history.records where records & 1 << UInt8(record) != 0 { try compact(record: record) }
  }

  private func compact(record: Int) throws {
    guard let floor, !floor.isDone else { return }
    history.coverage.compactedLater += 1
    var context = CausalContext(
      zone: FoldNumbering.zone, replica: .none, epoch: 0, sequence: 1, base: nil)
    context.floor = floor
    fold.context = context
    let name = FoldNumbering.records[record]
    guard history.foldStepsMax != nil else {
      return try fold.compact(name.span.bytes, in: FoldNumbering.state)
    }
    // In as many commits as it needs.
    fold.bound.begin(.pauses)
    defer { fold.bound.end() }
    while true {
      do {
        return try fold.compact(name.span.bytes, in: FoldNumbering.state)
      } catch is FoldBoundReached {
        history.coverage.compactionPauses += 1
        let next = fold.bound.next
        try restart()
        fold.bound.begin(.pauses, at: next)
      }
    }
  }
}

extension OracleFloor {
  /// The same for the fold.
  var compactionFloor: CompactionFloor {
    CompactionFloor(incarnation: FoldNumbering.incarnation, offset: UInt64(offset), place: UInt64(place))
  }
}
