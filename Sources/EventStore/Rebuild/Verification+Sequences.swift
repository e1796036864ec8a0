import LMDB
import OperationFormat

/// The step of a verification that looks at lists and texts: how their rows are cut depends on the order in which they were
/// changed, so they are compared by what they say.
extension Verification {
  /// Each list and text is what a fresh fold makes, and its rows fit each other.
  mutating func checkSequences(
    _ source: borrowing ReadTransaction, _ fresh: borrowing ReadTransaction, _ live: Set<UInt32>,
    _ progress: (VerificationProgress) throws -> Void
  ) throws {
    for state in live.sorted() {
      let state = StateNumber(rawValue: state)
      try source.snapshot.forEachStoredRow(in: state, after: nil) { name, row in
        // What cannot be read was told when rows were compared.
        try? source.snapshot.withWhole(row, state) { row in
          for cell in try RecordLayout.cells(of: row) where cell.kind?.isSequence ?? false {
            if let problem = Self.problem(of: cell, name, row, state, source, fresh) {
              let record = location(ofRecord: name.bytes, in: state.rawValue)
              report.add(.record, "\(record), cell \(cell.rawValue)", problem)
            }
          }
        }
        try didCompare(progress)
        return true
      }
    }
  }

  private static func problem(
    of cell: CellNumber, _ name: RawSpan, _ row: RawSpan, _ state: StateNumber,
    _ source: borrowing ReadTransaction, _ fresh: borrowing ReadTransaction
  ) -> String? {
    do {
      let found = try source.snapshot.sequence(of: cell, in: row, state)
      if let problem = try found.verify().first { return problem }
      let key = TableKey.record(state, name)
      let made = try fresh.transaction.withValue(of: key.span, in: fresh.tables.records) { row in
        try fresh.snapshot.withWhole(row, state) { row in
          try runs(try fresh.snapshot.sequence(of: cell, in: row, state))
        }
      }
      return try runs(found) == made ? nil : "its units differ from the log"
    } catch {
      return Self.text(error)
    }
  }

  private static func runs(_ sequence: UnitSequence<Snapshot>) throws -> [UnitRun] {
    var runs: [UnitRun] = []
    try sequence.forEachRun { runs.append($0) }
    return runs
  }

  /// A record's row without what of its lists and texts depends on how their rows are cut.
  static func comparable(_ row: [UInt8]) -> [UInt8] {
    do {
      let span = row.span.bytes
      let cells = try RecordLayout.cells(of: span).filter { $0.kind?.isSequence ?? false }
      if cells.isEmpty { return row }
      var parts: [Range<Int>] = []
      var roots = ByteWriter()
      for cell in cells {
        let place = try RecordLayout.place(of: cell, in: span)
        let root = try SequenceRoot(span.extracting(place.body))
        roots.append(varint: UInt64(cell.rawValue))
        roots.append(varint: root.units)
        roots.append(varint: root.visible)
        parts.append(place.entry)
      }
      var rest = row
      for part in parts.reversed() { rest.removeSubrange(part) }
      return rest + roots.bytes
    } catch {
      // A row that cannot be read is compared as it is.
      return row
    }
  }
}
