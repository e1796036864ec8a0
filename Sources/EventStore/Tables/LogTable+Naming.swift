import LMDB
import OperationFormat

/// Writes the rows of `sequences`.
extension LogTable where Source == TableStorage {
  /// Writes the position of a transaction that was appended.
  func nameAppended(_ header: LogEntryHeader, _ position: Position) throws {
    let lane = header.lane
    let last = try source.lastSequenceRun(of: lane)
    if let last, header.sequence <= last.last {
      try nameSequence(header, position)
      return
    }
    let run =
      last?.extended(with: header.sequence, at: position) ?? SequenceRun(header.sequence, at: position)
    try put(run, of: lane)
    source.noteLastSequences(run, of: lane)
  }

  /// Writes the position of any transaction into `sequences`, unless it is there.
  func nameSequence(_ header: LogEntryHeader, _ position: Position) throws {
    let (lane, sequence) = (header.lane, header.sequence)
    if source.logCache.position(of: lane, sequence) == position { return }
    if let known = try readableRun(of: lane, atMost: sequence), let named = known.position(of: sequence) {
      source.logCache.note(known, of: lane)
      if named == position { return }
      try removeSequences(sequence...sequence, of: lane)
    }
    source.forgetSequences(of: lane)
    let before = sequence > 1 ? try readableRun(of: lane, atMost: sequence - 1) : nil
    guard let extended = before?.extended(with: sequence, at: position) else {
      return try put(SequenceRun(sequence, at: position), of: lane)
    }
    try put(extended, of: lane)
    // A damaged row.
    let key = TableKey.sequence(lane, sequence)
    _ = try transaction.delete(key.span, in: tables.sequences)
  }

  /// As ``sequenceRun(of:atMost:)``; nil too for a damaged row, which is rewritten.
  private func readableRun(of lane: Lane, atMost sequence: UInt64) throws -> SequenceRun? {
    do {
      return try sequenceRun(of: lane, atMost: sequence)
    } catch is FormatError {
      return nil
    }
  }

  /// Removes the names of consecutive transactions of a lane.
  func removeSequences(_ sequences: ClosedRange<UInt64>, of lane: Lane) throws {
    source.forgetSequences(of: lane)
    // Of the run that begins before them, what is before and after them stays.
    if let run = try sequenceRun(of: lane, atMost: sequences.lowerBound),
      let before = run.part(before: sequences.lowerBound), before != run
    {
      try put(before, of: lane)
      if let after = run.part(after: sequences.upperBound) { try put(after, of: lane) }
    }
    while let run = try firstRun(of: lane, in: sequences) {
      let key = TableKey.sequence(lane, run.first)
      _ = try transaction.delete(key.span, in: tables.sequences)
      if let after = run.part(after: sequences.upperBound) { try put(after, of: lane) }
    }
  }

  /// The first run of a lane that begins with one of some sequences.
  func firstRun(of lane: Lane, in sequences: ClosedRange<UInt64>) throws -> SequenceRun? {
    var cursor = try transaction.openCursor(tables.sequences)
    guard try cursor.seek(atOrAfter: TableKey.sequence(lane, sequences.lowerBound).span) else { return nil }
    return try cursor.withEntry { key, row in
      guard try key.isSequence(of: lane), try key.bigEndian64(at: 12) <= sequences.upperBound else {
        return nil
      }
      return try SequenceRun(CheckedRow.content(of: row, under: key), under: key)
    }
  }

  func put(_ run: SequenceRun, of lane: Lane) throws {
    try source.putChecked(.sequence(lane, run.first), in: tables.sequences) { run.append(to: &$0) }
  }
}
