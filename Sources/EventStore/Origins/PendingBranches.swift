import OperationFormat

/// Finds what waits to be sent, and has another branch in the log of a snapshot: a zone that began with the snapshot would
/// lose it.
///
/// At or below the floor the snapshot names few entries. What waits of others' work, and is before one that it names there,
/// counts as the log's by its sequence, as everywhere below a floor.
///
/// A store is to send its own lanes and those that it has adopted: of an imported log, and of its earlier identities and
/// epochs. Of what it keeps only because a log had lost it, the log's branch counts: see ``LogRereading/yieldLane(of:to:)``.
struct PendingBranches {
  struct Branch {
    var lane: PendingLane
    /// The log's branch, and from where on the lane is another one.
    var contested: ContestedLane
    /// Whether the user can decide about it, as about one that was met when the log was read.
    var isContestable: Bool
  }

  private struct Candidate {
    var lane: PendingLane
    /// Up to there the log has the same.
    var same: UInt64
    var isOwn: Bool
    var isContestable: Bool
  }

  let storage: TableStorage
  let zone: ZoneNumber
  let incarnation: IncarnationNumber
  let head: SnapshotHead

  /// - Parameter parting: what was sent counts as such before that offset.
  /// - Complexity: linear in the snapshot's lanes and entries, and in the bytes that wait
  func find(before parting: UInt64, _ identity: StoreIdentity) throws -> [Branch] {
    var candidates = try candidates(before: parting, identity)
    if candidates.isEmpty { return [] }
    let token = try storage.zoneRow(zone).token?.offset ?? 0
    var found: [Branch] = []
    for entry in head.entries where entry.row.rejection == nil {
      guard let index = entry.lane, var candidate = candidates[index], entry.row.last > candidate.same else {
        continue
      }
      if !candidate.isOwn, entry.offset <= head.foldedThrough, entry.row.first > candidate.lane.last {
        candidates[index] = nil
        continue
      }
      let lane = Lane(zone: zone, replica: candidate.lane.replica, epoch: candidate.lane.epoch)
      if try isHere(entry.row, of: lane) {
        candidate.same = entry.row.last
        // Another store may have continued what this one has of its lane.
        let isDone = !candidate.isOwn && candidate.same >= candidate.lane.last
        candidates[index] = isDone ? nil : candidate
        continue
      }
      candidates[index] = nil
      let first = candidate.same + 1
      found.append(
        Branch(
          lane: candidate.lane,
          contested: ContestedLane(first: first, offset: entry.offset, baseMax: .max),
          isContestable: candidate.isContestable && entry.offset > token && first > candidate.lane.placed))
    }
    return found
  }

  /// The lanes that the store is to send something of, and that the log has more of than was sent, by their index in the head.
  private func candidates(before parting: UInt64, _ identity: StoreIdentity) throws -> [Int: Candidate] {
    let row = try storage.zoneRow(zone)
    let written = try storage.lanes.writtenHere(in: zone, row, identity)
    let held = Set(try storage.lanes.held(of: zone).map(lane))
    let adopted = Set(try storage.lanes.adopted(of: zone).map(lane)).subtracting(held)
    var found: [Int: Candidate] = [:]
    for (index, known) in head.lanes.enumerated() {
      guard let replica = try storage.replicas.number(of: known.id.replica) else { continue }
      let lane = Lane(zone: zone, replica: replica, epoch: known.id.epoch)
      let isOwn = written.isOwn(known.id.replica)
      // What waits to be sent may have been sent, without an answer that came here. Of others' work the log counts.
      guard isOwn || adopted.contains(lane) else { continue }
      let last = try storage.lastSequence(of: replica, lane.epoch, in: zone)
      let placed = try storage.placements.lastPlaced(
        replica, lane.epoch, in: zone, incarnation, before: parting)
      guard last > placed, known.last > placed else { continue }
      found[index] = Candidate(
        lane: try storage.lanes.pendingLane(replica, lane.epoch, of: zone, row.token, readsEntries: false),
        same: placed, isOwn: isOwn,
        isContestable: adopted.contains(lane) && known.id.replica != identity.replica)
    }
    return found
  }

  private func lane(_ name: (replica: ReplicaNumber, epoch: UInt32)) -> Lane {
    Lane(zone: zone, replica: name.replica, epoch: name.epoch)
  }

  /// Whether the store's transactions are those of a segment, as far as its log has them.
  private func isHere(_ row: SegmentRow, of lane: Lane) throws -> Bool {
    if try row.first <= storage.retired(lane) { return true }
    var positions: [Position] = []
    for sequence in row.first...row.last {
      guard let position = try storage.log.position(of: lane.replica, lane.epoch, sequence, in: lane.zone)
      else {
        return false
      }
      positions.append(position)
    }
    // A header of the first version is over transactions that state the zone's owner.
    return try [false, true].contains { statesOwner in
      let bytes = try positions.map { try storage.logReader.bytes(at: $0, statingOwner: statesOwner) }
      return SegmentHeader.contentHash(of: bytes) == row.hash
    }
  }
}

/// A snapshot cannot be a zone's beginning until the user has decided about lanes that the store was to send for others.
struct ContestedBranches: Error {
  let branches: [PendingBranches.Branch]

  /// What to tell the user.
  func error(_ zone: ZoneID) -> StoreError { .contested(branches[0].lane, branches[0].contested, zone) }

  /// Notes which lanes these are, so that the user's answer finds them: see ``LaneSettlement``.
  ///
  /// - Returns: whether anything of that is new.
  func note(in zone: ZoneID, _ store: StoreTransaction) throws -> Bool {
    let storage = store.storage
    let (number, row) = try storage.zones.visible(zone)
    guard let token = row.token else { return false }
    var isNew = false
    for branch in branches {
      let lane = Lane(zone: number, replica: branch.lane.replica, epoch: branch.lane.epoch)
      let known = try storage.lanes.contest(of: lane.replica, lane.epoch, in: number, token)
      // It cannot be sent already.
      if known == branch.contested || known?.isByBase == true { continue }
      guard try storage.lanes.ships(lane.replica, lane.epoch, of: number, row, store.identity) else {
        continue
      }
      try storage.lanes.setContest(lane, branch.contested)
      isNew = true
    }
    return isNew
  }
}
