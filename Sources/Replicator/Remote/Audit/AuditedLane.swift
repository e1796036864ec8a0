internal import EventStore
internal import OperationFormat

/// One replica and epoch: what names a lane of a log.
struct LaneID: Hashable, Comparable, Sendable {
  var replica: ReplicaID
  var epoch: UInt32

  static func < (left: LaneID, right: LaneID) -> Bool {
    (left.replica, left.epoch) < (right.replica, right.epoch)
  }
}

/// One lane of a log, by the segments that readers take.
struct AuditedLane: Sendable {
  /// Its last sequence.
  private(set) var last: UInt64 = 0
  /// The offset of the segment with it.
  private(set) var lastOffset: UInt64 = 0
  /// Its segments, with the rejected ones.
  var segments: UInt64 = 0
  /// The offset of the segment by which readers close it.
  var closedAt: UInt64?
  /// How many lanes it continues, with those that its parent continues.
  private(set) var lineage = 0
  /// Each base, with the first sequence that has it.
  private var bases: [(first: UInt64, base: UInt64)] = []
  /// The offsets of its segments, by their last sequences: ascending.
  private var places: [(last: UInt64, offset: UInt64)] = []
  /// The hashes of the segments that share no sequence with another, by their last sequence.
  private var hashes: [UInt64: ContentHash] = [:]
  /// The first bytes of its transactions' hashes, of runs of sequences: ascending.
  private var contents: [(first: UInt64, hashes: [UInt64])] = []

  /// What a new segment adds to its lane: the bases and parents that its transactions name.
  struct Addition: Sendable {
    var bases: [(first: UInt64, base: UInt64)] = []
    /// How many lanes it continues.
    var lineage = 0
    /// The first of its sequences that the lane does not have, and the contents from there on.
    var firstNew: UInt64 = 0
    var contents: [UInt64] = []
  }

  init() {}

  /// A lane as a snapshot says it.
  init(_ summary: SnapshotHead.LaneSummary) {
    (last, closedAt, bases) = (summary.last, summary.closedAt, summary.bases)
    var before: UInt64 = 0
    for segment in summary.segments where segment.last > before {
      if segment.first == before + 1 { hashes[segment.last] = segment.hash }
      (before, lastOffset) = (segment.last, segment.offset)
      places.append((segment.last, segment.offset))
    }
  }

  /// The base of the transaction of a sequence.
  func base(through sequence: UInt64) -> UInt64 {
    let count = bases.prefixCount { $0.first <= sequence }
    return count == 0 ? 0 : bases[count - 1].base
  }

  /// The offset at which a sequence has its place; 0 if it has none.
  func offset(of sequence: UInt64) -> UInt64 {
    let count = places.prefixCount { $0.last < sequence }
    return count < places.count ? places[count].offset : 0
  }

  /// The hash of the segment that ends at a sequence; nil if other segments have some of its sequences.
  func hash(endingAt sequence: UInt64) -> ContentHash? { hashes[sequence] }

  /// The first bytes of a transaction's hash; nil if they are not known.
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

  mutating func append(_ header: SegmentHeader, at offset: UInt64, _ addition: Addition) {
    // A segment that the log has twice adds nothing.
    guard header.sequences.upperBound > last else { return }
    if header.sequences.lowerBound == last + 1 { hashes[header.sequences.upperBound] = header.contentHash }
    if let run = contents.last, run.first + UInt64(run.hashes.count) == addition.firstNew {
      contents[contents.count - 1].hashes += addition.contents
    } else if !addition.contents.isEmpty {
      contents.append((addition.firstNew, addition.contents))
    }
    (last, lastOffset) = (header.sequences.upperBound, offset)
    places.append((last, offset))
    bases += addition.bases
    lineage = max(lineage, addition.lineage)
  }
}
