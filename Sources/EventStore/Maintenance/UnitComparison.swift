import LMDB
import OperationFormat

/// Compares lists and texts by what they say: how their rows are cut depends on the order in which they were
/// changed.
enum UnitComparison {
  /// What is wrong with the lists and texts of a record, by cell: each must be what a fresh fold makes, and
  /// its rows must fit each other.
  static func problems(
    in row: RawSpan, of name: RawSpan, _ state: StateNumber, _ source: borrowing ReadTransaction,
    _ fresh: borrowing ReadTransaction
  ) throws -> [(cell: CellNumber, problem: String)] {
    let index = try CellIndex(row)
    let entries = index.entries.filter { $0.cell.layout == .units }
    if entries.isEmpty { return [] }
    let made = try MadeRow(of: name, state, fresh)
    var found: [(cell: CellNumber, problem: String)] = []
    for entry in entries {
      let problem = try index.withRow(of: entry, in: row) {
        Self.problem(of: entry.cell, in: $0, state, source, made, fresh)
      }
      if let problem { found.append((entry.cell, problem)) }
    }
    return found
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
        try readView.unpackedRow(StoredRow(row), state)
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
      let found = try CellReader(cell, in: StoredRow(row), state, source.readView).unitOrder()
      if let problem = try found.verify().first { return problem }
      return try made.index.withRow(of: made.index.entry(of: cell), in: made.bytes.span.bytes) { row in
        guard !row.isEmpty else { return "its units differ from the log" }
        let expected = try CellReader(cell, in: StoredRow(row), state, fresh.readView).unitOrder()
        let runs = try runs(found)
        guard try runs == Self.runs(expected) else { return "its units differ from the log" }
        return try runs.allSatisfy { try haveSameMakers($0.units, found, expected) }
          ? nil : "the operations that made its units differ from the log"
      }
    } catch {
      return Verification.text(error)
    }
  }

  /// Whether the same operations made units in both.
  private static func haveSameMakers(
    _ units: UnitRange, _ found: UnitOrder<ReadView>, _ expected: UnitOrder<ReadView>
  ) throws -> Bool {
    var next = units.first.number
    let end = next + units.count
    while next < end {
      let unit = UnitID(units.first.inserter, next)
      guard let maker = try found.tree.makerRow(atMost: unit)?.operation(making: next),
        let other = try expected.tree.makerRow(atMost: unit)?.operation(making: next), maker == other
      else { return false }
      next = maker.units.upperBound
    }
    return true
  }

  private static func runs(_ order: UnitOrder<ReadView>) throws -> [UnitRun] {
    var runs: [UnitRun] = []
    try order.forEachRun { runs.append($0) }
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
