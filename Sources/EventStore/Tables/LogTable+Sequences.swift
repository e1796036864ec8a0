import LMDB
import OperationFormat

/// The rows of `sequences`, which say where in the log each transaction is.
extension LogTable {
  /// The position of a transaction; nil if the store does not have it.
  func position(
    of replica: ReplicaNumber, _ epoch: UInt32, _ sequence: UInt64, in zone: ZoneNumber
  ) throws -> Position? {
    let lane = Lane(zone: zone, replica: replica, epoch: epoch)
    if let known = source.logCache.position(of: lane, sequence) { return known }
    guard let run = try sequenceRun(of: lane, atMost: sequence), let position = run.position(of: sequence)
    else { return nil }
    source.logCache.note(run, of: lane)
    return position
  }

  /// The last run of a lane that begins at or before a sequence; nil if there is none.
  func sequenceRun(of lane: Lane, atMost sequence: UInt64) throws -> SequenceRun? {
    var cursor = try transaction.openCursor(tables.sequences)
    guard try cursor.seek(atMost: TableKey.sequence(lane, sequence).span) else { return nil }
    return try cursor.withEntry { key, row in
      guard try key.isSequence(of: lane) else { return nil }
      return try SequenceRun(CheckedRow.content(of: row, under: key), under: key)
    }
  }

  /// The last run of a lane; nil if the store has no transaction of it.
  func lastSequenceRun(of lane: Lane) throws -> SequenceRun? {
    var cursor = try transaction.openCursor(tables.sequences)
    guard try cursor.seek(atMost: TableKey.sequence(lane, .max).span) else { return nil }
    return try cursor.withCheckedEntry { key, row in
      try key.isSequence(of: lane) ? SequenceRun(row, under: key) : nil
    }
  }

  /// The positions of a lane's transactions after a position, in runs, the last ones first.
  ///
  /// - Complexity: linear in the runs
  func positionRuns(of lane: Lane, after position: Position) throws -> [ClosedRange<Position>] {
    var runs: [ClosedRange<Position>] = []
    var cursor = try transaction.openCursor(tables.sequences)
    var isThere = try cursor.seek(atMost: TableKey.sequence(lane, .max).span)
    while isThere {
      let run = try cursor.withCheckedEntry { key, row in
        try key.isSequence(of: lane) ? SequenceRun(row, under: key) : nil
      }
      // A lane's positions grow with its sequences: going back from the last one reads only what is needed.
      guard let found = run?.positions, found.upperBound > position else { break }
      runs.append(max(found.lowerBound, position.next)...found.upperBound)
      isThere = try cursor.previous()
    }
    return runs
  }

  /// The positions of consecutive transactions of a lane, in runs.
  ///
  /// - Returns: nil if one is missing.
  /// - Complexity: linear in the runs
  func positionRuns(of lane: Lane, _ sequences: ClosedRange<UInt64>) throws -> [ClosedRange<Position>]? {
    var runs: [ClosedRange<Position>] = []
    var next = sequences.lowerBound
    while true {
      guard let run = try sequenceRun(of: lane, atMost: next), let first = run.position(of: next) else {
        return nil
      }
      let last = min(run.last, sequences.upperBound)
      runs.append(first...Position(rawValue: first.rawValue + (last - next)))
      if last == sequences.upperBound { return runs }
      next = last + 1
    }
  }
}
