import LMDB
import OperationFormat

extension LogTable where Source == TableStorage {
  /// Appends an entry to the log, and its position to `sequences`.
  func append(_ header: LogEntryHeader, body: RawSpan) throws -> Position {
    let position = try source.lastPosition().next
    try source.withWriter { writer in
      LogEntryCodec.append(header, body: body, at: position, to: &writer)
      let key = TableKey.log(position)
      try transaction.put(writer.span, for: key.span, in: tables.log, .append)
    }
    try nameSequence(header, position)
    source.noteAppended(header, at: position)
    return position
  }

  /// Writes the position of a transaction into `sequences`.
  func nameSequence(_ header: LogEntryHeader, _ position: Position) throws {
    try source.putChecked(
      .sequence(header.zone, header.replica, header.epoch, header.sequence), in: tables.sequences
    ) { $0.append(varint: position.rawValue) }
  }

  /// Replaces a run of entries, and the removed runs on both sides, by one row.
  func remove(_ entries: ClosedRange<Position>) throws {
    var (first, last) = (entries.lowerBound, entries.upperBound)
    for position in first.rawValue...last.rawValue {
      try removeRow(Position(rawValue: position))
    }
    if first.rawValue > 1,
      let before = try removedRun(at: Position(rawValue: first.rawValue - 1))
    {
      first = before.lowerBound
    }
    if last.rawValue < .max, let after = try removedRun(at: last.next) {
      try removeRow(after.lowerBound)
      last = after.upperBound
    }
    try source.put(.log(first), in: tables.log) { LogEntryCodec.appendRemoved(first...last, to: &$0) }
  }

  private func removeRow(_ position: Position) throws {
    let key = TableKey.log(position)
    _ = try transaction.delete(key.span, in: tables.log)
  }
}
