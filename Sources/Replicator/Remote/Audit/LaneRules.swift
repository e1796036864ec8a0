internal import OperationFormat

/// The rules that every segment of a log must keep. Every reader rejects what breaks one, and closes its writer's lane: see
/// `SegmentRules`. So does the audit, which says what readers leave out.
extension RemoteAudit {
  struct LaneID: Hashable, Comparable, Sendable {
    var replica: ReplicaID
    var epoch: UInt32

    static func < (left: LaneID, right: LaneID) -> Bool {
      (left.replica, left.epoch) < (right.replica, right.epoch)
    }
  }

  /// One lane of a log, by the segments that readers take.
  struct Lane: Sendable {
    /// Its last sequence.
    private(set) var last: UInt64 = 0
    /// The offset of the segment with it.
    private(set) var lastOffset: UInt64 = 0
    /// Its segments, the rejected ones counted.
    var segments: UInt64 = 0
    /// The offset of the segment by which readers close it.
    var closedAt: UInt64?
    /// How many lanes it continues, its parent's own lineage counted.
    private(set) var lineage = 0
    /// The sequences from which on a greater base counts, and that base.
    private var bases: [(first: UInt64, base: UInt64)] = []
    /// The hashes of the segments that have their sequences alone, by the last of them.
    private var hashes: [UInt64: ContentHash] = [:]
    /// The first bytes of its transactions' hashes, of runs of sequences: ascending.
    private var contents: [(first: UInt64, hashes: [UInt64])] = []

    /// What all up to a sequence had seen.
    func base(through sequence: UInt64) -> UInt64 {
      var (low, high) = (0, bases.count)
      while low < high {
        let middle = (low + high) / 2
        if bases[middle].first <= sequence { low = middle + 1 } else { high = middle }
      }
      return low == 0 ? 0 : bases[low - 1].base
    }

    /// The hash of the segment that ends at a sequence; nil if other segments have some of its sequences.
    func hash(endingAt sequence: UInt64) -> ContentHash? { hashes[sequence] }

    /// What stands for the bytes of a transaction; nil if they are not known.
    func content(of sequence: UInt64) -> UInt64? {
      var (low, high) = (0, contents.count)
      while low < high {
        let middle = (low + high) / 2
        if contents[middle].first <= sequence { low = middle + 1 } else { high = middle }
      }
      guard low > 0 else { return nil }
      let (first, hashes) = contents[low - 1]
      return sequence - first < UInt64(hashes.count) ? hashes[Int(sequence - first)] : nil
    }

    mutating func append(_ header: SegmentHeader, at offset: UInt64, _ lineage: LineageOfSegment) {
      // One that is there twice says nothing new.
      guard header.sequences.upperBound > last else { return }
      if header.sequences.lowerBound == last + 1 { hashes[header.sequences.upperBound] = header.contentHash }
      if let run = contents.last, run.first + UInt64(run.hashes.count) == lineage.firstNew {
        contents[contents.count - 1].hashes += lineage.contents
      } else if !lineage.contents.isEmpty {
        contents.append((lineage.firstNew, lineage.contents))
      }
      (last, lastOffset) = (header.sequences.upperBound, offset)
      bases += lineage.bases
      self.lineage = max(self.lineage, lineage.count)
    }
  }

  /// What a segment's transactions say that they had seen, and what they continue.
  struct LineageOfSegment: Sendable {
    var bases: [(first: UInt64, base: UInt64)] = []
    var count = 0
    /// The first of its sequences that the lane did not have, and what stands for the bytes from there on.
    var firstNew: UInt64 = 0
    var contents: [UInt64] = []
  }

  /// Whether an entry before nobody can read: readers have not come past it, and nobody knows what it says.
  private func hasUnreadable(_ index: Int) -> Bool { !logs[index].unreadable.isEmpty }

  /// Checks a segment against the rules, and adds it to its lane.
  ///
  /// - Parameter broken: the rule that its content breaks; nil if it breaks none.
  mutating func checkRules(
    _ header: SegmentHeader, _ transactions: [[UInt8]], at offset: UInt64, _ index: Int, broken: String? = nil
  ) {
    let place = "\(ObjectName.entry(of: logs[index].incarnation, offset))"
    let id = LaneID(replica: header.replica, epoch: header.epoch)
    logs[index].lanes[id, default: Lane()].segments += 1
    if let closed = logs[index].lanes[id]?.closedAt {
      logs[index].consequences.append(
        Problem(place: place, message: "readers have closed its writer's lane at offset \(closed)"))
      return
    }
    var lineage = LineageOfSegment()
    let message =
      broken ?? problemOfBase(header, offset, index) ?? problemOfSequences(header, id, offset, index)
      ?? problemOfLineage(header, transactions, id, index, &lineage)
    guard let message else {
      logs[index].lanes[id]?.append(header, at: offset, lineage)
      return
    }
    guard hasUnreadable(index) else {
      logs[index].consequences.append(Problem(place: place, message: message))
      logs[index].lanes[id]?.closedAt = offset
      return
    }
    // It may keep the rules once that was mended.
    problems.append(Problem(place: place, message: message))
    logs[index].lanes[id]?.append(header, at: offset, lineage)
  }

  // MARK: Rules

  private func problemOfBase(_ header: SegmentHeader, _ offset: UInt64, _ index: Int) -> String? {
    guard header.base > 0 else { return nil }
    guard header.base < offset else { return "its base \(header.base) is not before it" }
    // Of what nobody can read, and of what was given up, nobody knows the hash. Nor of what a remote has left out that gives
    // its segments other offsets than asked for.
    guard header.base <= UInt64(logs[index].hashes.count),
      let found = logs[index].hashes[Int(header.base) - 1],
      !logs[index].tombstones.contains(where: { $0.offset == header.base }), found != header.baseHash
    else { return nil }
    return "its base \(header.base) is another segment than it says"
  }

  /// Each writer's sequences begin at 1 and follow, and each of its segments names the one before.
  private func problemOfSequences(
    _ header: SegmentHeader, _ id: LaneID, _ offset: UInt64, _ index: Int
  ) -> String? {
    let first = header.sequences.lowerBound
    guard let lane = logs[index].lanes[id] else { return nil }
    guard first - 1 <= lane.last else {
      // An entry between that nobody can read is the problem, and is told.
      if let unreadable = logs[index].unreadable.last, unreadable > lane.lastOffset { return nil }
      let isGivenUp = logs[index].tombstones.contains { lane.lastOffset < $0.offset && $0.offset < offset }
      return "it begins at sequence \(first), and "
        + (lane.last == 0 ? "its writer has none before it" : "\(lane.last) was the last")
        + (isGivenUp ? ": what is between was given up" : "")
    }
    // It can be told only where the segment before has its sequences alone.
    guard first > 1, let before = lane.hash(endingAt: first - 1), before != header.previousHash else {
      return nil
    }
    return "it does not name its writer's segment before it"
  }

  /// Who has seen a transaction has seen all that it had seen: a transaction's base is at least that of the one before it, and
  /// that of its parent.
  private func problemOfLineage(
    _ header: SegmentHeader, _ transactions: [[UInt8]], _ id: LaneID, _ index: Int,
    _ lineage: inout LineageOfSegment
  ) -> String? {
    guard let lane = logs[index].lanes[id] else { return nil }
    var before = lane.base(through: .max)
    for bytes in transactions {
      var reader = ByteReader(bytes.span.bytes)
      guard let found = try? TransactionHeader.read(from: &reader) else { return nil }
      let content = Self.content(of: bytes)
      guard found.sequence > lane.last else {
        // One that is there twice says nothing new.
        if lane.content(of: found.sequence).map({ $0 == content }) ?? true { continue }
        return "its transaction \(found.sequence) has other bytes than the log has before it"
      }
      if lineage.contents.isEmpty { lineage.firstNew = found.sequence }
      lineage.contents.append(content)
      let base = found.base.map { $0.incarnation == header.incarnation ? $0.offset : 0 } ?? 0
      if base < before {
        return "its transaction \(found.sequence) had seen offset \(base), and the one before it \(before)"
      }
      if base > before { lineage.bases.append((found.sequence, base)) }
      before = base
      guard let parent = found.parent else { continue }
      if let problem = problem(of: parent, of: found, base, index, &lineage) { return problem }
    }
    return nil
  }

  /// The first bytes of a transaction's hash: enough to tell branches of a lane apart.
  private static func content(of bytes: [UInt8]) -> UInt64 {
    ContentHash(of: bytes.span.bytes).bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  private func problem(
    of parent: TransactionID, of header: TransactionHeader, _ base: UInt64, _ index: Int,
    _ lineage: inout LineageOfSegment
  ) -> String? {
    guard header.sequence == 1 else { return "its transaction \(header.sequence) names a parent" }
    let known = logs[index].lanes[LaneID(replica: parent.replica, epoch: parent.epoch)]
    guard let known, parent.sequence <= known.last,
      parent.replica != header.replica || parent.epoch != header.epoch
    else {
      // What nobody can read may have held it.
      return hasUnreadable(index) ? nil : "it names \(parent) as its parent, which is not before it"
    }
    lineage.count = known.lineage + 1
    let seen = known.base(through: parent.sequence)
    if base < seen { return "it had seen offset \(base), and its parent \(seen)" }
    return lineage.count > Limits.lineageMax ? "it continues more than \(Limits.lineageMax) lanes" : nil
  }
}
