import OperationFormat

/// Which entries of its log a snapshot has: all behind the floor, and of those before only what something still names.
///
/// A late transaction asks of each head that is not compacted whether its base reaches the head's place. Nothing else below a
/// floor is looked at one by one: see `SegmentRules`. So the entries that place such heads and units stay, and of each lane
/// the last one, which says how far the lane has come, and the one that closed it. All stores find the same ones, wherever
/// they began: what is named now was named in each snapshot since it has its place.
///
/// Of bases, those of the named transactions stay, and not those of the entries: an entry may repeat others that no snapshot
/// names any more, and a store that began with one does not know what these had seen.
final class SnapshotEntries {
  /// The floor; 0 for none.
  let foldedThrough: UInt64
  private let log: ReadView
  private let zone: ZoneNumber
  private let incarnation: IncarnationNumber
  private var kept: Set<UInt64> = []
  /// The last run of sequences of each lane that was looked up.
  private var runs: [SnapshotContent.Lane: (first: UInt64, last: UInt64, offset: UInt64)] = [:]
  /// Of each lane the sequences at or below the floor that something names, and the last one there.
  private var named: [SnapshotContent.Lane: Set<ClosedRange<UInt64>>] = [:]
  private var ends: [SnapshotContent.Lane: UInt64] = [:]

  init(_ log: ReadView, _ zone: ZoneNumber, _ incarnation: IncarnationNumber, foldedThrough: UInt64) {
    (self.log, self.zone, self.incarnation, self.foldedThrough) = (log, zone, incarnation, foldedThrough)
  }

  /// Notes that heads or units name transactions.
  func note(_ sequences: ClosedRange<UInt64>, of lane: SnapshotContent.Lane) throws {
    var next = sequences.lowerBound
    while next <= sequences.upperBound, let run = try run(of: next, lane) {
      let last = min(run.last, sequences.upperBound)
      if run.offset <= foldedThrough {
        kept.insert(run.offset)
        named[lane, default: []].insert(next...last)
      }
      next = last + 1
    }
  }

  /// The run of sequences with one place that has a sequence; nil if it has no place.
  private func run(
    of sequence: UInt64, _ lane: SnapshotContent.Lane
  ) throws -> (first: UInt64, last: UInt64, offset: UInt64)? {
    if let run = runs[lane], run.first...run.last ~= sequence { return run }
    let run = try log.placements.placement(of: lane.replica, lane.epoch, sequence, in: zone, incarnation)
    if let run { runs[lane] = run }
    return run
  }

  /// Ends the search: notes how far each lane has come up to the floor, and what has closed it.
  func finish(_ lanes: [SnapshotContent.Lane]) throws {
    for lane in lanes { try noteEnd(of: lane) }
  }

  private func noteEnd(of lane: SnapshotContent.Lane) throws {
    let last = try log.placements.lastPlaced(
      lane.replica, lane.epoch, in: zone, incarnation, before: foldedThrough + 1)
    if last > 0 {
      ends[lane] = last
      try note(last...last, of: lane)
    }
    let closure = try log.lanes.closure(of: lane.replica, lane.epoch, in: zone, incarnation)
    if let closure, closure <= foldedThrough { kept.insert(closure) }
  }

  func has(_ offset: UInt64) -> Bool { offset > foldedThrough || kept.contains(offset) }

  /// How many there are up to an offset behind the floor.
  func count(upTo offset: UInt64) -> UInt64 { UInt64(kept.count) + offset - foldedThrough }

  /// A lane's bases, without those of transactions at or below the floor that nothing names.
  func folded(_ steps: [BaseStep], of lane: SnapshotContent.Lane) -> [BaseStep] {
    guard let end = ends[lane] else { return steps }
    var found = [BaseStep(sequence: 1, base: 0)]
    func add(_ sequence: UInt64, _ base: UInt64) {
      if found[found.count - 1].base == base { return }
      if found[found.count - 1].sequence == sequence { found.removeLast() }
      found.append(BaseStep(sequence: sequence, base: base))
    }
    var index = 0
    for sequences in (named[lane] ?? []).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      while index < steps.count, steps[index].sequence <= sequences.lowerBound { index += 1 }
      if index > 0 { add(sequences.lowerBound, steps[index - 1].base) }
      while index < steps.count, steps[index].sequence <= sequences.upperBound {
        add(steps[index].sequence, steps[index].base)
        index += 1
      }
    }
    for step in steps where step.sequence > end { add(step.sequence, step.base) }
    return found
  }
}
