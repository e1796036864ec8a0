internal import EventStore
internal import OperationFormat

/// The rules that every segment of a log must keep: the same that readers check, see `SegmentRules`. A reader
/// rejects a segment that breaks one, and closes its lane. The audit reports what readers leave out.
struct LaneRules {
  /// A segment that breaks a rule.
  enum Violation {
    /// Every reader leaves it out.
    case leftOut(String)
    /// An entry before it cannot be read. Once that is repaired, the segment may keep the rules.
    case doubtful(String)
  }

  private var lanes: [LaneID: AuditedLane] = [:]
  /// The floor that counts: nothing at or below it is looked at one by one.
  private(set) var floor: UInt64 = 0

  init() {}

  /// The rules after what a snapshot has.
  init(after head: SnapshotHead) {
    floor = head.floor
    for lane in head.laneSummaries {
      lanes[LaneID(replica: lane.replica, epoch: lane.epoch)] = AuditedLane(lane)
    }
  }

  /// The lanes, in the order of replicas and epochs.
  var writers: [AuditedLog.Writer] {
    lanes.sorted { $0.key < $1.key }
      .map { id, lane in
        AuditedLog.Writer(
          replica: id.replica, epoch: id.epoch, lastSequence: lane.last, segments: lane.segments,
          base: lane.base(through: .max), lastOffset: lane.lastOffset, closedAt: lane.closedAt)
      }
  }

  /// Checks a segment, and adds it to its lane.
  ///
  /// - Parameters:
  ///   - log: what is known of the log before it.
  ///   - broken: the rule that its content breaks; nil if it breaks none.
  /// - Returns: nil if it keeps the rules.
  mutating func check(
    _ header: SegmentHeader, _ transactions: [[UInt8]], at offset: UInt64, in log: AuditedLog, broken: String?
  ) -> Violation? {
    let id = LaneID(replica: header.replica, epoch: header.epoch)
    var lane = lanes[id] ?? AuditedLane()
    // Taken out, so that it is changed in place.
    lanes[id] = nil
    defer { lanes[id] = lane }
    lane.segments += 1
    if let closed = lane.closedAt {
      return .leftOut("readers have closed its writer's lane at offset \(closed)")
    }
    var addition = AuditedLane.Addition()
    let message =
      broken ?? problemOfBase(header, offset, log) ?? problemOfSequences(header, lane, offset, log)
      ?? problemOfLineage(header, transactions, lane, log, &addition)
    guard let message else {
      lane.append(header, at: offset, addition)
      countFloors(of: transactions, lane)
      return nil
    }
    guard log.unreadable.isEmpty else {
      lane.append(header, at: offset, addition)
      return .doubtful(message)
    }
    lane.closedAt = offset
    return .leftOut(message)
  }

  private func problemOfBase(_ header: SegmentHeader, _ offset: UInt64, _ log: AuditedLog) -> String? {
    guard header.base > 0 else { return nil }
    guard header.base < offset else { return "its base \(header.base) is not before it" }
    // The hash of an entry that cannot be read, or was given up, is unknown. So is that of an offset which
    // a remote has skipped. At or below the floor, any log counts as the one that was seen.
    guard header.base > floor,
      let found = header.version == 1 ? log.hash(at: header.base) : log.chain(at: header.base)?.hash,
      found != header.baseProof, !log.isGivenUp(before: header.base, floor: floor)
    else { return nil }
    return "its writer had seen another log up to its base \(header.base)"
  }

  /// Each lane's sequences begin at 1 without gaps, and each of its segments names the one before.
  private func problemOfSequences(
    _ header: SegmentHeader, _ lane: AuditedLane, _ offset: UInt64, _ log: AuditedLog
  ) -> String? {
    let first = header.sequences.lowerBound
    guard first - 1 <= lane.last else {
      // If an entry in between cannot be read, that is the problem, and is reported.
      if let unreadable = log.unreadable.last, unreadable > lane.lastOffset { return nil }
      let isGivenUp = log.lastTombstone(through: offset - 1).map { $0 > lane.lastOffset } ?? false
      return "it begins at sequence \(first), and "
        + (lane.last == 0 ? "its writer has none before it" : "\(lane.last) was the last")
        + (isGivenUp ? ": an entry in between was given up" : "")
    }
    // Known only if the segment before shares no sequence with another.
    guard first > 1, lane.offset(of: first - 1) > floor, let before = lane.hash(endingAt: first - 1),
      before != header.previousHash
    else {
      return nil
    }
    return "it does not name its writer's segment before it"
  }

  /// Seeing is transitive: if a transaction has seen another, it has also seen all that the other had seen.
  /// So its base is at least that of the one before it, and that of its parent.
  private func problemOfLineage(
    _ header: SegmentHeader, _ transactions: [[UInt8]], _ lane: AuditedLane, _ log: AuditedLog,
    _ addition: inout AuditedLane.Addition
  ) -> String? {
    var before = lane.base(through: .max)
    for bytes in transactions {
      var reader = ByteReader(bytes.span.bytes)
      guard let found = try? TransactionHeader.read(from: &reader) else { return nil }
      let content = Self.content(of: bytes)
      guard found.sequence > lane.last else {
        // A transaction that the log has twice adds nothing.
        if lane.offset(of: found.sequence) <= floor { continue }
        if lane.content(of: found.sequence).map({ $0 == content }) ?? true { continue }
        return "its transaction \(found.sequence) has other bytes than the log has before it"
      }
      if addition.contents.isEmpty { addition.firstNew = found.sequence }
      addition.contents.append(content)
      var base = found.base.map { $0.incarnation == header.incarnation ? $0.offset : 0 } ?? 0
      if let limit = header.limit {
        let parent = found.parent.flatMap { lanes[LaneID(replica: $0.replica, epoch: $0.epoch)] }
        let inherited = max(before, parent.map { seen(by: found.parent?.sequence ?? 0, of: $0) } ?? 0)
        base = min(base, max(limit, inherited))
      }
      if base < before {
        return "its transaction \(found.sequence) had seen offset \(base), and the one before it \(before)"
      }
      if base > before { addition.bases.append((found.sequence, base)) }
      before = base
      guard let parent = found.parent else { continue }
      if let problem = problem(of: parent, of: found, base, log, &addition) { return problem }
    }
    return nil
  }

  private func problem(
    of parent: TransactionID, of header: TransactionHeader, _ base: UInt64, _ log: AuditedLog,
    _ addition: inout AuditedLane.Addition
  ) -> String? {
    guard header.sequence == 1 else { return "its transaction \(header.sequence) names a parent" }
    let known = lanes[LaneID(replica: parent.replica, epoch: parent.epoch)]
    guard let known, parent.sequence <= known.last,
      parent.replica != header.replica || parent.epoch != header.epoch
    else {
      // An entry that cannot be read may have had it.
      return log.unreadable.isEmpty ? "it names \(parent) as its parent, which is not before it" : nil
    }
    addition.lineage = known.lineage + 1
    let seen = seen(by: parent.sequence, of: known)
    if base < seen { return "it had seen offset \(base), and its parent \(seen)" }
    return addition.lineage > Limits.lineageMax ? "it continues more than \(Limits.lineageMax) lanes" : nil
  }

  /// Up to where a parent had seen the log. One at or below the floor counts as having seen nothing.
  private func seen(by sequence: UInt64, of lane: AuditedLane) -> UInt64 {
    lane.offset(of: sequence) > floor ? lane.base(through: sequence) : 0
  }

  /// Lets the floors count that a segment names, as readers do.
  private mutating func countFloors(of transactions: [[UInt8]], _ lane: AuditedLane) {
    for (sequence, named) in (try? SegmentCut.floors(namedBy: transactions)) ?? []
    where named > floor && named <= lane.base(through: sequence) { floor = named }
  }

  /// The first bytes of a transaction's hash: enough to distinguish branches of a lane.
  private static func content(of bytes: [UInt8]) -> UInt64 {
    ContentHash(of: bytes.span.bytes).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}
