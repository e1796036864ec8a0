import OperationFormat

/// What a policy lets go of a zone's history: what its remote log has up to an offset.
struct HistoryChoice {
  /// After what the zone begins with, and not after its token.
  let offset: UInt64
  /// How many transactions go, and their bytes.
  let transactions: UInt64
  let bytes: UInt64
  /// The bytes of those that stay, and were sent or received.
  let keptBytes: UInt64
  /// The bytes of the snapshot that the zone begins with now; 0 for none.
  let originBytes: UInt64

  /// Chooses.
  ///
  /// - Returns: nil if nothing goes.
  /// - Complexity: linear in the zone's log
  init?(
    of number: ZoneNumber, _ source: borrowing ReadTransaction, keeping policy: HistoryPolicy,
    at wallMilliseconds: Int64, _ snapshots: SnapshotFiles
  ) throws {
    let view = source.readView
    guard let token = try view.zoneRowIfThere(number)?.token, token.offset > 0 else { return nil }
    let origin = try view.zones.origin(of: number)
    let lanes = try view.lanes.countedLanes(of: number).map {
      Lane(zone: number, replica: $0.replica, epoch: $0.epoch)
    }
    let first = (origin?.offset ?? 0) + 1
    guard first <= token.offset else { return nil }
    var entries: [(offset: UInt64, transactions: UInt64, bytes: UInt64)] = []
    try view.segments.forEach(in: number, token.incarnation, from: first) { offset, row in
      guard offset <= token.offset, row.rejection == nil, !row.isQuarantined else { return }
      let lane = Lane(zone: number, replica: row.replica, epoch: row.epoch)
      let (transactions, bytes) = try view.log.size(of: lane, row.first...row.last)
      entries.append((offset, transactions, bytes))
    }
    var end: UInt64 = 0
    if let age = policy.millisecondsMax {
      let (time, isTooEarly) = wallMilliseconds.subtractingReportingOverflow(max(0, age))
      let last = isTooEarly ? .start : try source.lastPosition(arrivedBy: time)
      end = try Self.lastOffset(through: last, of: lanes, token, view)
    }
    if let bytesMax = policy.logBytesMax {
      var sum: UInt64 = 0
      for entry in entries.reversed() {
        sum += entry.bytes
        guard sum > bytesMax else { continue }
        end = max(end, entry.offset)
        break
      }
    }
    guard end >= first else { return nil }
    offset = end
    let gone = entries.prefix { $0.offset <= end }
    transactions = gone.reduce(0) { $0 + $1.transactions }
    bytes = gone.reduce(0) { $0 + $1.bytes }
    keptBytes = entries.dropFirst(gone.count).reduce(0) { $0 + $1.bytes }
    originBytes = try origin.map { try snapshots.manifest(of: $0.content).byteCount } ?? 0
  }

  /// The last offset up to which the remote log has nothing that came here after a position.
  private static func lastOffset(
    through position: Position, of lanes: [Lane], _ token: ZoneRow.Token, _ view: ReadView
  ) throws -> UInt64 {
    var last = token.offset
    for lane in lanes {
      guard let next = try view.log.positionRuns(of: lane, after: position).last?.lowerBound else { continue }
      let sequence = try view.log.withEntry(at: next) { header, _ in header.sequence }
      let place = try view.placements.placement(
        of: lane.replica, lane.epoch, sequence, in: lane.zone, token.incarnation)
      if let place { last = min(last, place.offset - 1) }
    }
    return last
  }
}

extension LogTable {
  /// How many of some transactions of a lane the log has, and their bytes.
  fileprivate func size(of lane: Lane, _ sequences: ClosedRange<UInt64>) throws -> (UInt64, UInt64) {
    var (count, bytes): (UInt64, UInt64) = (0, 0)
    for run in try positionRuns(of: lane, sequences) ?? [] {
      for position in run.lowerBound.rawValue...run.upperBound.rawValue {
        count += 1
        bytes += try withEntry(at: Position(rawValue: position)) { _, body in UInt64(body.byteCount) }
      }
    }
    return (count, bytes)
  }
}
