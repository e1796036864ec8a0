public import OperationFormat

/// Two branches of one lane of a zone: two stores wrote under one identity.
///
/// One of them is a copy, or an old backup, of the other, and nobody noticed that. The branch that came first into the
/// zone's remote log keeps the identity. The other one was issued again under another epoch. Both are kept.
public struct LaneFork: Hashable, Sendable {
  /// The identity that both wrote under.
  public let lane: StoreIdentity
  /// The first sequence that both used. If the store knows only a rejected segment of the second branch, it is the first
  /// sequence of that.
  public let firstSequence: UInt64
  /// Where the log has the first branch; nil if the store does not know.
  public let place: Base?
  /// Under which identity the second branch continues, from sequence 1 on; nil if the store does not know.
  public let continuation: StoreIdentity?
  /// When this store, or the one whose log it imported, issued the second branch again, in milliseconds since 1970; nil
  /// if another store did.
  public let noticedMilliseconds: Int64?
}

extension ReadTransaction {
  /// The forks of a zone's lanes that the store knows, in the order of their lanes and sequences.
  ///
  /// Those that it has settled itself it knows for good. Of those of other stores it knows what the log shows: a lane
  /// that continues another epoch of its replica, which continues behind that place; or a segment that was rejected as a
  /// fork.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  /// - Complexity: linear in the zone's lanes and rejected segments.
  public func forks(in zone: ZoneID, limit: Int = .max) throws -> [LaneFork] {
    let (number, row) = try view.zones.visible(zone)
    var reader = ForkReader(view: view, zone: number, incarnation: row.token?.incarnation)
    try reader.addReissued()
    try reader.addContinued()
    for rejected in try rejectedSegments(in: zone) where rejected.reason == .fork {
      try reader.add(rejected)
    }
    return Array(reader.found.sorted(by: <).prefix(max(0, limit)))
  }

  /// How many branches this store has issued again in a zone, ever.
  ///
  /// - Throws: ``StoreError`` `zoneUnknown`, `damaged`.
  package func reissuedBranches(in zone: ZoneID) throws -> Int {
    try view.lanes.reissued(of: view.zones.visible(zone).number).count { $0.reissue.branch != nil }
  }
}

extension LaneFork {
  fileprivate static func < (left: LaneFork, right: LaneFork) -> Bool {
    let (a, b) = (left.continuation, right.continuation)
    return (left.lane.replica, left.lane.epoch, left.firstSequence, a?.epoch ?? 0)
      < (right.lane.replica, right.lane.epoch, right.firstSequence, b?.epoch ?? 0)
  }
}

/// Finds the forks of a zone.
private struct ForkReader {
  let view: ReadView
  let zone: ZoneNumber
  let incarnation: IncarnationNumber?
  var found: [LaneFork] = []
  private var reissued: Set<Lane> = []
  /// The lanes of those that were found.
  private var forked: Set<StoreIdentity> = []

  init(view: ReadView, zone: ZoneNumber, incarnation: IncarnationNumber?) {
    (self.view, self.zone, self.incarnation) = (view, zone, incarnation)
  }

  /// Adds those of which this store issued a branch again.
  mutating func addReissued() throws {
    for (lane, reissue) in try view.lanes.reissued(of: zone) {
      reissued.insert(lane)
      guard let branch = reissue.branch else { continue }
      try add(reissue.former, reissue.first, branch, lane, noticed: reissue.milliseconds)
    }
  }

  /// Adds those of which another store did: its lane continues one that has more.
  mutating func addContinued() throws {
    for counted in try view.lanes.countedLanes(of: zone) {
      let lane = Lane(zone: zone, replica: counted.replica, epoch: counted.epoch)
      guard !reissued.contains(lane),
        let parent = try view.lanes.parent(of: lane.replica, lane.epoch, in: zone),
        parent.replica == lane.replica,
        try view.lanes.lastSequence(of: parent.replica, parent.epoch, in: zone) > parent.sequence
      else { continue }
      let former = Lane(zone: zone, replica: parent.replica, epoch: parent.epoch)
      try add(former, parent.sequence + 1, try place(of: former, parent.sequence + 1), lane)
    }
  }

  /// Adds the fork that a rejected segment shows, unless more is known of its lane's.
  mutating func add(_ rejected: RejectedSegment) throws {
    guard !forked.contains(rejected.writer),
      let replica = try view.replicas.number(of: rejected.writer.replica)
    else { return }
    let (lane, first) = (
      Lane(zone: zone, replica: replica, epoch: rejected.writer.epoch), rejected.sequences.lowerBound
    )
    try add(lane, first, try place(of: lane, first), nil)
  }

  private func place(of lane: Lane, _ sequence: UInt64) throws -> BaseNumbers? {
    guard let incarnation else { return nil }
    let placed = try view.placements.placement(of: lane.replica, lane.epoch, sequence, in: zone, incarnation)
    return placed.map { (incarnation, $0.offset) }
  }

  private mutating func add(
    _ lane: Lane, _ first: UInt64, _ place: BaseNumbers?, _ continuation: Lane?, noticed: Int64? = nil
  ) throws {
    let forked = LaneFork(
      lane: try view.lanes.identity(of: lane), firstSequence: first,
      place: try place.map {
        Base(incarnation: try view.incarnations.identity(of: $0.incarnation), offset: $0.offset)
      },
      continuation: try continuation.map { try view.lanes.identity(of: $0) }, noticedMilliseconds: noticed)
    found.append(forked)
    self.forked.insert(forked.lane)
  }
}
