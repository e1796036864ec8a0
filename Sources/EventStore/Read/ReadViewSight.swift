import OperationFormat

/// What transactions of a zone have seen of each other, by the rows of a read view. It caches what it has
/// looked up: a few values for each lane and incarnation.
///
/// Not `Sendable`: one thread uses it at a time, as its read view.
final class ReadViewSight: ContributionSight {
  private struct Placed: Hashable {
    var lane: ContributionLane
    var incarnation: IncarnationNumber
  }

  /// A run of placed sequences, and the last sequence that has a placement.
  private struct Run {
    var sequences: ClosedRange<UInt64>?
    var offset: UInt64 = 0
    var lastPlaced: UInt64
  }

  private let readView: ReadView
  private let zone: ZoneNumber
  private var lineages: [ContributionLane: [LaneParent]] = [:]
  private var runs: [Placed: Run] = [:]
  private var lastOffsets: [IncarnationNumber: UInt64] = [:]

  init(_ readView: ReadView, zone: ZoneNumber) {
    self.readView = readView
    self.zone = zone
  }

  func replicaID(_ number: ReplicaNumber) throws -> ReplicaID { try readView.replicaID(number) }

  func lineage(of replica: ReplicaNumber, _ epoch: UInt32) throws -> [LaneParent] {
    let lane = ContributionLane(replica: replica, epoch: epoch)
    if let known = lineages[lane] { return known }
    let found = try readView.lanes.lineage(of: replica, epoch, in: zone)
    lineages[lane] = found
    return found
  }

  func offset(of head: HeadID, in incarnation: IncarnationNumber) throws -> UInt64? {
    let place = Placed(
      lane: ContributionLane(replica: head.replica, epoch: head.epoch), incarnation: incarnation)
    var run: Run
    if let known = runs[place] {
      run = known
    } else {
      run = Run(
        lastPlaced: try readView.placements.lastPlaced(head.replica, head.epoch, in: zone, incarnation))
      runs[place] = run
    }
    if let sequences = run.sequences, sequences.contains(head.sequence) { return run.offset }
    guard head.sequence <= run.lastPlaced,
      let found = try readView.placements.placement(
        of: head.replica, head.epoch, head.sequence, in: zone, incarnation)
    else { return nil }
    // It contains the requested sequence, so its bounds are in order.
    run.sequences = found.first...found.last
    run.offset = found.offset
    runs[place] = run
    return found.offset
  }

  func hasPlaces(in incarnation: IncarnationNumber) throws -> Bool { try lastOffset(in: incarnation) > 0 }

  /// The last offset of an incarnation that has an entry; 0 if none has.
  func lastOffset(in incarnation: IncarnationNumber) throws -> UInt64 {
    if let known = lastOffsets[incarnation] { return known }
    let found = try readView.segments.lastOffset(of: zone, incarnation)
    lastOffsets[incarnation] = found
    return found
  }
}
