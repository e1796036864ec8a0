import EventStore
import OperationFormat

/// The comparison of lists and texts.
extension FoldComparison {
  /// The parts of a list or a text, and those of its elements. Gives the number of the elements' rows.
  func compareSequence(
    _ driver: FoldDriver, at place: Int, _ cells: inout Set<CellNumber>
  ) throws -> Int {
    let name = history.sequences[place].name
    let expected = history.parts(at: place, driver.view)
    let found = try driver.parts(of: name)
    guard found == expected else {
      throw FoldMismatch(
        place: "the \(name.kind) of field \(name.field) of r\(name.record)",
        expected: expected.map(\.description), found: found.map(\.description))
    }
    // The numbers of units stay in the row, also of those that were dropped.
    guard history.sequences[place].oracle.isUsed(by: driver.folded) else { return 0 }
    let problems = try driver.problems(of: name)
    guard problems.isEmpty else {
      throw FoldMismatch(
        place: "the rows of the \(name.kind) of field \(name.field) of r\(name.record)", expected: [],
        found: problems)
    }
    cells.insert(driver.cell(name))
    history.coverage.units += expected.reduce(0) { $0 + Int($1.count) }
    let record = FoldNumbering.records[name.record]
    let row = try driver.storage.row(of: record.span.bytes, in: FoldNumbering.state) ?? []
    let number = try RecordRow.recordNumber(of: row.span.bytes)
    var rows = 0
    for part in expected {
      for item in part.items {
        rows += 1
        let unit = driver.unit(part.name(of: item))
        for (register, heads) in [(ItemRegister.place, item.places), (.value, item.values)] {
          // Heads that do not fit into an element's row have rows of their own.
          let apart = heads.dropFirst(Cell.inlineHeadsMax).map { driver.head($0) }
          guard !apart.isEmpty else { continue }
          let path = register.path(driver.cell(name), unit)
          rows += try apart.count + compareIndex(driver, number, path, apart, of: apart.count)
        }
      }
    }
    return rows
  }
}

extension UnitOrderPart {
  /// The unit that an element was inserted as.
  func name(of item: Item) -> UnitReference {
    element ?? UnitReference(maker: first.maker, number: item.number)
  }
}
