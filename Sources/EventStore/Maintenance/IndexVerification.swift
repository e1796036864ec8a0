import LMDB
import OperationFormat

/// Verifies indexes: each has what its records have, and nothing else.
struct IndexVerification {
  private(set) var report: VerificationReport

  init(_ report: VerificationReport) { self.report = report }

  mutating func check(
    _ source: borrowing ReadTransaction, _ progress: (VerificationProgress) throws -> Void
  ) throws {
    let view = ReadView(
      source.transaction.alias(), tables: source.tables, interned: source.readView.interned, showsAll: true)
    let indexes: [StoredIndex]
    do {
      indexes = try view.indexes.all()
    } catch let error as FormatError {
      return report.add(.index, "indexes", Verification.text(error))
    }
    let built = try indexes.filter { $0.status == .built }.map { try PreparedIndex($0, view) }
    guard !built.isEmpty else { return }
    let total = UInt64(try source.transaction.statistics(of: source.tables.records).entries)
    var done: UInt64 = 0
    for state in try view.states.all() where try view.states.storedRow(of: state).status != .discarded {
      var counts = [Int](repeating: 0, count: built.count)
      // An own view: the zone may have two states while it is folded again.
      let shown = ReadView(
        source.transaction.alias(), tables: source.tables, interned: source.readView.interned, showsAll: true)
      let zone = try shown.show(state, of: shown.zone(of: state))
      try view.forEachStoredRow(in: state, after: nil) { name, row in
        done += 1
        if done % 4096 == 0 { try progress(VerificationProgress(step: .compare, done: done, total: total)) }
        do {
          try check(row, name, zone, state, shown, built, &counts)
        } catch  where error is FormatError || (error as? StoreError)?.code == .damaged {
          // What cannot be read was reported when rows were compared.
        }
        return true
      }
      for (index, count) in zip(built, counts) {
        try checkCount(of: index, state, expected: count, view)
      }
    }
  }

  /// All entries that a record has are there.
  private mutating func check(
    _ row: StoredRow, _ name: RawSpan, _ zone: Int, _ state: StateNumber, _ view: ReadView,
    _ indexes: [PreparedIndex],
    _ counts: inout [Int]
  ) throws {
    guard let type = try view.alive(row, state)?.type else { return }
    var maker = IndexedRecord()
    for (place, index) in indexes.enumerated() where index.types.contains(type) {
      try view.withWhole(row, state) { row in
        guard let record = try RecordView(row, name: name, zone: zone, state, view) else { return }
        let flags = try view.flags(inIndexesOf: row, state)
        try maker.forEachEntry(of: record, in: index, state, flags, RecordReader(view)) { key, row in
          counts[place] += 1
          let found = try view.transaction.withValue(of: key, in: view.tables.indexes!) {
            equalBytes($0, row)
          }
          guard found != true else { return }
          let id = try record.id
          report.add(
            .index, "\(index.stored.definition.name), \(id)",
            found == nil
              ? "the index lacks what the record has" : "the index says something else of the record")
        }
      }
      if maker.referenceParts & ~index.stored.referenceParts != 0 {
        report.add(
          .index, "\(index.stored.definition.name)", "the index does not know that it has references")
      }
    }
  }

  /// There are no others.
  private mutating func checkCount(
    of index: PreparedIndex, _ state: StateNumber, expected: Int, _ view: ReadView
  ) throws {
    let number = index.stored.number
    for (prefix, expected) in [
      (IndexEntry.prefix(state, number), expected), (IndexEntry.notesPrefix(state, number), 0),
    ] {
      var count = 0
      try view.transaction.forEachEntry(in: view.tables.indexes!, under: prefix) { _, _ in
        count += 1
        return true
      }
      if count > expected {
        report.add(
          .index, "\(index.stored.definition.name), \(try view.zone(of: state))",
          "the index has \(count) entries, and its records have \(expected)")
      }
    }
  }
}
