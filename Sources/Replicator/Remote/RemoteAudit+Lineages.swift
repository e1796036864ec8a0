internal import OperationFormat

extension RemoteAudit {
  /// What the transactions of one lane say that they had seen.
  struct Lane: Sendable {
    /// The sequences from which on a greater base counts, and that base.
    private var bases: [(first: UInt64, base: UInt64)] = []
    private(set) var last: UInt64 = 0
    /// How many lanes it continues, its parent's own lineage counted.
    var lineage = 0

    /// What all up to a sequence had seen.
    func base(through sequence: UInt64) -> UInt64 {
      var (low, high) = (0, bases.count)
      while low < high {
        let middle = (low + high) / 2
        if bases[middle].first <= sequence { low = middle + 1 } else { high = middle }
      }
      return low == 0 ? 0 : bases[low - 1].base
    }

    mutating func append(_ sequence: UInt64, base: UInt64) {
      last = max(last, sequence)
      if base > bases.last?.base ?? 0 { bases.append((sequence, base)) }
    }
  }

  /// Who has seen a transaction has seen all that it had seen: a transaction's base is at least that of the one before it, and
  /// that of its parent.
  ///
  /// - Returns: what is wrong with a segment's transactions, the first of it.
  mutating func checkLineage(_ header: SegmentHeader, _ transactions: [[UInt8]], _ index: Int) -> String? {
    let id = LaneID(replica: header.replica, epoch: header.epoch)
    var lane = logs[index].lanes[id] ?? Lane()
    defer { logs[index].lanes[id] = lane }
    for bytes in transactions {
      var reader = ByteReader(bytes.span.bytes)
      guard let found = try? TransactionHeader.read(from: &reader) else { return nil }
      // One that lies there twice says nothing new.
      guard found.sequence > lane.last else { continue }
      let base = found.base.map { $0.incarnation == header.incarnation ? $0.offset : 0 } ?? 0
      let before = lane.base(through: .max)
      lane.append(found.sequence, base: base)
      if base < before {
        return "its transaction \(found.sequence) had seen offset \(base), and the one before it \(before)"
      }
      guard let parent = found.parent else { continue }
      if let problem = check(parent, of: found, base, index, &lane) { return problem }
    }
    return nil
  }

  private func check(
    _ parent: TransactionID, of header: TransactionHeader, _ base: UInt64, _ index: Int, _ lane: inout Lane
  ) -> String? {
    guard header.sequence == 1 else { return "its transaction \(header.sequence) names a parent" }
    let known = logs[index].lanes[LaneID(replica: parent.replica, epoch: parent.epoch)]
    guard let known, parent.sequence <= known.last,
      parent.replica != header.replica || parent.epoch != header.epoch
    else {
      // What nobody can read may have held it.
      return logs[index].isReadable ? "it names \(parent) as its parent, which is not before it" : nil
    }
    lane.lineage = known.lineage + 1
    let seen = known.base(through: parent.sequence)
    if base < seen { return "it had seen offset \(base), and its parent \(seen)" }
    return lane.lineage > Limits.lineageMax ? "it continues more than \(Limits.lineageMax) lanes" : nil
  }

  struct LaneID: Hashable, Sendable {
    var replica: ReplicaID
    var epoch: UInt32
  }
}
