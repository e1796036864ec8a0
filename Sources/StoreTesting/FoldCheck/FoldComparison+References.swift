import EventStore
import OperationFormat

/// The comparison of the index of references with the values that the oracle's heads show.
extension FoldComparison {
  /// The index has the rows that the record's values need, and no others; the flags in the record's row say
  /// so.
  mutating func compareReferences(_ driver: FoldDriver, _ record: Int, _ row: [UInt8]) throws {
    let places = try places(driver, record)
    let number = try RecordRow.recordNumber(of: row.span.bytes)
    let expected = FoldReferenceRows.rows(places, of: number, name: FoldNumbering.records[record])
    let found = driver.storage.contents.references.filter { FoldReferenceRows.record(of: $0.key) == number }
    var flags: RowFlags =
      places.isEmpty
      ? []
      : places.contains { $0.references.contains { $0.rule == .cascade } } ? [.refers, .cascades] : .refers
    if !driver.floors.isEmpty, !history.flooredRecord(record, driver.view).isCreated {
      flags.insert(.uncreated)
      history.coverage.recordsNotCreated += 1
    }
    history.coverage.references += places.reduce(0) { $0 + $1.references.count }
    guard found.map(\.key) == expected.map(\.key), found.map(\.row) == expected.map(\.row) else {
      throw FoldMismatch(
        place: "the references of record r\(record)", expected: expected.map { "\($0.key): \($0.row)" },
        found: found.map { "\($0.key): \($0.row)" })
    }
    guard RecordRow.flags(of: row.span.bytes) == flags else {
      throw FoldMismatch(
        place: "the flags of record r\(record)", expected: ["\(flags)"],
        found: ["\(RecordRow.flags(of: row.span.bytes))"])
    }
  }

  /// The places of a record that show references.
  private mutating func places(_ driver: FoldDriver, _ record: Int) throws -> [FoldReferenceRows.Place] {
    var places: [FoldReferenceRows.Place] = []
    for field in history.cells.ofFields where history.oracle.isUsed(history.cell(record, field)) {
      find(driver, record, field)
      guard let group = history.cells.group(of: field), let winner = expected.first,
        let value = group.kind.referringValue(winner.content, element: group.element)
      else { continue }
      FoldReferenceRows.add(value, at: driver.path(field), to: &places)
    }
    for place in history.sequences.indices where history.sequences[place].name.record == record {
      let name = history.sequences[place].name
      let parts = history.parts(at: place, driver.view)
      for part in parts {
        for item in part.items {
          let unit = part.name(of: item)
          guard let value = item.values.first?.content.value, let maker = unit.maker else { continue }
          let replica = driver.storage.replicaNumber(of: maker.replica) ?? .none
          var element = ByteWriter()
          element.append(3)
          element.append(bigEndian: replica.rawValue)
          element.append(bigEndian: maker.epoch)
          element.append(bigEndian: unit.number)
          let path = CellPath(driver.cell(name), ElementName(bytes: element.bytes))
          FoldReferenceRows.add(value, at: path, to: &places)
        }
      }
    }
    return places
  }
}
