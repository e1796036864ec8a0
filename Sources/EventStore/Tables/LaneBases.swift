import OperationFormat

/// What the transactions of a zone's lanes had seen of its remote log. What a lane's next one has seen is no less.
struct LaneBases<Source: TableReading>: TableView {
  let source: Source
  private let zone: ZoneNumber
  private let incarnation: IncarnationNumber

  init(_ source: Source, _ zone: ZoneNumber, _ incarnation: IncarnationNumber) {
    (self.source, self.zone, self.incarnation) = (source, zone, incarnation)
  }

  /// The sequences of a lane from which on the base is another, ascending; the first one is 1.
  ///
  /// - Complexity: linear in the lane's transactions that are in the log
  func steps(of replica: ReplicaNumber, _ epoch: UInt32, through last: UInt64) throws -> [BaseStep] {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    let retired = try lanes.retired(lane)
    var steps = try lanes.retiredBases(of: lane, incarnation)
    guard last > retired else { return steps }
    guard let runs = try log.positionRuns(of: lane, retired + 1...last) else {
      throw StoreError(
        .damaged, "the log lacks a transaction of replica number \(replica.rawValue), epoch \(epoch)",
        hint: StoreError.damageHint)
    }
    var sequence = retired
    for run in runs {
      for position in run.lowerBound.rawValue...run.upperBound.rawValue {
        sequence += 1
        let found = try log.withEntry(at: Position(rawValue: position)) { header, _ in
          try baseLimits.base(of: header)
        }
        let base = found.map { $0.incarnation == incarnation ? $0.offset : 0 } ?? 0
        if steps.last?.base != base { steps.append(BaseStep(sequence: sequence, base: base)) }
      }
    }
    return steps
  }
}

/// From a sequence on, a lane's transactions have seen the log up to an offset, 0 for nothing of its incarnation.
struct BaseStep: Hashable {
  var sequence: UInt64
  var base: UInt64
}
