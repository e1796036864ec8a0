import OperationFormat

/// What the transactions of each lane had seen of their zones' logs: none less than the one before it, or its
/// parent. See ``SegmentRejection/base``.
struct SeenOffsets {
  private var offsets: [Lane: UInt64] = [:]
  private var incarnations: [ZoneNumber: IncarnationNumber] = [:]

  /// What is wrong with what the log's next transaction had seen; nil if nothing is.
  mutating func problem(of header: LogEntryHeader, _ source: borrowing ReadTransaction) throws -> String? {
    let incarnation = try incarnations[header.zone] ?? incarnation(of: header.zone, source)
    incarnations[header.zone] = incarnation
    func offset(_ base: BaseNumbers?) -> UInt64 {
      base.flatMap { $0.incarnation == incarnation ? $0.offset : nil } ?? 0
    }
    let lane = Lane(zone: header.zone, replica: header.replica, epoch: header.epoch)
    let limits = source.readView.baseLimits
    let found = offset(try limits.base(of: header))
    var before = offsets[lane] ?? 0
    if header.sequence == 1, let parent = header.parent,
      let position = try source.readView.log.position(
        of: parent.replica, parent.epoch, parent.sequence, in: header.zone)
    {
      before = offset(
        try source.readView.log.withEntry(at: position) { header, _ in try limits.base(of: header) })
    }
    offsets[lane] = found
    return found < before ? "it had seen offset \(found), and what it follows \(before)" : nil
  }

  private func incarnation(
    of zone: ZoneNumber, _ source: borrowing ReadTransaction
  ) throws -> IncarnationNumber {
    try source.readView.zoneRowIfThere(zone)?.token?.incarnation ?? .none
  }
}
