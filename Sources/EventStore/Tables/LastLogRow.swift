import OperationFormat

/// The last row of the log, as far as another entry may share it.
struct LastLogRow: ~Copyable {
  /// The position of its first entry.
  var first: Position
  /// The entry, if it has one of version 1.
  var entry: LogEntryHeader?
  /// Its entries, if it has several.
  var run: LogRun?

  /// Whether an entry that may share a row is the next one there, at a position.
  func accepts(_ header: LogEntryHeader, at position: Position) -> Bool {
    if let entry {
      return first.next == position && entry.lane == header.lane && entry.sequence &+ 1 == header.sequence
    }
    switch run {
    case .some(let run):
      return first.rawValue + UInt64(run.count) == position.rawValue && run.accepts(header)
    case .none: return false
    }
  }
}
