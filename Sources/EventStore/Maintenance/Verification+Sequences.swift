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
      try source.readView.forEachStoredRow(in: state, after: nil) { name, row in
        // What cannot be read was told when rows were compared.
        try? source.readView.withWhole(row, state) { row in
          let index = try CellIndex(row)
          let entries = index.entries.filter { $0.cell.layout == .units }
          if entries.isEmpty { return }
          let made = try MadeRow(of: name, state, fresh)
          for entry in entries {
            let problem = try index.withRow(of: entry, in: row) {
              Self.problem(of: entry.cell, in: $0, state, source, made, fresh)
            }
            guard let problem else { continue }
            let record = location(ofRecord: name.bytes, in: state.rawValue)
            report.add(.record, "\(record), cell \(entry.cell.rawValue)", problem)
          }
        }
        try didCompare(progress)
        return true
      }
    }
  }

  /// A record's row as a fresh fold makes it.
  private struct MadeRow {
    let bytes: [UInt8]
    let index: CellIndex

    /// A record that is not there has no cells.
    init(of name: RawSpan, _ state: StateNumber, _ fresh: borrowing ReadTransaction) throws {
      let key = TableKey.record(state, name)
      let readView = fresh.readView
      let whole = try fresh.transaction.withValue(of: key.span, in: fresh.tables.records) { row in
        try readView.withWhole(row, state) { $0.bytes }
      }
      let row = whole ?? []
      index = try CellIndex(row.span.bytes)
      bytes = row
    }
  }

  private static func problem(
    of cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ source: borrowing ReadTransaction,
    _ made: MadeRow, _ fresh: borrowing ReadTransaction
  ) -> String? {
    do {
      let found = try CellReader(cell, in: row, state, source.readView).unitOrder()
      if let problem = try found.verify().first { return problem }
      let expected = try made.index.withRow(of: made.index.entry(of: cell), in: made.bytes.span.bytes) {
        row in
        row.isEmpty ? nil : try runs(CellReader(cell, in: row, state, fresh.readView).unitOrder())
      }
      return try runs(found) == expected ? nil : "its units differ from the log"
    } catch {
      return Self.text(error)
    }
  }

  private static func runs(_ sequence: UnitOrder<ReadView>) throws -> [UnitRun] {
    var runs: [UnitRun] = []
    try sequence.forEachRun { runs.append($0) }
    return runs
  }

  /// A record's row without what of its lists and texts depends on how their rows are cut.
  static func comparable(_ row: [UInt8]) -> [UInt8] {
    do {
      let span = row.span.bytes
      let entries = try CellIndex(span).entries.filter { $0.cell.layout == .units }
      if entries.isEmpty { return row }
      var roots = ByteWriter()
      var rest: [UInt8] = []
      var end = 0
      for entry in entries {
        let root = try UnitOrderRoot(span.extracting(entry.body))
        roots.append(varint: UInt64(entry.cell.rawValue))
        roots.append(varint: root.units)
        roots.append(varint: root.visible)
        rest += row[end..<entry.bytes.lowerBound]
        end = entry.bytes.upperBound
      }
      return rest + row[end...] + roots.bytes
    } catch {
      // A row that cannot be read is compared as it is.
      return row
    }
  }
}
