import OperationFormat

/// An element of a list.
struct Item {
  /// The unit that it was inserted as.
  let unit: UnitID
  /// The heads of its places and values, greatest first, with their whole payloads.
  let places: [OwnedHead]
  let values: [OwnedHead]
  let value: Value

  /// The heads of its values in public terms.
  func heads<Rows>(in cell: CellReader<Rows>) throws -> [CellHead] {
    let unit = try cell.rows.reference(unit)
    return try values.map {
      try cell.head($0, .item(unit, try Value(decoding: $0.payload.span.bytes)))
    }
  }

  /// The heads of its places in public terms: of each the unit that it names, and who made that.
  func placeHeads<Rows>(in cell: CellReader<Rows>) throws -> [CellHead] {
    try places.map { owned in
      let unit = try ItemRow.unit(owned.head, owned.payload.span.bytes)
      return try cell.head(owned, .item(cell.rows.reference(unit), .null))
    }
  }
}

extension RowReading {
  /// The heads of a register of a list's element, greatest first; none if it was removed.
  func itemHeads(
    _ register: ItemRegister, of item: UnitID, _ cell: CellNumber, record: UInt32, _ state: StateNumber
  ) throws -> [OwnedHead] {
    let key = ElementKey(state: state, record: record, cell: cell, item: item)
    return try withElement(key) { row in
      try heads(of: register.path(cell, item), in: row, ItemRow(row)[register], record: record, state)
    } ?? []
  }
}

/// Reading of lists.
extension CellReader {
  /// The elements of a list, in their order.
  func items() throws -> [Item] {
    let items = try itemsByUnit()
    var ordered: [Item] = []
    ordered.reserveCapacity(items.count)
    try unitOrder().forEachRun { run in
      guard run.isVisible else { return }
      for number in run.units.first.number..<run.units.end {
        let unit = run.element ?? UnitID(run.units.first.inserter, number)
        guard let item = items[unit] else { throw FormatError.missingElement }
        ordered.append(item)
      }
    }
    guard ordered.count == items.count else { throw FormatError.missingElement }
    return ordered
  }

  /// The elements of a list by the units that they were inserted as.
  func itemsByUnit() throws -> [UnitID: Item] {
    let record = try record
    var items: [UnitID: Item] = [:]
    try rows.forEachElement(under: .items(of: state, record: record, cell: cell)) { key, row in
      let unit = try ElementKey.item(of: key)
      items[unit] = try item(unit, row, record)
    }
    return items
  }

  /// The element of a list that was inserted as a unit.
  func item(_ unit: UnitID) throws -> Item {
    guard let item = try itemIfThere(unit) else { throw FormatError.missingElement }
    return item
  }

  /// The same; nil if it was removed.
  func itemIfThere(_ unit: UnitID) throws -> Item? {
    let record = try record
    let key = ElementKey(state: state, record: record, cell: cell, item: unit)
    return try rows.withElement(key) { try item(unit, $0, record) }
  }

  private func item(_ unit: UnitID, _ row: RawSpan, _ record: UInt32) throws -> Item {
    let layout = try ItemRow(row)
    func heads(_ register: ItemRegister) throws -> [OwnedHead] {
      try rows.heads(of: register.path(cell, unit), in: row, layout[register], record: record, state)
    }
    let values = try heads(.value)
    let payload = values[0].payload
    return Item(
      unit: unit, places: try heads(.place), values: values, value: try Value(decoding: payload.span.bytes))
  }
}
