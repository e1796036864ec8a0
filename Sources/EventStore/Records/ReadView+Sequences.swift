import LMDB
import OperationFormat

/// Reading of lists and texts.
extension ReadView {
  /// The units of a list or a text.
  func sequence(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> UnitOrder<ReadView> {
    let place = try RecordLayout.place(of: cell, in: row)
    let root = try place.body.isEmpty ? UnitOrderRoot() : UnitOrderRoot(row.extracting(place.body))
    let keys = RunKeys(state: state, record: try RecordLayout.recordNumber(of: row), cell: cell)
    return UnitOrder(self, keys, root: root, isText: cell.kind == .text)
  }

  /// A unit in identities.
  func reference(_ unit: UnitID) throws -> UnitReference {
    UnitReference(
      maker: UnitMaker(replica: try replica(unit.replica), epoch: unit.epoch), number: unit.number)
  }

  // MARK: Text

  func text(of field: Name, in record: RecordID) throws -> String? {
    try withMergingCell(.text, of: field, in: record) { cell, row, state in
      try sequence(of: cell, in: row, state).text()
    }
  }

  func text(in range: Range<Int>, of field: Name, in record: RecordID) throws -> String? {
    try withMergingCell(.text, of: field, in: record) { cell, row, state in
      let sequence = try sequence(of: cell, in: row, state)
      try StoreError.check(range, of: sequence.count, field)
      return try sequence.text(in: range)
    }
  }

  /// What is seen of a text, in pieces that one operation each has made.
  func textRuns(of field: Name, in record: RecordID) throws -> [TextRun] {
    guard let number = try number(of: field) else { return [] }
    return try withStoredRow(of: record, field: number) { row, state in
      let sequence = try sequence(of: CellNumber(number, .text), in: row, state)
      var runs: [TextRun] = []
      try sequence.forEachRun { run in
        guard run.isVisible else { return }
        var scalars = String(decoding: run.text, as: UTF8.self).unicodeScalars[...]
        for (units, place, index) in try sequence.operations(making: run.units) {
          let text = scalars.prefix(Int(clamping: units.count))
          scalars = scalars.dropFirst(Int(clamping: units.count))
          let id = TransactionID(
            replica: try replica(units.first.replica), epoch: units.first.epoch, sequence: place)
          runs.append(
            TextRun(operation: OperationID(transaction: id, index: index), text: String(text)))
        }
      }
      return runs
    } ?? []
  }

  // MARK: Lists

  /// An element of a list.
  struct Item {
    /// The unit that it was inserted as.
    let unit: UnitID
    /// The heads of its places and values, greatest first, with their whole payloads.
    let places: [OwnedHead]
    let values: [OwnedHead]
    let value: Value
  }

  /// The elements of a list, in their order.
  func items(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [Item] {
    let sequence = try sequence(of: cell, in: row, state)
    let items = try itemsByUnit(of: cell, in: row, state)
    var ordered: [Item] = []
    ordered.reserveCapacity(items.count)
    try sequence.forEachRun { run in
      guard run.isVisible else { return }
      for number in run.units.first.number..<run.units.end {
        let unit = run.element ?? UnitID(run.units.first.inserter, number)
        guard let item = items[unit] else { throw StoreError.missingElement }
        ordered.append(item)
      }
    }
    guard ordered.count == items.count else { throw StoreError.missingElement }
    return ordered
  }

  /// The elements of a list by the units that they were inserted as.
  func itemsByUnit(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [UnitID: Item] {
    let record = try RecordLayout.recordNumber(of: row)
    var items: [UnitID: Item] = [:]
    let prefix = ElementKey.items(of: state, record: record, cell: cell)
    for (key, row) in try tables.elements(under: prefix, transaction) {
      let unit = try key.item
      items[unit] = try item(unit, row, of: cell, record, state)
    }
    return items
  }

  private func item(
    _ unit: UnitID, _ row: [UInt8], of cell: CellNumber, _ record: UInt32, _ state: StateNumber
  ) throws -> Item {
    let layout = try ItemRow(row.span.bytes)
    func heads(_ register: ItemRegister) throws -> [OwnedHead] {
      try self.heads(
        of: register.path(cell, unit), in: row.span.bytes, layout[register], record: record, state)
    }
    let values = try heads(.value)
    let payload = values[0].payload
    return Item(
      unit: unit, places: try heads(.place), values: values, value: try Value(decoding: payload.span.bytes))
  }

  func list(_ field: Name, of record: RecordID) throws -> [Value]? {
    try withMergingCell(.list, of: field, in: record) { cell, row, state in
      try list(of: cell, in: row, state)
    }
  }

  /// What a list reads. A reference that is nullified keeps its place, as null.
  func list(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [Value] {
    try items(of: cell, in: row, state).map { try shown($0.value, in: row, state) ?? .null }
  }

  func element(at index: Int, of field: Name, in record: RecordID) throws -> Value? {
    try withMergingCell(.list, of: field, in: record) { cell, row, state in
      let sequence = try sequence(of: cell, in: row, state)
      try StoreError.check(index..<index + 1, of: sequence.count, field)
      let (unit, element) = try sequence.unit(at: index)
      let number = try RecordLayout.recordNumber(of: row)
      let key = ElementKey(state: state, record: number, cell: cell, item: element ?? unit)
      let found = try transaction.withValue(of: key.bytes.span.bytes, in: tables.elements) { $0.bytes }
      guard let found else { throw StoreError.missingElement }
      let value = try item(element ?? unit, found, of: cell, number, state).value
      return try shown(value, in: row, state) ?? .null
    }
  }

  /// How many elements of a cell, or scalars of a text, are seen; 0 if the record is not there.
  func count(of field: Name, in record: RecordID, as kind: FieldKind) throws -> Int {
    try withMergingCell(kind, of: field, in: record) { cell, row, state in
      if kind.isSequence { return try sequence(of: cell, in: row, state).count }
      let place = try RecordLayout.place(of: cell, in: row)
      return kind.hasElements
        ? try ElementRow.count(in: row.extracting(place.body))
        : try RecordLayout.heads(of: place.body, in: row).total
    } ?? 0
  }

  /// The heads of the values of a list's elements, in their order. A text has no heads.
  func itemHeads(of cell: CellNumber, in row: RawSpan, _ state: StateNumber) throws -> [CellHead] {
    guard cell.kind == .list else { return [] }
    return try items(of: cell, in: row, state).flatMap { item in
      try item.values.map { try itemHead($0, item) }
    }
  }

  /// The head of a list's element in public terms.
  func itemHead(_ owned: OwnedHead, _ item: Item) throws -> CellHead {
    let head = try cellHead(owned, of: CellNumber(.none, .list))
    guard case .value(let value) = head.content else { return head }
    return CellHead(
      operation: head.operation, timestamp: head.timestamp,
      content: .item(try reference(item.unit), value))
  }
}

/// A piece of a text that one operation has made.
public struct TextRun: Hashable, Sendable {
  /// The operation that inserted it.
  public let operation: OperationID
  public let text: String
}

extension StoreError {
  /// A change that has no encoded form.
  static func unstorable(_ field: Name, _ record: RecordID, _ error: FormatError) -> StoreError {
    StoreError(
      .valueInvalid, "the change of field “\(field)” of \(record) cannot be stored: \(error)",
      hint:
        "keep values within 1 MiB and a depth of 32, and keys within 255 bytes; keep larger bytes as an asset",
      underlying: error)
  }

  /// - Throws: `indexInvalid` for a range that is not one of `count` units.
  static func check(_ range: Range<Int>, of count: Int, _ field: Name) throws {
    guard range.lowerBound >= 0, range.upperBound <= count else {
      throw StoreError(
        .indexInvalid, "“\(field)” has no \(range.lowerBound)..<\(range.upperBound): it has \(count) in all",
        hint: "count again: a write reads what it wrote, and what was folded before it")
    }
  }
}
