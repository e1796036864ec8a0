import OperationFormat

/// Rejecting many segments in one commit.
extension WriteBatch {
  /// What ``fold(_:_:)`` would throw of a segment, found before anything of it is written: only so can it be rejected in a
  /// commit with others. It parses the segment once more than folding it. What is found later is invalid here alone.
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
    try checkFollows(segment, try storage.zoneRow(zone))
    if segment.isQuarantined { return }
    if let reason = segment.rejection { throw segment.invalid(reason, .mismatch, "\(reason)") }
    let lane = try self.lane(of: segment)
    let log = LogPrefix(zone: zone, incarnation: incarnation, end: segment.offset)
    try checkPlace(of: segment, lane, log)
    let last = try storage.lastSequence(of: lane.number, lane.epoch, in: zone)
    _ = try forEachTransaction(of: segment, lane, log) { header, body in
      if header.sequence > last {
        _ = try segment.parsing { try self.timestamp(ofArrived: body, in: header.zone) }
      } else if let entry = try entry(lane.number, header.epoch, header.sequence, zone) {
        try compare(header, body, with: entry, log, segment)
      }
    }
  }
}
