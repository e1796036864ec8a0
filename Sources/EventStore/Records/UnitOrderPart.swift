package import OperationFormat

/// Units of a list or a text that are told together, in identities: the same ones in every store that has folded the same.
package struct UnitOrderPart: Hashable, Sendable {
  /// An operation that made some of the units, in their order.
  package struct Maker: Hashable, Sendable {
    package var sequence: UInt64
    package var index: UInt32
    package var units: UInt64

    package init(sequence: UInt64, index: UInt32, units: UInt64) {
      self.sequence = sequence
      self.index = index
      self.units = units
    }
  }

  /// An element of a list that is there.
  package struct Item: Hashable, Sendable {
    /// The unit that it was inserted as.
    package var number: UInt64
    /// Greatest first; each names the unit of the place.
    package var places: [CellHead]
    package var values: [CellHead]

    package init(number: UInt64, places: [CellHead], values: [CellHead]) {
      self.number = number
      self.places = places
      self.values = values
    }
  }

  /// The first unit; the others have the numbers that follow.
  package var first: UnitReference
  package var count: UInt64
  /// The left origin of the first, nil for the start.
  package var left: UnitReference?
  /// The right origin of all, nil for the end.
  package var right: UnitReference?
  package var isVisible: Bool
  /// The element that a move has put there.
  package var element: UnitReference?
  /// The UTF-8 of what is visible of a text.
  package var text: [UInt8]
  package var makers: [Maker]
  /// Those of the units that are elements of a list.
  package var items: [Item]

  package init(
    first: UnitReference, count: UInt64, left: UnitReference?, right: UnitReference?, isVisible: Bool,
    element: UnitReference?, text: [UInt8], makers: [Maker], items: [Item]
  ) {
    self.first = first
    self.count = count
    self.left = left
    self.right = right
    self.isVisible = isVisible
    self.element = element
    self.text = text
    self.makers = makers
    self.items = items
  }
}

extension UnitOrderPart: CustomStringConvertible {
  package var description: String {
    let shown = String(decoding: text, as: UTF8.self)
    let origins = "\(left.map { "\($0)" } ?? "start")–\(right.map { "\($0)" } ?? "end")"
    return "\(first)+\(count) \(isVisible ? "shown" : "hidden") “\(shown)” \(origins)"
      + (element.map { " of \($0)" } ?? "") + " by \(makers.map { "\($0.sequence).\($0.index)×\($0.units)" })"
      + (items.isEmpty ? "" : " \(items)")
  }
}

extension ReadView {
  /// A list or a text, part by part.
  func forEachPart(
    of cell: CellNumber, in row: RawSpan, _ state: StateNumber, _ body: (UnitOrderPart) throws -> Void
  ) throws {
    let sequence = try sequence(of: cell, in: row, state)
    let items = try cell.kind == .list ? itemsByUnit(of: cell, in: row, state) : [:]
    try sequence.forEachRun { run in
      let inserter = run.units.first.inserter
      try body(
        UnitOrderPart(
          first: reference(run.units.first), count: run.units.count, left: run.left.map { try reference($0) },
          right: run.right.map { try reference($0) }, isVisible: run.isVisible,
          element: run.element.map { try reference($0) }, text: run.text,
          makers: sequence.operations(making: run.units).map {
            UnitOrderPart.Maker(sequence: $0.sequence, index: $0.index, units: $0.units.count)
          },
          items: (run.units.first.number..<run.units.end).compactMap { number in
            try items[UnitID(inserter, number)].map { item in
              UnitOrderPart.Item(
                number: number, places: try item.places.map { try placeHead($0) },
                values: try item.values.map { try itemHead($0, item) })
            }
          }))
    }
  }

  /// The parts of a list or a text, also of a record that is not visible.
  func parts(of field: Name, _ kind: FieldKind, _ record: RecordID) throws -> [UnitOrderPart] {
    guard let number = try number(of: field) else { return [] }
    return try withStoredRow(of: record, field: number) { row, state in
      var parts: [UnitOrderPart] = []
      try forEachPart(of: CellNumber(number, kind), in: row, state) { parts.append($0) }
      return parts
    } ?? []
  }

  /// A head of an element's places in public terms.
  private func placeHead(_ owned: OwnedHead) throws -> CellHead {
    let unit = try reference(try ItemRow.unit(owned.head, owned.payload.span.bytes))
    guard let maker = unit.maker else { throw StoreError.missingElement }
    let id = TransactionID(replica: maker.replica, epoch: maker.epoch, sequence: owned.head.id.sequence)
    return CellHead(
      operation: OperationID(transaction: id, index: owned.head.id.index), timestamp: owned.head.timestamp,
      content: .item(unit, .null))
  }
}

extension ReadTransaction {
  /// The parts of a list or a text in their order, hidden ones too, whether or not the record is visible.
  package func parts(of field: Name, in record: RecordID, as kind: FieldKind) throws -> [UnitOrderPart] {
    try readView.parts(of: field, kind, record)
  }
}
