import OperationFormat

/// What is cached of lanes and of the log.
extension TableStorage {
  func lastPosition() throws -> Position {
    if let last = state.caches.lastPosition { return last }
    let last = try log.lastPosition()
    state.caches.lastPosition = last
    return last
  }

  /// The last sequence that the store has of a replica's epoch in a zone; 0 if none.
  func lastSequence(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> UInt64 {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    return max(try lastSequenceRun(of: lane)?.last ?? 0, try retired(lane))
  }

  /// Up to which sequence the snapshot has a lane that its zone begins with; 0 for nothing.
  func retired(_ lane: Lane) throws -> UInt64 {
    if let known = state.caches.retired[lane] { return known }
    let found = try lanes.retired(lane)
    state.caches.retired[lane] = found
    return found
  }

  /// Whether the snapshot has a transaction that its zone begins with.
  func isRetired(_ header: LogEntryHeader) throws -> Bool { try header.sequence <= retired(header.lane) }

  /// The last row of `sequences` that a lane has; nil if it has none.
  func lastSequenceRun(of lane: Lane) throws -> SequenceRun? {
    if let last = state.caches.lastSequences[lane] { return last }
    let last = try log.lastSequenceRun(of: lane)
    state.caches.lastSequences.updateValue(last, forKey: lane)
    return last
  }

  /// The lanes that a replica's epoch continues in a zone, nearest first, each with its last sequence.
  func lineage(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> [LaneParent] {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let known = state.caches.lineages[lane] { return known }
    let found = try lanes.lineage(of: replica, epoch, in: zone)
    state.caches.lineages[lane] = found
    return found
  }

  /// The parent of a replica's epoch in a zone; nil if it has none.
  func parent(
    of replica: ReplicaNumber, _ epoch: UInt32, in zone: ZoneNumber
  ) throws -> LaneParent? {
    try lineage(of: replica, epoch, in: zone).first
  }

  /// What a transaction that the store has had seen, nil for nothing. Of each lane, one transaction's is cached.
  func base(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> BaseNumbers? {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let known = state.caches.bases[lane], known.sequence == sequence { return known.base }
    let base = try log.base(of: replica, epoch, sequence, in: zone)
    state.caches.bases[lane] = (sequence, base)
    return base
  }

  func hasLimits(_ zone: ZoneNumber) throws -> Bool {
    if let known = state.caches.limits[zone] { return known }
    let found = try findLimits(zone)
    state.caches.limits[zone] = found
    return found
  }

  /// Caches what an appended transaction changed.
  func noteAppended(_ header: LogEntryHeader, at position: Position) throws {
    changeNotes?.note(header.replica)
    state.caches.lastPosition = position
    state.caches.bases[header.lane] = (header.sequence, try baseLimits.base(of: header))
    state.zonesVersion += 1
  }

  /// Caches the last row of `sequences` of a lane.
  func noteLastSequences(_ run: SequenceRun, of lane: Lane) {
    state.caches.lastSequences.updateValue(run, forKey: lane)
    logCache.note(run, of: lane)
  }

  /// Drops what is cached of the rows of `sequences` of a lane, before they change.
  func forgetSequences(of lane: Lane) {
    state.caches.lastSequences.removeValue(forKey: lane)
    state.caches.retired.removeValue(forKey: lane)
    logCache.forgetSequences()
  }

  /// Drops what is cached of rows of the log, before they change other than by an append.
  func forgetRows() {
    lastRow = nil
    logCache.removeAll()
  }

  func forgetLineages() {
    state.caches.lineages.removeAll(keepingCapacity: true)
    state.zonesVersion += 1
  }

  /// Drops the cached placement, before placements change.
  func forgetPlacements() {
    changeNotes?.notePlacements()
    state.lastPlacement = nil
    state.zonesVersion += 1
  }

  /// Drops what a look back over a log has found, if it passed an offset or one after it: rows change from
  /// there on.
  func forgetLookBack(from offset: UInt64) {
    if let known = state.lookBack, offset <= known.offsets.upperBound { state.lookBack = nil }
  }

  /// Drops what is cached of what transactions had seen, once limits have changed.
  func forgetBases() {
    state.caches.bases.removeAll(keepingCapacity: true)
    state.caches.limits.removeAll(keepingCapacity: true)
    state.zonesVersion += 1
  }

  /// Drops cached sequences, before transactions are removed from the log.
  func forgetSequences() {
    state.caches.lastSequences.removeAll(keepingCapacity: true)
    state.caches.retired.removeAll(keepingCapacity: true)
    state.caches.bases.removeAll(keepingCapacity: true)
    state.caches.lastPosition = nil
    state.zonesVersion += 1
    forgetRows()
  }
}

/// A run of placed sequences of a lane, and its offset.
struct CachedPlacement {
  var lane: Lane
  var incarnation: IncarnationNumber
  var sequences: ClosedRange<UInt64>
  var offset: UInt64
}
